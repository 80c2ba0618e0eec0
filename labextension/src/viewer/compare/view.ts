/** Did the change help? Two runs side by side: totals, then what is new, gone, slower, faster, larger. */

import { h } from '../dom.js';
import { bytes, clean, count, duration, percent, signed } from '../format.js';
import { Links } from '../links.js';
import { layMemory } from '../memory/layout.js';
import { Session } from '../session.js';
import { KINDS, Trace } from '../trace.js';
import { Change, compareTraces } from './match.js';

const MAX_ROWS = 200;

export class CompareView {
  readonly element = h('div', { class: 'compare' });
  private done = false;

  constructor(
    private readonly session: Session,
    private readonly peak: () => number
  ) {
    session.state.on(['panel'], () => this.render());
    this.render();
  }

  private render(): void {
    if (this.done || this.session.state.now.panel !== 'compare') return;
    this.done = true;
    const { before, trace } = this.session;
    if (!before)
      return this.element.replaceChildren(
        h('p', { class: 'empty' }, 'One run only. In Python, gv.compare(before, after) shows two.')
      );
    const links = new Links(before);
    const changes = compareTraces(before, links, trace, this.session.links);
    this.element.replaceChildren(this.totals(before, links), this.table(changes.filter(c => c.verdict !== 'same')));
  }

  private totals(before: Trace, links: Links): HTMLElement {
    const { trace } = this.session;
    const [a, b] = [links.totals(), this.session.links.totals()];
    const rows: [string, number, number, (n: number) => string][] = [
      ['run', before.meta.duration_ns, trace.meta.duration_ns, duration],
      ['forward', a.forward_ns, b.forward_ns, duration],
      ['backward', a.backward_ns, b.backward_ns, duration],
      ['waiting for a device', a.wait_ns, b.wait_ns, duration],
      ['copied', a.copied_nbytes, b.copied_nbytes, bytes],
      ['peak memory', layMemory(before).peak.nbytes, this.peak(), bytes],
      ['events', before.meta.recorded, trace.meta.recorded, count]
    ];
    const row = ([title, x, y, format]: (typeof rows)[0]): HTMLElement =>
      h(
        'tr',
        {},
        h('td', {}, title),
        h('td', { class: 'n' }, format(x)),
        h('td', { class: 'n' }, format(y)),
        h(
          'td',
          { class: `n ${y > x ? 'worse' : 'better'}` },
          x === y ? '' : x > 0 ? `${y > x ? '+' : '−'}${percent(Math.abs(y / x - 1))}` : 'new'
        )
      );
    const labels = [before, trace].map(t => clean(t.meta.label, 30));
    const names = labels[0] && labels[1] && labels[0] !== labels[1] ? labels : ['before', 'after'];
    return h(
      'table',
      { class: 'rows totals' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {}, ''),
          ...names.map(name => h('th', { class: 'n' }, name)),
          h('th', { class: 'n' }, 'change')
        )
      ),
      h('tbody', {}, ...rows.map(row))
    );
  }

  private table(changes: Change[]): HTMLElement {
    if (!changes.length) return h('p', { class: 'empty' }, 'Nothing changed.');
    return h(
      'table',
      { class: 'rows' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          ...['', 'what', 'count', 'time', 'change', 'bytes', 'line'].map((title, i) =>
            h('th', { class: i >= 2 && i <= 5 ? 'n' : '' }, title)
          )
        )
      ),
      h('tbody', {}, ...changes.slice(0, MAX_ROWS).map(change => this.row(change)))
    );
  }

  private row(change: Change): HTMLElement {
    const { before, after, event } = change;
    const delta_ns = after.time_ns - before.time_ns;
    const arrow = (x: number, y: number, format: (n: number) => string): string =>
      x === y ? format(y) : `${x ? format(x) : '0'} → ${y ? format(y) : '0'}`;
    const go = (): void => {
      this.session.state.select({ kind: 'event', id: event });
      this.session.reveal([event]);
    };
    const name = clean(change.name, 60);
    const dot = h('i', { class: 'dot', title: KINDS[change.kind] ?? '' });
    dot.style.background = `var(--kind-${KINDS[change.kind]})`;
    return h(
      'tr',
      {},
      h('td', {}, h('span', { class: `verdict ${change.verdict}` }, change.verdict)),
      h('td', {}, dot, event >= 0 ? h('button', { class: 'link', type: 'button', click: go }, name) : name),
      h('td', { class: 'n' }, arrow(before.count, after.count, count)),
      h('td', { class: 'n' }, arrow(before.time_ns, after.time_ns, duration)),
      h('td', { class: `n ${delta_ns > 0 ? 'worse' : 'better'}` }, signed(duration(delta_ns), delta_ns)),
      h('td', { class: 'n' }, before.nbytes || after.nbytes ? arrow(before.nbytes, after.nbytes, bytes) : ''),
      h('td', { class: 'quiet', title: clean(change.text, 200) }, clean(change.where, 60))
    );
  }
}
