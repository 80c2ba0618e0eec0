/** How much is it in sum? The events on screen, searched or in the marked stretch, sorted and grouped. */

import { h } from '../dom.js';
import { bytes, clean, count, duration, plural } from '../format.js';
import { Session } from '../session.js';
import { KINDS, siteName } from '../trace.js';
import { Grouping, MAX_TABLE_ROWS, SortKey, TableRow, tableRows } from './rows.js';

const COLUMNS: [SortKey, string][] = [
  ['name', 'name'],
  ['count', 'count'],
  ['own', 'own time'],
  ['time', 'time'],
  ['bytes', 'bytes'],
  ['start', 'starts after']
];
const GROUPINGS: Grouping[] = ['event', 'name', 'line', 'kind'];
const SETTLE_MS = 120;

export class TableView {
  readonly element = h('div', { class: 'table' });
  private grouping: Grouping = 'name';
  private key: SortKey = 'own';
  private ascending = false;
  private kind = -1;
  private timer = 0;

  constructor(private readonly session: Session) {
    session.state.on(['panel', 'query', 'selection', 'area', 'range', 'order'], () => this.later());
    this.later();
  }

  /** Waits until the picture rests: a table over a million events costs more than a frame. */
  private later(): void {
    clearTimeout(this.timer);
    if (this.session.state.now.panel === 'table')
      this.timer = setTimeout(() => this.render(), SETTLE_MS) as unknown as number;
  }

  private render(): void {
    const { session } = this;
    const { area, range } = session.state.now;
    const stretch = area ?? range;
    const filter = {
      from_ns: session.axis.time(stretch.from),
      to_ns: session.axis.time(stretch.to),
      mask: session.lit(),
      kind: this.kind
    };
    const { rows, total } = tableRows(session.trace, session.links, filter, this.grouping, this.key, this.ascending);
    const scope = [
      area ? 'in the marked stretch' : 'on screen',
      session.state.now.query
        ? `matching “${clean(session.state.now.query, 40)}”`
        : session.lit()
          ? 'of the selection'
          : ''
    ]
      .filter(Boolean)
      .join(', ');
    const sum = `${plural(total.count, 'event')} ${scope}: ${duration(total.own_ns)}, ${bytes(total.nbytes)}`;
    const focused = this.element.querySelector<HTMLElement>(':focus')?.dataset.control;
    this.element.replaceChildren(
      h(
        'div',
        { class: 'bar-row' },
        this.choice('by', GROUPINGS, this.grouping, value => (this.grouping = value as Grouping)),
        this.choice(
          'kind',
          ['all', ...KINDS],
          this.kind < 0 ? 'all' : KINDS[this.kind],
          value => (this.kind = KINDS.indexOf(value))
        ),
        h('span', { class: 'sum', role: 'status' }, sum)
      ),
      h(
        'table',
        { class: 'rows' },
        h('thead', {}, h('tr', {}, ...COLUMNS.map(([key, title]) => this.heading(key, title)), h('th', {}, 'line'))),
        h('tbody', {}, ...rows.map(row => this.row(row)))
      ),
      ...(rows.length === MAX_TABLE_ROWS
        ? [h('p', { class: 'quiet' }, `The first ${MAX_TABLE_ROWS} rows; the sum counts all.`)]
        : [])
    );
    if (focused) this.element.querySelector<HTMLElement>(`[data-control="${focused}"]`)?.focus();
  }

  private choice(label: string, options: string[], value: string, change: (value: string) => void): HTMLElement {
    const select = h(
      'select',
      { 'data-control': label, change: event => (change((event.target as HTMLSelectElement).value), this.render()) },
      ...options.map(o => h('option', { value: o, selected: o === value }, o))
    );
    return h('label', {}, label, ' ', select);
  }

  private heading(key: SortKey, title: string): HTMLElement {
    const sort = (): void => {
      this.ascending = this.key === key ? !this.ascending : key === 'name' || key === 'start';
      this.key = key;
      this.render();
    };
    const state = this.key !== key ? 'none' : this.ascending ? 'ascending' : 'descending';
    return h(
      'th',
      { class: key === 'name' ? '' : 'n', 'aria-sort': state },
      h(
        'button',
        { type: 'button', 'data-control': `sort-${key}`, click: sort },
        title,
        state === 'none' ? '' : this.ascending ? ' ↑' : ' ↓'
      )
    );
  }

  private row(row: TableRow): HTMLElement {
    const go = (): void => {
      this.session.state.select(
        this.grouping === 'line' && row.site >= 0 ? { kind: 'site', id: row.site } : { kind: 'event', id: row.event }
      );
      this.session.reveal([row.event]);
    };
    const dot = h('i', { class: 'dot', title: KINDS[row.kind] ?? '' });
    dot.style.background = `var(--kind-${KINDS[row.kind]})`;
    const single = this.grouping === 'event';
    return h(
      'tr',
      {},
      h('td', {}, dot, h('button', { class: 'link', type: 'button', click: go }, clean(row.name, 80) || '(no name)')),
      h('td', { class: 'n' }, count(row.count)),
      h('td', { class: 'n' }, duration(row.own_ns)),
      h('td', { class: 'n' }, duration(row.time_ns)),
      h('td', { class: 'n' }, row.nbytes > 0 ? bytes(row.nbytes) : ''),
      h('td', { class: 'n' }, single ? duration(row.start_ns) : ''),
      h(
        'td',
        { class: 'quiet' },
        row.site >= 0 && this.grouping !== 'line' ? clean(siteName(this.session.trace, row.site), 60) : ''
      )
    );
  }
}
