import { beforeAll, expect, test } from 'vitest';
import { story, write } from '../../../fixtures/trace.mjs';
import { compareTraces } from '../compare/match.js';
import { Links } from '../links.js';
import { heatBySite } from '../source/heat.js';
import { readTrace, Trace } from '../trace.js';
import { tableRows } from './rows.js';

let trace: Trace;
let faster: Trace;
beforeAll(
  async () =>
    void ([trace, faster] = await Promise.all(
      [story(40_000), story(40_000, { slow: 0.2 })].map(s => readTrace(write(s)))
    ))
);
const everything = { from_ns: 0, to_ns: Infinity, mask: null, kind: -1 };

test('the longest rows are the longest of all', () => {
  const { rows, total } = tableRows(trace, new Links(trace), everything, 'event', 'time', false);
  const lengths = Array.from(trace.events.end_ns, (end, e) => end - trace.events.start_ns[e]).sort((a, b) => b - a);
  expect(rows.map(row => row.time_ns)).toEqual(lengths.slice(0, rows.length));
  expect(total.count).toBe(trace.events.rows);
});

test('groups add up to the total', () => {
  const links = new Links(trace);
  for (const grouping of ['name', 'line', 'kind'] as const) {
    const { rows, total } = tableRows(trace, links, everything, grouping, 'own', false);
    expect(rows.reduce((sum, row) => sum + row.count, 0)).toBe(total.count);
    expect(rows.reduce((sum, row) => sum + row.own_ns, 0)).toBeCloseTo(total.own_ns, -3);
  }
});

test('the heat of all lines is the work of the threads', () => {
  const links = new Links(trace);
  const { forward_ns, backward_ns } = links.totals();
  const heat = heatBySite(trace, links);
  const sum = heat.reduce((total, line) => total + line.forward_ns + line.backward_ns, 0);
  expect(sum).toBeCloseTo(forward_ns + backward_ns, -3);
  expect(heat[10].syncs).toBe(trace.syncs.rows);
});

test('a run compared with itself has not changed; with a faster one the faster lines come first', () => {
  expect(compareTraces(trace, new Links(trace), trace, new Links(trace)).every(c => c.verdict === 'same')).toBe(true);
  const changes = compareTraces(trace, new Links(trace), faster, new Links(faster));
  expect(changes[0].verdict).toBe('faster');
  expect(['float', 'zeros', 'getitem > x']).toContain(changes[0].name);
});
