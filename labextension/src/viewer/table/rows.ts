/** Which rows does the table show, in which order, and what is their sum? */

import { Links } from '../links.js';
import { eventName, KINDS, siteName, Trace } from '../trace.js';

export type Grouping = 'event' | 'name' | 'line' | 'kind';
export type SortKey = 'start' | 'time' | 'own' | 'bytes' | 'count' | 'name';

export interface TableRow {
  /** The event itself, or the longest of the group. */
  event: number;
  name: string;
  kind: number;
  site: number;
  count: number;
  time_ns: number;
  own_ns: number;
  nbytes: number;
  start_ns: number;
}

export interface Filter {
  from_ns: number;
  to_ns: number;
  mask: Uint8Array | null;
  kind: number;
}

export const MAX_TABLE_ROWS = 500;

export interface TableContent {
  rows: TableRow[];
  total: Omit<TableRow, 'event' | 'name' | 'kind' | 'site' | 'start_ns'>;
}

/** The first MAX_TABLE_ROWS of what passes the filter; the total counts all of it. */
export function tableRows(
  trace: Trace,
  links: Links,
  filter: Filter,
  grouping: Grouping,
  key: SortKey,
  ascending: boolean
): TableContent {
  const { start_ns, end_ns, nbytes, kind, rows } = trace.events;
  const own = links.self_ns();
  const total = { count: 0, time_ns: 0, own_ns: 0, nbytes: 0 };
  const passing: number[] = [];
  for (let e = 0; e < rows; e++) {
    if (
      end_ns[e] < filter.from_ns ||
      start_ns[e] > filter.to_ns ||
      (filter.mask && !filter.mask[e]) ||
      (filter.kind >= 0 && kind[e] !== filter.kind)
    )
      continue;
    passing.push(e);
    total.count++;
    total.own_ns += Math.max(0, own[e]);
    total.nbytes += nbytes[e];
  }
  total.time_ns = total.own_ns;
  const rowOf = (e: number): TableRow => ({
    event: e,
    name: eventName(trace, e),
    kind: kind[e],
    site: trace.events.site[e],
    count: 1,
    time_ns: end_ns[e] - start_ns[e],
    own_ns: Math.max(0, own[e]),
    nbytes: nbytes[e],
    start_ns: start_ns[e]
  });
  if (grouping !== 'event')
    return { rows: sorted(grouped(trace, passing, rowOf, grouping), key, ascending).slice(0, MAX_TABLE_ROWS), total };
  const best = key === 'name' ? passing.slice(0, 20_000) : extreme(passing, numberOf(trace, own, key), ascending);
  return { rows: sorted(best.map(rowOf), key, ascending).slice(0, MAX_TABLE_ROWS), total };
}

function numberOf(trace: Trace, own: Float64Array, key: SortKey): (e: number) => number {
  const { start_ns, end_ns, nbytes } = trace.events;
  switch (key) {
    case 'start':
      return e => start_ns[e];
    case 'own':
      return e => own[e];
    case 'bytes':
      return e => nbytes[e];
    default:
      return e => end_ns[e] - start_ns[e];
  }
}

/** At least the MAX_TABLE_ROWS smallest or largest, found by a cut through a sample instead of a full sort. */
function extreme(events: number[], value: (e: number) => number, ascending: boolean): number[] {
  if (events.length <= 4 * MAX_TABLE_ROWS) return events;
  const sign = ascending ? 1 : -1;
  const stride = Math.max(1, Math.floor(events.length / 4096));
  const sample = events
    .filter((_, i) => i % stride === 0)
    .map(e => sign * value(e))
    .sort((a, b) => a - b);
  const cut = sample[Math.min(sample.length - 1, Math.ceil((2 * MAX_TABLE_ROWS * sample.length) / events.length) + 8)];
  const chosen = events.filter(e => sign * value(e) <= cut);
  return chosen.length >= MAX_TABLE_ROWS ? chosen : events;
}

function grouped(trace: Trace, events: number[], rowOf: (e: number) => TableRow, grouping: Grouping): TableRow[] {
  const { name_str, site, kind } = trace.events;
  const groups = new Map<number, TableRow>();
  const width = trace.strings.length + 2;
  for (const e of events) {
    const key = grouping === 'line' ? site[e] : grouping === 'kind' ? kind[e] : name_str[e] + 1 + kind[e] * width;
    const row = groups.get(key);
    if (!row) {
      const first = rowOf(e);
      if (grouping === 'line') first.name = siteName(trace, site[e]) || '(no line)';
      if (grouping === 'kind') [first.name, first.site] = [KINDS[kind[e]] ?? 'event', -1];
      if (grouping === 'name') first.site = -1;
      groups.set(key, first);
      continue;
    }
    const next = rowOf(e);
    if (next.own_ns > row.own_ns / row.count) row.event = e;
    row.count++;
    row.time_ns += next.time_ns;
    row.own_ns += next.own_ns;
    row.nbytes += next.nbytes;
  }
  return [...groups.values()];
}

function sorted(rows: TableRow[], key: SortKey, ascending: boolean): TableRow[] {
  const sign = ascending ? 1 : -1;
  const field = {
    start: 'start_ns',
    time: 'time_ns',
    own: 'own_ns',
    bytes: 'nbytes',
    count: 'count',
    name: 'name'
  } as const;
  const by = field[key];
  return rows.sort((a, b) => sign * (by === 'name' ? a.name.localeCompare(b.name) : a[by] - b[by]));
}
