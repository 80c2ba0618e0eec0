/** In which order do a million rows come, without comparing pairs of them? */

const BITS = 11;
const SIZE = 1 << BITS;

/** Row numbers by ascending value; rows with equal values keep their order. Values are rounded to integers. */
export function argsort(values: ArrayLike<number>, order?: Int32Array): Int32Array {
  let ids: Int32Array = order ?? Int32Array.from({ length: values.length }, (_, i) => i);
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < ids.length; i++) {
    const value = values[ids[i]];
    if (value < low) low = value;
    if (value > high) high = value;
  }
  let swap: Int32Array = new Int32Array(ids.length);
  const span = Math.max(0, high - low);
  for (let unit = 1; unit <= span; unit *= SIZE) {
    const starts = new Int32Array(SIZE + 1);
    for (let i = 0; i < ids.length; i++) starts[(Math.floor((values[ids[i]] - low) / unit) % SIZE) + 1]++;
    for (let digit = 0; digit < SIZE; digit++) starts[digit + 1] += starts[digit];
    for (let i = 0; i < ids.length; i++) swap[starts[Math.floor((values[ids[i]] - low) / unit) % SIZE]++] = ids[i];
    [ids, swap] = [swap, ids];
  }
  return ids;
}

/** First position in ascending `values` at which `values[position] >= wanted`. */
export function lowerBound(values: ArrayLike<number>, wanted: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
