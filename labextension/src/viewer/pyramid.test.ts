import { expect, test } from 'vitest';
import { Pyramid } from './pyramid.js';

function row(n: number, seed = 1): { ids: Int32Array; start: Float64Array; end: Float64Array } {
  let state = seed;
  const random = (): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 4294967296;
  const [start, end] = [new Float64Array(n), new Float64Array(n)];
  let now = 0;
  for (let i = 0; i < n; i++) {
    now += random() < 0.01 ? 1e5 * random() : 50 * random();
    start[i] = now;
    now = end[i] = now + 200 * random() ** 4;
  }
  return { ids: Int32Array.from({ length: n }, (_, i) => i), start, end };
}

test('without merging every event of the window comes, in order', () => {
  const { ids, start, end } = row(3000);
  const pyramid = new Pyramid(ids, start, end);
  for (const [from, to] of [
    [0, Infinity],
    [1000, 20_000],
    [5e4, 5e4],
    [-10, -5]
  ]) {
    const seen: number[] = [];
    pyramid.query(from, to, 0, event => seen.push(event));
    expect(seen).toEqual(Array.from(ids).filter(e => end[e] >= from && start[e] <= to));
  }
});

test('merged or not, each event is inside a mark, and marks are few', () => {
  const { ids, start, end } = row(100_000);
  const pyramid = new Pyramid(ids, start, end);
  const width = end.at(-1)! / 1000;
  const marks: [number, number, number, number][] = [];
  pyramid.query(0, end.at(-1)!, width, (event, from, to, count) => marks.push([event, from, to, count]));
  expect(marks.reduce((n, mark) => n + mark[3], 0)).toBe(ids.length);
  expect(marks.length).toBeLessThan(16_000);
  for (const [event, from, to, count] of marks) {
    expect(start[event]).toBeGreaterThanOrEqual(from);
    expect(end[event]).toBeLessThanOrEqual(to);
    if (count > 1) expect(to - from).toBeLessThanOrEqual(width);
  }
});

test('no events, one event', () => {
  const seen: number[] = [];
  new Pyramid(new Int32Array(0), [], []).query(0, 1, 0, e => seen.push(e));
  new Pyramid(Int32Array.of(0), [3], [5]).query(4, 4, 0, e => seen.push(e));
  expect(seen).toEqual([0]);
});
