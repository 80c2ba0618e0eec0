/** What is known about the selected thing? Everything, with one click to whatever belongs to it. */

import { fact, h } from '../dom.js';
import { bytes, clean, count, duration, percent, plural } from '../format.js';
import { aliveAt } from '../memory/layout.js';
import { Session } from '../session.js';
import { Selection } from '../state.js';
import {
  ANSWERS,
  DIRECTIONS,
  eventName,
  Flag,
  Kind,
  KINDS,
  LaneKind,
  REASONS,
  ROLES,
  siteName,
  STATES,
  TRIGGERS,
  Use,
  USES,
  where
} from '../trace.js';
import { code, cost } from '../findings/view.js';

const MAX_ROWS = 60;

export class DetailsView {
  readonly element = h('div', { class: 'details' });
  private turn = 0;

  constructor(
    private readonly session: Session,
    private readonly peak: () => { nbytes: number; time_ns: number }
  ) {
    session.state.on(['selection', 'panel'], () => void this.render());
    void this.render();
  }

  /** Later renders win over earlier ones that still wait for a table. */
  private async render(): Promise<void> {
    if (this.session.state.now.panel !== 'details') return;
    const turn = ++this.turn;
    const { selection } = this.session.state.now;
    const parts = await this.parts(selection);
    if (turn === this.turn) this.element.replaceChildren(...parts);
  }

  private async parts(selection: Selection | null): Promise<HTMLElement[]> {
    switch (selection?.kind) {
      case 'event':
        return this.event(selection.id);
      case 'buffer':
        return this.buffer(selection.id);
      case 'finding':
        return this.finding(selection.id);
      case 'moment':
        return this.moment(selection.time_ns);
      case 'site':
        return this.site(selection.id);
      default:
        return this.overview();
    }
  }

  private eventLink(event: number, label = ''): HTMLElement {
    const go = (): void => {
      this.session.state.select({ kind: 'event', id: event });
      this.session.reveal([event]);
    };
    return h(
      'button',
      { class: 'link', type: 'button', click: go },
      label || clean(eventName(this.session.trace, event), 60) || `#${event}`
    );
  }

  private bufferLink(buffer: number): HTMLElement {
    const { nbytes, role, shape_str, dtype_str } = this.session.trace.buffers;
    const go = (): void => this.session.state.select({ kind: 'buffer', id: buffer });
    const text = [
      bytes(nbytes[buffer]),
      ROLES[role[buffer]],
      this.session.text(dtype_str[buffer]),
      this.session.text(shape_str[buffer])
    ]
      .filter(Boolean)
      .join(' ');
    return h('button', { class: 'link', type: 'button', click: go }, text);
  }

  private siteLink(site: number): HTMLElement | null {
    if (site < 0) return null;
    const go = (): void => this.session.state.set({ selection: { kind: 'site', id: site }, panel: 'source' });
    return h('button', { class: 'link', type: 'button', click: go }, clean(siteName(this.session.trace, site), 80));
  }

  private async event(id: number): Promise<HTMLElement[]> {
    const { trace, links } = this.session;
    const { kind, start_ns, end_ns, call, site, flags, nbytes, parent, lane } = trace.events;
    const length = end_ns[id] - start_ns[id];
    const flagNames = Object.entries(Flag)
      .filter(([, bit]) => flags[id] & bit)
      .map(([name]) => name.toLowerCase());
    const facts = h(
      'dl',
      {},
      ...fact('kind', KINDS[kind[id]], flagNames.length ? ` (${flagNames.join(', ')})` : ''),
      ...fact('time', `${duration(length)}, ${percent(length / trace.meta.duration_ns)} of the run`),
      ...fact('own time', duration(Math.max(0, links.self_ns()[id]))),
      ...fact('starts after', duration(start_ns[id])),
      ...fact('bytes', nbytes[id] > 0 && bytes(nbytes[id])),
      ...fact('line', this.siteLink(site[id])),
      ...fact('function', site[id] >= 0 && this.session.text(trace.sites.function_str[site[id]])),
      ...fact('lane', lane[id] >= 0 && this.session.text(trace.lanes.name_str[lane[id]])),
      ...fact('inside', parent[id] >= 0 && this.eventLink(parent[id])),
      ...fact('forward call', call[id] >= 0 && call[id] !== id && this.eventLink(call[id])),
      ...fact('number', count(id)),
      ...this.copyFacts(links.copyRow(id)),
      ...this.syncFacts(links.syncRow(id))
    );
    const related = call[id] >= 0 ? Array.from(links.ofCall(call[id])).filter(e => e !== id && e !== call[id]) : [];
    const found = links.findingsOf(id);
    return [
      h('div', { class: 'column' }, h('h3', {}, clean(eventName(trace, id), 120)), this.siteText(site[id]), facts),
      h(
        'div',
        { class: 'column' },
        ...this.findingLinks(found),
        ...this.related(related, call[id] === id),
        ...(await this.buffersOf(id)),
        ...(await this.contribution(id))
      )
    ];
  }

