import { expect, test } from 'vitest';
import { argsort, lowerBound, nestingOrder } from './sort.js';

test.each([
  [[]],
  [[5]],
  [[3, 1, 2, 1, 3]],
  [[0, 2 ** 40, 1, 2 ** 40 - 1, 2 ** 11, 2 ** 22, 2 ** 33]],
  [[-7, 4, -(2 ** 35), 0]],
  [[1, 1, 1]]
])('argsort %j', values => {
  const expected = values.map((_, i) => i).sort((a, b) => values[a] - values[b] || a - b);
  expect(Array.from(argsort(values))).toEqual(expected);
});

test('what encloses comes first', () => {
  expect(Array.from(nestingOrder([5, 0, 0, 5], [6, 1, 9, 8]))).toEqual([2, 1, 3, 0]);
});

test('lowerBound', () => {
  expect([0, 1, 2, 9].map(v => lowerBound([1, 1, 3], v))).toEqual([0, 0, 2, 3]);
});
