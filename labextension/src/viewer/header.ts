/** What run is this, how much of it is shown, and can it be trusted? One line that never goes away. */

import { h } from './dom.js';
import { bytes, clean, count, duration, percent, plural } from './format.js';
import { Session } from './session.js';

export class HeaderView {
  readonly element: HTMLElement;
  readonly search: HTMLInputElement;
  readonly help: HTMLButtonElement;
  private readonly hits = h('span', { class: 'quiet', role: 'status' });

  constructor(
    private readonly session: Session,
    peak_nbytes: number,
    onHelp: () => void,
    step: () => void
  ) {
    const { state } = session;
    this.search = h('input', {
      type: 'search',
      placeholder: 'Search  /',
      'aria-label': 'Search names, lines and files',
      input: () => state.set({ query: this.search.value.trim() }),
      keydown: ((event: KeyboardEvent) => event.key === 'Enter' && step()) as EventListener
    });
    this.help = h('button', { type: 'button', title: 'Keys (?)', 'aria-label': 'Keys', click: onHelp }, '?');
    const order = h(
      'button',
      {
        type: 'button',
        'aria-pressed': 'false',
        title: 'Time or event order (o)',
        click: () => state.set({ order: !state.now.order })
      },
      'event order'
    );
    state.on(['order'], () => order.setAttribute('aria-pressed', String(state.now.order)));
    state.on(['query'], () => this.showHits());
    this.element = h(
      'header',
      {},
      h('div', { class: 'headline' }, ...this.headline(peak_nbytes)),
      h('div', { class: 'status' }, ...this.status()),
      h('div', { class: 'tools' }, this.hits, this.search, order, this.help)
    );
  }

  private headline(peak_nbytes: number): (Node | string)[] {
    const { trace, links } = this.session;
    const { forward_ns, backward_ns } = links.totals();
    const parts: (Node | string)[] = [];
    const label = clean(trace.meta.label, 60);
    if (label) parts.push(h('b', { class: 'label' }, label));
    const figure = (value: string, name: string): HTMLElement =>
      h('span', { class: 'figure' }, h('b', {}, value), ` ${name}`);
    parts.push(figure(duration(trace.meta.duration_ns), 'run'));
    const busy = forward_ns + backward_ns;
    if (busy > 0) parts.push(figure(percent(backward_ns / busy), 'backward'));
    if (peak_nbytes > 0) parts.push(figure(bytes(peak_nbytes), 'peak'));
    return parts;
  }

  private status(): (Node | string)[] {
    const { meta, events } = this.session.trace;
    const shown =
      meta.recorded > events.rows
        ? `${count(events.rows)} of ${count(meta.recorded)} events shown`
        : plural(events.rows, 'event');
    const parts = [shown, `${count(meta.dropped)} dropped`, `recorder used ${duration(meta.recorder_ns)}`];
    const devices = meta.devices
      .filter(d => d.startsWith('sim'))
      .map(d => clean(d, 40))
      .join(', ');
    const badge = meta.simulated
      ? [
          h(
            'span',
            { class: 'badge', title: 'Times of a simulated device come from a model, not from a clock' },
            `simulated${devices ? ` ${devices}` : ''}`
          )
        ]
      : [];
    return [...badge, h('span', { class: meta.dropped > 0 ? 'alarm' : '' }, parts.join(' · '))];
  }

  private showHits(): void {
    const { query } = this.session.state.now;
    if (this.search.value.trim() !== query) this.search.value = query;
    const mask = query ? this.session.lit() : null;
    this.hits.textContent = mask ? `${count(mask.reduce((n, bit) => n + bit, 0))} found` : '';
  }
}
