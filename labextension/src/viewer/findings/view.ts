/** What should I change? The findings, the worst first; the chosen one with its reason, remedy and when the remedy is valid. */

import { h } from '../dom.js';
import { bytes, clean, duration, percent, plural } from '../format.js';
import { Session } from '../session.js';
import { Finding } from '../trace.js';

export class FindingsView {
  readonly element = h('section', { class: 'findings', 'aria-label': 'Findings' });

  constructor(private readonly session: Session) {
    session.state.on(['selection'], () => this.render());
    this.render();
  }

  private get chosen(): number {
    const { selection } = this.session.state.now;
    return selection?.kind === 'finding' ? selection.id : -1;
  }

  private render(): void {
    const { findings } = this.session.trace;
    const focused = this.element.querySelector(':focus') !== null;
    const serious = findings.filter(f => !f.harmless).length;
    this.element.replaceChildren(
      h('h2', {}, 'What to change', h('span', { class: 'quiet' }, serious ? plural(serious, 'finding') : '')),
      findings.length ? h('ol', {}, ...findings.map((f, i) => this.card(f, i))) : this.nothing()
    );
    if (focused) this.element.querySelector<HTMLElement>('[aria-expanded=true]')?.focus({ preventScroll: true });
    const item = this.element.querySelector<HTMLElement>('li.chosen');
    if (item && item.offsetTop < this.element.scrollTop) this.element.scrollTop = item.offsetTop - 40;
  }

  private nothing(): HTMLElement {
    if (!this.session.trace.events.rows) return h('p', { class: 'empty' }, 'Nothing was recorded.');
    return h(
      'p',
      { class: 'empty' },
      'No waste found. A finding is shown from 1\u202f% of the run, 50\u202fµs or 1\u202fMiB on.'
    );
  }

  private card(finding: Finding, id: number): HTMLElement {
    const open = id === this.chosen;
    const toggle = (): void => {
      const { panel } = this.session.state.now;
      this.session.state.set({
        selection: open ? null : { kind: 'finding', id },
        panel: panel === 'compare' ? 'details' : panel
      });
    };
    const head = h(
      'button',
      { class: 'head', type: 'button', 'aria-expanded': String(open), click: toggle },
      h('span', { class: 'title' }, clean(finding.title || finding.kind, 160)),
      h('span', { class: 'cost' }, cost(finding)),
      h(
        'span',
        { class: 'where' },
        [clean(finding.where, 80), finding.count > 1 && plural(finding.count, 'time'), finding.simulated && 'simulated']
          .filter(Boolean)
          .join(' · ')
      )
    );
    const bar = h('div', { class: 'bar' });
    bar.style.width = `${100 * Math.min(1, Math.max(0, finding.share))}%`;
    return h(
      'li',
      { class: `finding ${finding.harmless ? 'harmless' : severity(finding)}${open ? ' chosen' : ''}` },
      bar,
      head,
      open && this.body(finding)
    );
  }

  private body(finding: Finding): HTMLElement {
    const show = (): void => this.session.state.set({ selection: { kind: 'site', id: finding.site }, panel: 'source' });
    const evidence = (): void => this.session.reveal(finding.events, true);
    return h(
      'div',
      { class: 'body' },
      finding.harmless && h('p', { class: 'quiet' }, 'Harmless now: the host is not on the critical path.'),
      finding.reason && h('p', {}, clean(finding.reason, 2000)),
      finding.remedy && h('p', { class: 'remedy' }, clean(finding.remedy, 2000)),
      finding.before && code('before', finding.before),
      finding.after && code('after', finding.after),
      finding.valid_if && h('p', { class: 'quiet' }, h('b', {}, 'Valid if '), clean(finding.valid_if, 1000)),
      h(
        'div',
        { class: 'actions' },
        finding.site >= 0 && h('button', { type: 'button', click: show }, 'Show the line'),
        finding.events.length > 0 && h('button', { type: 'button', click: evidence }, 'Zoom to evidence'),
        h('span', { class: 'quiet' }, `confidence ${percent(finding.confidence)}`)
      )
    );
  }
}

const severity = (finding: Finding): string =>
  ['high', 'medium', 'low'].includes(finding.severity) ? finding.severity : 'low';

export function cost(finding: Finding): string {
  const parts = [];
  if (finding.cost_ns > 0) parts.push(`${duration(finding.cost_ns)} · ${percent(finding.share)}`);
  if (finding.cost_nbytes > 0) parts.push(bytes(finding.cost_nbytes));
  return parts.join(' · ');
}

export function code(kind: 'before' | 'after' | 'plain', text: string): HTMLElement {
  return h(
    'pre',
    { class: `code ${kind}`, 'aria-label': kind },
    ...text
      .split('\n')
      .slice(0, 40)
      .map(line => h('code', {}, clean(line, 400)))
  );
}
