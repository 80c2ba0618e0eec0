/** How does a host put the viewer on its page? `mount(element, source)`; nothing here knows of Jupyter. */

import { CompareView } from './compare/view.js';
import { DetailsView } from './details/view.js';
import { h } from './dom.js';
import { FileError } from './file.js';
import { FindingsView } from './findings/view.js';
import { GraphView } from './graph/view.js';
import { HeaderView } from './header.js';
import { helpSheet } from './help.js';
import { listenToKeys } from './keys.js';
import { MemoryView } from './memory/view.js';
import { Range } from './scale.js';
import { Session } from './session.js';
import { SourceView } from './source/view.js';
import { Panel, PANELS, Selection } from './state.js';
import { STYLE } from './style.js';
import { TableView } from './table/view.js';
import { DARK, isDark, LIGHT, properties, ThemeName, watchTheme } from './theme.js';
import { RulerView } from './timeline/ruler.js';
import { TimelineView } from './timeline/view.js';
import { Tip } from './tip.js';
import { readTrace, Trace } from './trace.js';
import { Twin } from './twin.js';

export type { Panel, Range, Selection, Trace };

/** The bytes of a `.gradviz` file, or how to get them. */
export type Source = Uint8Array | (() => Promise<Uint8Array>);

export interface Options {
  /** The run to compare with. */
  before?: Source;
  theme?: ThemeName;
  /** Called with a finding's or line's place when the person asks for the line; the host may scroll to it. */
  onLine?: (place: { file: string; line: number; cell: number }, source: string | undefined) => void;
  panel?: Panel;
}

export interface Viewer {
  /** Resolves when the first picture is drawn. */
  ready: Promise<void>;
  /** Nanoseconds since the start of the run. */
  setRange(range: Range): void;
  onRange(listener: (range: Range) => void): void;
  select(selection: Selection | null): void;
  onSelect(listener: (selection: Selection | null) => void): void;
  /** Shows another trace, or a newer state of the same run. */
  update(source: Source, before?: Source): Promise<void>;
  destroy(): void;
}

export function mount(element: HTMLElement, source: Source, options: Options = {}): Viewer {
  const root = h('div', { class: 'root', tabindex: -1 });
  const shadow = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  shadow.replaceChildren(root);
  element.dataset.lmSuppressShortcuts = 'true'; // JupyterLab would take a, d, f, m ... for commands of the notebook
  const selects: ((selection: Selection | null) => void)[] = [];
  const ranges: ((range: Range) => void)[] = [];
  const theme = options.theme ?? 'auto';
  let screen: Screen | null = null;
  let turn = 0;

  const paint = (): void => {
    const colours = isDark(theme) ? DARK : LIGHT;
    for (const [name, value] of Object.entries(properties(colours))) root.style.setProperty(name, value);
    root.style.colorScheme = colours.dark ? 'dark' : 'light';
    screen?.recolour(colours);
  };
  const unwatch = watchTheme(paint);
  paint();

  const update = async (next: Source, before = options.before): Promise<void> => {
    const mine = ++turn;
    if (!screen) root.replaceChildren(h('p', { class: 'message quiet', role: 'status' }, 'Reading the profile …'));
    try {
      const [trace, other] = await Promise.all([read(next), before ? read(before) : null]);
      if (mine !== turn) return;
      const kept = screen?.state;
      screen?.stop();
      screen = new Screen(root, trace, other, theme, options);
      if (kept) screen.resume(kept);
      screen.session.state.on(['selection'], () => selects.forEach(call => call(screen!.session.state.now.selection)));
      screen.session.state.on(['range', 'order'], () => ranges.forEach(call => call(screen!.session.window_ns)));
    } catch (error) {
      if (mine !== turn) return;
      screen?.stop();
      screen = null;
      root.replaceChildren(
        h(
          'p',
          { class: 'message', role: 'alert' },
          h('b', {}, 'This profile cannot be shown.'),
          (error as Error).message
        )
      );
      if (!(error instanceof FileError)) throw error;
    }
  };

  return {
    ready: update(source),
    update,
    setRange: range =>
      screen?.session.setRange({ from: screen.session.axis.of(range.from), to: screen.session.axis.of(range.to) }),
    onRange: listener => void ranges.push(listener),
    select: selection => {
      if (!screen) return;
      screen.session.state.select(selection);
      screen.session.reveal(screen.session.eventsOf(selection));
    },
    onSelect: listener => void selects.push(listener),
    destroy: () => {
      turn++;
      unwatch();
      screen?.stop();
      shadow.replaceChildren();
    }
  };
}

