/** What would a screen reader say of the canvas? The longest events on screen as a list, and the selected thing as it changes. */

import { h } from './dom.js';
import { clean, duration } from './format.js';
import { Session } from './session.js';
import { tableRows } from './table/rows.js';
import { eventName, KINDS, where } from './trace.js';

const MAX_ITEMS = 30;
const SETTLE_MS = 400;

export class Twin {
  readonly element: HTMLElement;
  private readonly list = h('ol', { 'aria-label': 'Longest events on screen' });
  private readonly live = h('p', { 'aria-live': 'polite' });
  private timer = 0;

  constructor(private readonly session: Session) {
    this.element = h('div', { class: 'twin', id: 'gv-twin' }, this.live, this.list);
    session.state.on(['selection'], () => this.announce());
    session.state.on(['range', 'query', 'selection'], () => this.later());
    this.later();
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.render(), SETTLE_MS) as unknown as number;
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private announce(): void {
    const { selection } = this.session.state.now;
    const { trace } = this.session;
    if (selection?.kind === 'event') this.live.textContent = this.say(selection.id);
    else if (selection?.kind === 'finding')
      this.live.textContent = `Finding: ${clean(trace.findings[selection.id]?.title ?? '', 200)}`;
    else this.live.textContent = '';
  }

  private say(event: number): string {
    const { start_ns, end_ns, kind } = this.session.trace.events;
    return `${clean(eventName(this.session.trace, event), 100)}, ${KINDS[kind[event]] ?? 'event'}, ${duration(end_ns[event] - start_ns[event])}, ${clean(where(this.session.trace, event), 80)}`;
  }

  private render(): void {
    const window = this.session.window_ns;
    const filter = { from_ns: window.from, to_ns: window.to, mask: this.session.lit(), kind: -1 };
    const { rows } = tableRows(this.session.trace, this.session.links, filter, 'event', 'time', false);
    const item = (event: number): HTMLElement =>
      h(
        'li',
        {},
        h(
          'button',
          { type: 'button', tabindex: -1, click: () => this.session.state.select({ kind: 'event', id: event }) },
          this.say(event)
        )
      );
    this.list.replaceChildren(...rows.slice(0, MAX_ITEMS).map(row => item(row.event)));
  }
}
