/** What runs from left to right: time, or the order of events? Either way each event covers a stretch [start, end). */

import { lowerBound } from './sort.js';
import { Range } from './scale.js';
import { Trace } from './trace.js';

export interface Axis {
  name: 'time' | 'order';
  start: ArrayLike<number>;
  end: ArrayLike<number>;
  extent: Range;
  /** The narrowest range worth zooming to. */
  smallest: number;
  /** Position of a moment, and the moment at a position. */
  of(time_ns: number): number;
  time(position: number): number;
}

export function timeAxis(trace: Trace): Axis {
  const { start_ns, end_ns, rows } = trace.events;
  const extent = { from: 0, to: Math.max(1, trace.meta.duration_ns) };
  for (let i = 0; i < rows; i++) {
    if (start_ns[i] < extent.from) extent.from = start_ns[i];
    if (end_ns[i] > extent.to) extent.to = end_ns[i];
  }
  return {
    name: 'time',
    start: start_ns,
    end: end_ns,
    extent,
    smallest: 100,
    of: time => time,
    time: position => position
  };
}

/** One step for each event that starts; an event reaches over all that start before it ends. */
export function orderAxis(trace: Trace, order: Int32Array): Axis {
  const { start_ns, end_ns, rows } = trace.events;
  const starts = new Float64Array(rows);
  const start = new Float64Array(rows);
  const end = new Float64Array(rows);
  order.forEach((event, rank) => {
    starts[rank] = start_ns[event];
    start[event] = rank;
  });
  for (let event = 0; event < rows; event++) end[event] = Math.max(start[event] + 1, lowerBound(starts, end_ns[event]));
  const time = (position: number): number => {
    const rank = Math.min(Math.max(Math.floor(position), 0), rows - 1);
    const next = rank + 1 < rows ? starts[rank + 1] : trace.meta.duration_ns;
    return rows ? starts[rank] + (position - rank) * (next - starts[rank]) : 0;
  };
  const of = (moment: number): number => {
    const rank = lowerBound(starts, moment);
    if (rank === 0 || rank >= rows) return rank === 0 ? 0 : rows;
    const step = starts[rank] - starts[rank - 1];
    return rank - 1 + (step > 0 ? (moment - starts[rank - 1]) / step : 0);
  };
  return { name: 'order', start, end, extent: { from: 0, to: Math.max(1, rows) }, smallest: 4, of, time };
}