const read = async (source: Source): Promise<Trace> =>
  readTrace(typeof source === 'function' ? await source() : source);

/** All views of one trace. */
class Screen {
  readonly session: Session;
  private readonly resizes: ResizeObserver;
  private readonly twin: Twin;

  constructor(root: HTMLElement, trace: Trace, before: Trace | null, theme: ThemeName, options: Options) {
    const session = (this.session = new Session(trace, before, theme, root));
    const tip = new Tip();
    const timeline = new TimelineView(session, tip);
    const memory = new MemoryView(session, tip);
    const help = helpSheet();
    const step = (): void => timeline.step(1);
    const header = new HeaderView(session, memory.layout.peak.nbytes, () => help.showModal(), step);
    const { peak } = memory.layout;
    const panels: Record<Panel, HTMLElement> = {
      details: new DetailsView(session, () => peak).element,
      source: new SourceView(session).element,
      table: new TableView(session).element,
      graph: new GraphView(session).element,
      compare: new CompareView(session, () => peak.nbytes).element
    };
    this.twin = new Twin(session);
    root.replaceChildren(
      header.element,
      h('aside', { class: 'side' }, new FindingsView(session).element),
      h(
        'main',
        { class: peak.nbytes > 0 ? 'main' : 'main bare' },
        new RulerView(session).canvas,
        timeline.element,
        peak.nbytes > 0 && memory.canvas,
        tabs(session, panels)
      ),
      this.twin.element,
      tip.element,
      help
    );
    listenToKeys(root, session, timeline, { '/': () => header.search.focus(), '?': () => help.showModal() });
    session.state.on(['selection'], () => this.tellLine(options));
    if (options.panel) session.state.set({ panel: options.panel });
    this.resizes = new ResizeObserver(() => session.invalidate());
    this.resizes.observe(root);
    this.resizes.observe(timeline.element);
    session.invalidate();
  }

  private tellLine(options: Options): void {
    const { selection } = this.session.state.now;
    const { sites, strings, sources } = this.session.trace;
    if (selection?.kind !== 'site' || !options.onLine) return;
    const file = strings[sites.file_str[selection.id]] ?? '';
    options.onLine({ file, line: sites.line[selection.id], cell: sites.cell[selection.id] }, sources[file]);
  }

  get state(): { window_ns: Range; whole: boolean; panel: Panel } {
    const { session } = this;
    const { range, panel } = session.state.now;
    const { extent } = session.axis;
    return { window_ns: session.window_ns, whole: range.from <= extent.from && range.to >= extent.to, panel };
  }

  /** After an update of a running profile: the same stretch, unless all of it was on screen. */
  resume(kept: Screen['state']): void {
    this.session.state.set({ panel: kept.panel });
    if (!kept.whole) this.session.setRange(kept.window_ns);
  }

  recolour(theme: Session['theme']): void {
    this.session.theme = theme;
    this.session.invalidate();
  }

  stop(): void {
    this.resizes.disconnect();
    this.twin.stop();
    this.session.stop();
  }
}

function tabs(session: Session, panels: Record<Panel, HTMLElement>): HTMLElement {
  const { state } = session;
  const body = h('div', { role: 'tabpanel', tabindex: 0 });
  const buttons = PANELS.map((panel, i) =>
    h(
      'button',
      { role: 'tab', type: 'button', id: `gv-tab-${panel}`, click: () => state.set({ panel }) },
      panel[0].toUpperCase() + panel.slice(1),
      h('kbd', { 'aria-hidden': 'true' }, i + 1)
    )
  );
  const show = (): void => {
    const { panel } = state.now;
    buttons.forEach((button, i) => button.setAttribute('aria-selected', String(PANELS[i] === panel)));
    body.setAttribute('aria-labelledby', `gv-tab-${panel}`);
    body.replaceChildren(panels[panel]);
  };
  state.on(['panel'], show);
  show();
  return h('section', { class: 'panel' }, h('div', { role: 'tablist', 'aria-label': 'Views' }, ...buttons), body);
}