  private siteText(site: number): HTMLElement | null {
    const text = site >= 0 ? this.session.trace.strings[this.session.trace.sites.text_str[site]] : '';
    return text ? code('plain', text) : (null as never);
  }

  private copyFacts(row: number): (Node | string | number | null | undefined | false)[] {
    if (row < 0) return [];
    const { copies } = this.session.trace;
    const later = (
      [
        'source_read_later',
        'source_written_later',
        'target_read_later',
        'target_written_later',
        'target_escapes'
      ] as const
    )
      .map(name => `${name.replaceAll('_', ' ')}: ${ANSWERS[copies[name][row]] ?? '?'}`)
      .join(' · ');
    return [
      ...fact('copied because', h('b', {}, REASONS[copies.reason[row]] ?? 'unknown')),
      ...fact('made necessary by', copies.because[row] >= 0 && this.eventLink(copies.because[row])),
      ...fact('direction', DIRECTIONS[copies.direction[row]]),
      ...fact('from', copies.source[row] >= 0 && this.bufferLink(copies.source[row])),
      ...fact('to', copies.target[row] >= 0 && this.bufferLink(copies.target[row])),
      ...fact('later', later)
    ];
  }

  private syncFacts(row: number): (Node | string | number | null | undefined | false)[] {
    if (row < 0) return [];
    const { syncs, lanes } = this.session.trace;
    return [
      ...fact('triggered by', h('b', {}, TRIGGERS[syncs.trigger[row]] ?? 'unknown')),
      ...fact(
        'host waited',
        syncs.on_device[row] ? duration(syncs.host_wait_ns[row]) : 'not at all: the value was on the host'
      ),
      ...fact('device then idle', syncs.device_idle_ns[row] > 0 && duration(syncs.device_idle_ns[row])),
      ...fact('stream', syncs.stream[row] >= 0 && this.session.text(lanes.name_str[syncs.stream[row]])),
      ...fact('value used', ANSWERS[syncs.value_used[row]])
    ];
  }

  private findingLinks(found: number[]): HTMLElement[] {
    if (!found.length) return [];
    const { findings } = this.session.trace;
    const link = (id: number): HTMLElement =>
      h(
        'li',
        {},
        h(
          'button',
          { class: 'link', type: 'button', click: () => this.session.state.select({ kind: 'finding', id }) },
          clean(findings[id].title, 120)
        ),
        ` ${cost(findings[id])}`
      );
    return [h('h4', {}, 'Evidence of'), h('ul', {}, ...found.map(link))];
  }

  private related(events: number[], caused: boolean): HTMLElement[] {
    if (!events.length) return [];
    const { trace } = this.session;
    const total = events.reduce((sum, e) => sum + trace.events.end_ns[e] - trace.events.start_ns[e], 0);
    return [
      h(
        'h4',
        {},
        `${caused ? 'It caused' : 'Of the same call'}: ${plural(events.length, 'event')}, ${duration(total)}`
      ),
      this.eventTable(events)
    ];
  }

  private eventTable(events: number[]): HTMLElement {
    const { trace } = this.session;
    const { start_ns, end_ns, kind, nbytes } = trace.events;
    const longest = [...events].sort((a, b) => end_ns[b] - start_ns[b] - end_ns[a] + start_ns[a]).slice(0, MAX_ROWS);
    const row = (e: number): HTMLElement =>
      h(
        'tr',
        {},
        h('td', {}, this.dot(kind[e]), this.eventLink(e)),
        h('td', { class: 'n' }, duration(end_ns[e] - start_ns[e])),
        h('td', { class: 'n' }, nbytes[e] > 0 ? bytes(nbytes[e]) : ''),
        h('td', { class: 'quiet' }, clean(where(trace, e), 60))
      );
    return h('table', { class: 'rows' }, h('tbody', {}, ...longest.map(row)));
  }

  private dot(kind: number): HTMLElement {
    const dot = h('i', { class: 'dot', title: KINDS[kind] ?? 'event' });
    dot.style.background = `var(--kind-${KINDS[kind]})`;
    return dot;
  }

