import { expect, test } from 'vitest';
import { bytes, clean, count, duration, percent, plural } from './format.js';

test.each([
  [0, '0 ns'],
  [17, '17 ns'],
  [999.7, '1.00 µs'],
  [17_000, '17.0 µs'],
  [213e6, '213 ms'],
  [1.25e9, '1.25 s'],
  [-5e6, '−5.00 ms'],
  [9e11, '15.0 min'],
  [NaN, '–'],
  [Infinity, '–']
])('duration %d', (ns, text) => expect(duration(ns).replace('\u202f', ' ')).toBe(text));

test.each([
  [8, '8 B'],
  [1536, '1.50 KiB'],
  [1.5 * 2 ** 30, '1.50 GiB'],
  [NaN, '–']
])('bytes %d', (n, text) => expect(bytes(n).replace('\u202f', ' ')).toBe(text));

test('counts and shares', () => {
  expect(count(12300).replace('\u202f', ' ')).toBe('12 300');
  expect(count(1_000_000).replace('\u202f', ' ')).toBe('1.00 M');
  expect(percent(0.0123).replace('\u202f', ' ')).toBe('1.2 %');
  expect(plural(1, 'event')).toBe('1 event');
});

test('names cannot turn, break or flood the line', () => {
  expect(clean('\u202eabc\u0007\ud800x')).toBe('\ufffdabc\ufffd\ufffdx');
  expect(clean('😀 漢字 </script>')).toBe('😀 漢字 </script>');
  expect(clean('x'.repeat(10_000))).toHaveLength(200);
});
