/** Which rows belong together? A call and its pullbacks, a copy and its event, an event and its own time. */

import { Column } from './file.js';
import { Flag, Kind, LaneKind, Trace } from './trace.js';

/** For each key 0..n-1, the rows that name it. */
export class Groups {
  private readonly starts: Int32Array;
  private readonly rows: Int32Array;

  constructor(keys: Column, n: number) {
    this.starts = new Int32Array(n + 1);
    for (let row = 0; row < keys.length; row++) if (keys[row] >= 0) this.starts[keys[row] + 1]++;
    for (let key = 0; key < n; key++) this.starts[key + 1] += this.starts[key];
    const next = this.starts.slice();
    this.rows = new Int32Array(this.starts[n]);
    for (let row = 0; row < keys.length; row++) if (keys[row] >= 0) this.rows[next[keys[row]]++] = row;
  }

  of(key: number): Int32Array {
    return this.rows.subarray(this.starts[key], this.starts[key + 1]);
  }
}

export class Links {
  private readonly cache = new Map<string, unknown>();

  constructor(private readonly trace: Trace) {}

  private once<T>(name: string, make: () => T): T {
    if (!this.cache.has(name)) this.cache.set(name, make());
    return this.cache.get(name) as T;
  }

  /** Events that belong to a forward call: itself, its pullbacks, its accumulations, its copies. */
  ofCall(call: number): Int32Array {
    return this.once('call', () => new Groups(this.trace.events.call, this.trace.events.rows)).of(call);
  }

  ofSite(site: number): Int32Array {
    return this.once('site', () => new Groups(this.trace.events.site, this.trace.sites.rows)).of(site);
  }

  children(event: number): Int32Array {
    return this.once('parent', () => new Groups(this.trace.events.parent, this.trace.events.rows)).of(event);
  }

  /** Row in `copies` of a COPY event, -1 for others. */
  copyRow(event: number): number {
    return this.once('copies', () => rowOf(this.trace.copies.event)).get(event) ?? -1;
  }

  syncRow(event: number): number {
    return this.once('syncs', () => rowOf(this.trace.syncs.event)).get(event) ?? -1;
  }

  madeBy(event: number): Int32Array {
    return this.once('alloc', () => new Groups(this.trace.buffers.alloc_event, this.trace.events.rows)).of(event);
  }

  /** Findings whose evidence contains the event. */
  findingsOf(event: number): number[] {
    const map = this.once('findings', () => {
      const found = new Map<number, number[]>();
      this.trace.findings.forEach((f, i) => f.events.forEach(e => found.set(e, [...(found.get(e) ?? []), i])));
      return found;
    });
    return map.get(event) ?? [];
  }

  /** All evidence of a finding. A file lists at most 1000 events of it; the others are those with the same line, kind and name. */
  evidence(id: number): ArrayLike<number> {
    const finding = this.trace.findings[id];
    if (!finding) return [];
    if (finding.count <= finding.events.length) return finding.events;
    return this.once(`evidence ${id}`, () => {
      const { site, kind, name_str, rows } = this.trace.events;
      const key = (e: number): string => `${site[e]}|${kind[e]}|${name_str[e]}`;
      const keys = new Set(finding.events.map(key));
      const sites = new Set(finding.events.map(e => site[e]));
      const found: number[] = [];
      for (let e = 0; e < rows; e++) if (sites.has(site[e]) && keys.has(key(e))) found.push(e);
      return found;
    });
  }

  async usesOf(event: number): Promise<Int32Array> {
    const uses = await this.trace.uses();
    return this.once('usesByEvent', () => new Groups(uses.event, this.trace.events.rows)).of(event);
  }

  async usesOfBuffer(buffer: number): Promise<Int32Array> {
    const uses = await this.trace.uses();
    return this.once('usesByBuffer', () => new Groups(uses.buffer, this.trace.buffers.rows)).of(buffer);
  }

  /** Time of each event without the events inside it. */
  self_ns(): Float64Array {
    return this.once('self', () => {
      const { start_ns, end_ns, parent, rows } = this.trace.events;
      const own = new Float64Array(rows);
      for (let e = 0; e < rows; e++) {
        const length = end_ns[e] - start_ns[e];
        own[e] += length;
        if (parent[e] >= 0) own[parent[e]] -= length;
      }
      return own;
    });
  }

  /** What lies in `view.lines` where the file holds only a part of the run: the sums of all of it, by line. */
  wholeLines(): LineHeat[] | null {
    return this.once('lines', () => {
      const { lines } = this.trace.view;
      if (!Array.isArray(lines)) return null;
      const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
      return lines.map(line => ({
        site: Number.isInteger(line?.site) && line.site < this.trace.sites.rows ? line.site : -1,
        forward_ns: number(line?.forward_ns),
        backward_ns: number(line?.backward_ns),
        calls: number(line?.calls),
        copies: number(line?.copies),
        copied_nbytes: number(line?.copied_nbytes),
        syncs: number(line?.syncs),
        wait_ns: number(line?.wait_ns)
      }));
    });
  }

  /** Sums over the run: self time on threads by direction of the pass, copies, waits. Spans only frame time, so they do not count. */
  totals(): Omit<LineHeat, 'site'> {
    return this.once('totals', () => {
      const total = { forward_ns: 0, backward_ns: 0, calls: 0, copies: 0, copied_nbytes: 0, syncs: 0, wait_ns: 0 };
      const whole = this.wholeLines();
      if (whole) {
        for (const line of whole)
          for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += line[key];
        return total;
      }
      const { events, copies, syncs } = this.trace;
      const own = this.self_ns();
      for (let e = 0; e < events.rows; e++)
        if (isHostWork(this.trace, e))
          total[isBackward(this.trace, e) ? 'backward_ns' : 'forward_ns'] += Math.max(0, own[e]);
      for (let row = 0; row < copies.rows; row++) total.copied_nbytes += copies.nbytes[row];
      for (let row = 0; row < syncs.rows; row++) {
        if (!syncs.on_device[row]) continue;
        total.syncs++;
        total.wait_ns += syncs.host_wait_ns[row];
      }
      total.copies = copies.rows;
      return total;
    });
  }
}

/** What a line of the user's source costs, forward and backward. */
export interface LineHeat {
  site: number;
  forward_ns: number;
  backward_ns: number;
  calls: number;
  copies: number;
  copied_nbytes: number;
  syncs: number;
  wait_ns: number;
}

const rowOf = (events: Column): Map<number, number> =>
  new Map(Array.from(events, (event, row) => [event, row] as const));

export function isHostWork(trace: Trace, event: number): boolean {
  const { kind, lane } = trace.events;
  return kind[event] !== Kind.SPAN && (lane[event] < 0 || trace.lanes.kind[lane[event]] === LaneKind.THREAD);
}

export const isBackward = (trace: Trace, event: number): boolean =>
  (trace.events.flags[event] & Flag.BACKWARD) !== 0 ||
  trace.events.kind[event] === Kind.PULLBACK ||
  trace.events.kind[event] === Kind.ACCUMULATE;