  private async buffersOf(event: number): Promise<HTMLElement[]> {
    const uses = await this.session.trace.uses();
    const rows = Array.from(await this.session.links.usesOf(event)).slice(0, MAX_ROWS);
    if (!rows.length) return [];
    return [
      h('h4', {}, 'Memory'),
      h(
        'ul',
        {},
        ...rows.map(row =>
          h('li', {}, h('span', { class: 'verb' }, USES[uses.how[row]] ?? 'uses'), this.bufferLink(uses.buffer[row]))
        )
      )
    ];
  }

  private async contribution(event: number): Promise<HTMLElement[]> {
    if (this.session.trace.events.kind[event] !== Kind.PULLBACK) return [];
    const table = await this.session.trace.contributions();
    const row = table.event.indexOf(event as never);
    if (row < 0) return [];
    const wasted = 1 - table.useful_nbytes[row] / table.nbytes[row];
    return [
      h('h4', {}, 'Cotangent'),
      h(
        'dl',
        {},
        ...fact('state', STATES[table.state[row]]),
        ...fact('of', table.variable[row] >= 0 && this.eventLink(table.variable[row])),
        ...fact('size', bytes(table.nbytes[row]), wasted > 0 ? ` (${percent(wasted)} structural zeros)` : ''),
        ...fact('used', ANSWERS[table.used[row]]),
        ...fact('subnormal', table.denormals[row] > 0 && count(table.denormals[row]))
      )
    ];
  }

  private async buffer(id: number): Promise<HTMLElement[]> {
    const { trace } = this.session;
    const { buffers } = trace;
    const uses = await trace.uses();
    const rows = Array.from(await this.session.links.usesOfBuffer(id));
    const aliases = rows.filter(row => uses.how[row] === Use.VIEW);
    const list = (title: string, chosen: number[]): HTMLElement[] =>
      chosen.length
        ? [
            h('h4', {}, title),
            h(
              'ul',
              {},
              ...chosen
                .slice(0, MAX_ROWS)
                .map(row =>
                  h(
                    'li',
                    {},
                    h('span', { class: 'verb' }, USES[uses.how[row]] ?? ''),
                    this.eventLink(uses.event[row]),
                    ' ',
                    h('span', { class: 'quiet' }, clean(where(trace, uses.event[row]), 60))
                  )
                )
            )
          ]
        : [];
    const end = buffers.free_ns[id] < 0 ? trace.meta.duration_ns : buffers.free_ns[id];
    return [
      h(
        'div',
        { class: 'column' },
        h('h3', {}, `Buffer ${id}: ${bytes(buffers.nbytes[id])}`),
        h(
          'dl',
          {},
          ...fact('role', ROLES[buffers.role[id]]),
          ...fact(
            'array',
            [this.session.text(buffers.dtype_str[id]), this.session.text(buffers.shape_str[id])]
              .filter(Boolean)
              .join(' ')
          ),
          ...fact('set aside', buffers.reserved_nbytes[id] > buffers.nbytes[id] && bytes(buffers.reserved_nbytes[id])),
          ...fact(
            'made by',
            buffers.alloc_event[id] >= 0 ? this.eventLink(buffers.alloc_event[id]) : 'older than the recording'
          ),
          ...fact('line', buffers.alloc_event[id] >= 0 && this.siteLink(trace.events.site[buffers.alloc_event[id]])),
          ...fact('lives', `${duration(end - buffers.alloc_ns[id])}${buffers.free_ns[id] < 0 ? ', to the end' : ''}`),
          ...fact('device', buffers.device[id] >= 0 && this.session.text(trace.devices.name_str[buffers.device[id]])),
          ...fact('from a pool', ANSWERS[buffers.from_pool[id]])
        )
      ),
      h(
        'div',
        { class: 'column' },
        ...list(`Aliases: ${plural(aliases.length, 'view')} of this memory`, aliases),
        ...list(
          'Used by',
          rows.filter(row => uses.how[row] !== Use.VIEW)
        )
      )
    ];
  }

  private async finding(id: number): Promise<HTMLElement[]> {
    const finding = this.session.trace.findings[id];
    if (!finding) return this.overview();
    return [
      h(
        'div',
        { class: 'column' },
        h('h3', {}, clean(finding.title, 160)),
        h('p', { class: 'quiet' }, [cost(finding), clean(finding.where, 80)].filter(Boolean).join(' · ')),
        finding.buffers.length > 0 && h('h4', {}, 'Buffers'),
        finding.buffers.length > 0 &&
          h('ul', {}, ...finding.buffers.slice(0, 12).map(b => h('li', {}, this.bufferLink(b))))
      ),
      h(
        'div',
        { class: 'column' },
        h('h4', {}, `Evidence: ${plural(finding.events.length, 'event')}`),
        this.eventTable(finding.events)
      )
    ];
  }

