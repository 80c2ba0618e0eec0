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

  /** Time on threads, split by the direction of the pass; spans only frame it, so they do not count. */
  passes(): { forward_ns: number; backward_ns: number } {
    return this.once('passes', () => {
      const total = { forward_ns: 0, backward_ns: 0 };
      const own = this.self_ns();
      for (let e = 0; e < this.trace.events.rows; e++) if (isHostWork(this.trace, e)) total[isBackward(this.trace, e) ? 'backward_ns' : 'forward_ns'] += own[e];
      return total;
    });
  }
}

const rowOf = (events: Column): Map<number, number> => new Map(Array.from(events, (event, row) => [event, row] as const));

export function isHostWork(trace: Trace, event: number): boolean {
  const { kind, lane } = trace.events;
  return kind[event] !== Kind.SPAN && (lane[event] < 0 || trace.lanes.kind[lane[event]] === LaneKind.THREAD);
}

export const isBackward = (trace: Trace, event: number): boolean =>
  (trace.events.flags[event] & Flag.BACKWARD) !== 0 || trace.events.kind[event] === Kind.PULLBACK || trace.events.kind[event] === Kind.ACCUMULATE;
