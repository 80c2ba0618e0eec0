/** Which colours? Quiet ones that stay apart for colour-blind eyes; each kind also has a lane of its own. */

import { KINDS, ROLES } from './trace.js';

export interface Theme {
  dark: boolean;
  ink: string;
  muted: string;
  faint: string;
  line: string;
  panel: string;
  background: string;
  accent: string;
  alarm: string;
  /** kind -> three neighbouring shades, so that adjoining events part. */
  kinds: string[][];
  roles: string[];
}

const KIND_COLOURS: Record<string, string> = {
  call: '#5a8dcf',
  pullback: '#dd9f3d',
  accumulate: '#3f9f8b',
  copy: '#b765a7',
  sync: '#d1495b',
  kernel: '#7688a8',
  span: '#b4bdc9',
  compile: '#9187c9',
  collect: '#9c9384'
};
const ROLE_COLOURS: Record<string, string> = {
  input: '#9aa5b4',
  output: '#2f6fb0',
  value: '#8fb5e3',
  saved: '#dd9f3d',
  cotangent: '#63b9a6',
  accumulator: '#2a7566',
  copy: '#b765a7',
  temporary: '#c9c3b8'
};

function mix(colour: string, other: string, share: number): string {
  const channel = (at: number): number => {
    const [a, b] = [colour, other].map(c => parseInt(c.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * share);
  };
  return `#${[1, 3, 5].map(at => channel(at).toString(16).padStart(2, '0')).join('')}`;
}

function theme(dark: boolean, chrome: Omit<Theme, 'dark' | 'kinds' | 'roles'>): Theme {
  const shades = (colour: string): string[] =>
    [0, 0.13, 0.26].map(share => mix(colour, dark ? chrome.background : '#ffffff', share + (dark ? 0.1 : 0)));
  return {
    dark,
    ...chrome,
    kinds: KINDS.map(kind => shades(KIND_COLOURS[kind])),
    roles: ROLES.map(role => shades(ROLE_COLOURS[role])[0])
  };
}

export const LIGHT = theme(false, {
  ink: '#1d2430',
  muted: '#5d6877',
  faint: '#d6dbe2',
  line: '#e6e9ee',
  panel: '#f7f8fa',
  background: '#ffffff',
  accent: '#2261c9',
  alarm: '#b3263a'
});
export const DARK = theme(true, {
  ink: '#e2e6ec',
  muted: '#98a3b2',
  faint: '#3d4653',
  line: '#2b323c',
  panel: '#1c2128',
  background: '#15191f',
  accent: '#7aaeff',
  alarm: '#ff8592'
});

export type ThemeName = 'light' | 'dark' | 'auto';

/** JupyterLab and VS Code say it on the body; elsewhere the system does. */
export function isDark(name: ThemeName): boolean {
  if (name !== 'auto') return name === 'dark';
  const body = document.body;
  if (body?.dataset.jpThemeLight) return body.dataset.jpThemeLight === 'false';
  if (body?.dataset.vscodeThemeKind) return body.dataset.vscodeThemeKind !== 'vscode-light';
  return globalThis.matchMedia?.('(prefers-color-scheme: dark)').matches ?? false;
}

/** Calls back whenever the host's theme changes; returns how to stop. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, {
    attributes: true,
    attributeFilter: ['data-jp-theme-light', 'data-vscode-theme-kind']
  });
  const media = globalThis.matchMedia?.('(prefers-color-scheme: dark)');
  media?.addEventListener?.('change', changed);
  return () => {
    observer.disconnect();
    media?.removeEventListener?.('change', changed);
  };
}

/** The same colours as custom properties for the DOM. */
export function properties(theme: Theme): Record<string, string> {
  const chrome = ['ink', 'muted', 'faint', 'line', 'panel', 'background', 'accent', 'alarm'] as const;
  const kinds = KINDS.map((kind, i) => [`--kind-${kind}`, theme.kinds[i][0]]);
  return Object.fromEntries([...chrome.map(name => [`--${name}`, theme[name]]), ...kinds]);
}
