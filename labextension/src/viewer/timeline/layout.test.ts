import { beforeAll, expect, test } from 'vitest';
import { story, write } from '../../../fixtures/trace.mjs';
import { orderAxis, timeAxis } from '../axis.js';
import { nestingOrder } from '../sort.js';
import { Kind, readTrace, Trace } from '../trace.js';
import { layTimeline, protectedEvents, pyramids, Timeline } from './layout.js';

let trace: Trace;
let order: Int32Array;
let timeline: Timeline;
beforeAll(async () => {
  trace = await readTrace(write(story(5000)));
  order = nestingOrder(trace.events.start_ns, trace.events.end_ns);
  timeline = layTimeline(trace, order);
});

test('every event has a row, and events of a row do not overlap', () => {
  expect(timeline.rows.reduce((n, row) => n + row.ids.length, 0)).toBe(trace.events.rows);
  for (const axis of [timeAxis(trace), orderAxis(trace, order)]) {
    for (const { ids } of timeline.rows)
      for (let i = 1; i < ids.length; i++) expect(axis.start[ids[i]]).toBeGreaterThanOrEqual(axis.end[ids[i - 1]]);
  }
});

test('tracks are named by what they hold', () => {
  expect(timeline.tracks.map(track => track.title)).toEqual([
    'spans',
    'forward',
    'pullbacks',
    'accumulations',
    'copies',
    'syncs',
    'stream 0'
  ]);
});

test('no zoom merges a protected event away', () => {
  const axis = timeAxis(trace);
  const mask = protectedEvents(trace);
  const kept = pyramids(timeline, axis, mask);
  let marked = 0;
  for (const pyramid of kept)
    pyramid.query(axis.extent.from, axis.extent.to, axis.extent.to, (_event, _start, _end, count) => (marked += count));
  expect(marked).toBe(mask.reduce((n, bit) => n + bit, 0));
  for (let e = 0; e < trace.events.rows; e++) if (trace.events.kind[e] === Kind.SYNC) expect(mask[e]).toBe(1);
});

test('event order is a monotone map of time and back', () => {
  const axis = orderAxis(trace, order);
  let last = -1;
  for (let time = 0; time < trace.meta.duration_ns; time += 9973) {
    expect(axis.of(time)).toBeGreaterThanOrEqual(last);
    last = axis.of(time);
    if (last > 0 && last < trace.events.rows - 1) expect(Math.abs(axis.time(last) - time)).toBeLessThan(1);
  }
});