  private async moment(time_ns: number): Promise<HTMLElement[]> {
    const { trace } = this.session;
    const alive = aliveAt(trace, time_ns);
    const total = alive.reduce((sum, b) => sum + trace.buffers.nbytes[b], 0);
    const groups = new Map<string, { nbytes: number; buffers: number[]; site: number }>();
    for (const b of alive) {
      const maker = trace.buffers.alloc_event[b];
      const site = maker >= 0 ? trace.events.site[maker] : -1;
      const key = `${ROLES[trace.buffers.role[b]]}|${site}|${maker >= 0 ? eventName(trace, maker) : ''}`;
      const group = groups.get(key) ?? { nbytes: 0, buffers: [], site };
      group.nbytes += trace.buffers.nbytes[b];
      group.buffers.push(b);
      groups.set(key, group);
    }
    const sorted = [...groups].sort(([, a], [, b]) => b.nbytes - a.nbytes).slice(0, MAX_ROWS);
    const row = ([key, group]: (typeof sorted)[0]): HTMLElement => {
      const [role, , name] = key.split('|');
      const dot = h('i', { class: 'dot' });
      dot.style.background = this.session.theme.roles[ROLES.indexOf(role)];
      return h(
        'tr',
        {},
        h('td', { class: 'n' }, bytes(group.nbytes)),
        h('td', { class: 'n' }, percent(group.nbytes / total)),
        h('td', {}, dot, role),
        h(
          'td',
          {},
          group.buffers.length > 1 ? `${count(group.buffers.length)} × ` : '',
          name ? clean(name, 50) : 'older than the recording'
        ),
        h('td', {}, this.siteLink(group.site))
      );
    };
    const isPeak = Math.abs(time_ns - this.peak().time_ns) < 1;
    return [
      h(
        'div',
        { class: 'wide' },
        h('h3', {}, `${bytes(total)} alive ${isPeak ? 'at the peak' : `after ${duration(time_ns)}`}`),
        h(
          'table',
          { class: 'rows' },
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              ...['bytes', 'share', 'role', 'made by', 'line'].map((t, i) => h('th', { class: i < 2 ? 'n' : '' }, t))
            )
          ),
          h('tbody', {}, ...sorted.map(row))
        )
      )
    ];
  }

  private async site(id: number): Promise<HTMLElement[]> {
    const events = Array.from(this.session.links.ofSite(id));
    return [
      h(
        'div',
        { class: 'column' },
        h('h3', {}, clean(siteName(this.session.trace, id), 120)),
        this.siteText(id),
        h('p', {}, this.siteLink(id))
      ),
      h('div', { class: 'column' }, h('h4', {}, plural(events.length, 'event')), this.eventTable(events))
    ];
  }

  private async overview(): Promise<HTMLElement[]> {
    const { trace, links } = this.session;
    const { forward_ns, backward_ns, copies, copied_nbytes, syncs, wait_ns } = links.totals();
    const peak = this.peak();
    const busy = Array.from(trace.lanes.kind).some(kind => kind !== LaneKind.THREAD);
    return [
      h(
        'div',
        { class: 'column' },
        h('h3', {}, 'The run'),
        h(
          'dl',
          {},
          ...fact('took', duration(trace.meta.duration_ns)),
          ...fact('forward', forward_ns > 0 && duration(forward_ns)),
          ...fact('backward', backward_ns > 0 && duration(backward_ns)),
          ...fact(
            'copied',
            copied_nbytes > 0 && `${bytes(copied_nbytes)} in ${count(copies)} ${copies === 1 ? 'copy' : 'copies'}`
          ),
          ...fact('waited', (wait_ns > 0 || busy) && `${duration(wait_ns)} in ${plural(syncs, 'sync')}`),
          ...fact(
            'peak memory',
            peak.nbytes > 0 &&
              h(
                'button',
                {
                  class: 'link',
                  type: 'button',
                  click: () => this.session.state.select({ kind: 'moment', time_ns: peak.time_ns })
                },
                `${bytes(peak.nbytes)}, see who holds it`
              )
          ),
          ...fact('started', clean(trace.meta.started, 40)),
          ...fact('devices', trace.meta.devices.map(d => clean(d, 40)).join(', '))
        )
      ),
      h(
        'div',
        { class: 'column' },
        h('p', { class: 'quiet' }, 'Click an event, a block of memory or a finding; press ? for the keys.')
      )
    ];
  }
}
