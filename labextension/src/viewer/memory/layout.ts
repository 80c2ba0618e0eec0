/** How many bytes are alive at each moment, and how do the largest blocks stack? */

import { Range } from '../scale.js';
import { argsort, lowerBound } from '../sort.js';
import { ROLES, Trace } from '../trace.js';

const STRIDE = 64;
const MAX_BLOCKS = 160;
const MAX_STEPS = 12_000;

/** Bytes alive after each allocation and each release, by role, with the peak of any stretch at hand. */
export class Curve {
  readonly time_ns: Float64Array;
  readonly total: Float64Array;
  private readonly checkpoints: Float64Array[] = [];
  private readonly blockMax: Float64Array;

  /** `changes[i]` is `2 * buffer` for an allocation, `2 * buffer + 1` for a release. */
  constructor(
    private readonly trace: Trace,
    private readonly changes: Int32Array
  ) {
    const { alloc_ns, free_ns, nbytes, role } = trace.buffers;
    this.time_ns = new Float64Array(changes.length);
    this.total = new Float64Array(changes.length);
    this.blockMax = new Float64Array(Math.ceil(changes.length / STRIDE));
    const byRole = new Float64Array(ROLES.length);
    let alive = 0;
    changes.forEach((change, i) => {
      const buffer = change >> 1;
      if (i % STRIDE === 0) this.checkpoints.push(byRole.slice());
      this.time_ns[i] = change & 1 ? free_ns[buffer] : alloc_ns[buffer];
      const amount = change & 1 ? -nbytes[buffer] : nbytes[buffer];
      byRole[role[buffer]] += amount;
      this.total[i] = alive += amount;
      this.blockMax[Math.floor(i / STRIDE)] = Math.max(this.blockMax[Math.floor(i / STRIDE)], alive);
    });
  }

  /** Index of the last change at or before a moment, -1 before the first. */
  at(time_ns: number): number {
    const next = lowerBound(this.time_ns, time_ns);
    return this.time_ns[next] === time_ns ? next : next - 1;
  }

  /** Index of the highest total among the changes first..last. */
  highest(first: number, last: number): number {
    let best = Math.max(0, first);
    for (let i = best; i <= last; i++) {
      if (i % STRIDE === 0 && i + STRIDE <= last && this.blockMax[i / STRIDE] <= this.total[best]) i += STRIDE - 1;
      else if (this.total[i] > this.total[best]) best = i;
    }
    return best;
  }

  byRole(index: number): Float64Array {
    if (index < 0) return new Float64Array(ROLES.length);
    const { nbytes, role } = this.trace.buffers;
    const sums = this.checkpoints[Math.floor(index / STRIDE)].slice();
    for (let i = index - (index % STRIDE); i <= index; i++) {
      const buffer = this.changes[i] >> 1;
      sums[role[buffer]] += this.changes[i] & 1 ? -nbytes[buffer] : nbytes[buffer];
    }
    return sums;
  }
}

/** One large buffer: where its lower edge lies from each of these moments on. */
export interface Block {
  buffer: number;
  time_ns: number[];
  base: number[];
  end_ns: number;
}

export interface Memory {
  within: Range | null;
  whole: Curve;
  rest: Curve;
  blocks: Block[];
  peak: { nbytes: number; time_ns: number };
}

/** Of all buffers, or of those alive in a stretch: then smaller ones get a block of their own. */
export function layMemory(trace: Trace, within: Range | null = null): Memory {
  const { nbytes } = trace.buffers;
  const buffers = buffersWithin(trace, within ?? { from: -Infinity, to: Infinity });
  const changes = changesInTime(trace, buffers);
  const whole = new Curve(trace, changes);
  const top = whole.total.length ? whole.highest(0, whole.total.length - 1) : -1;
  const peak = { nbytes: top >= 0 ? whole.total[top] : 0, time_ns: top >= 0 ? whole.time_ns[top] : 0 };
  const large = largest(nbytes, buffers, MAX_BLOCKS).filter(buffer => nbytes[buffer] >= 0.004 * peak.nbytes);
  for (let blocks = large; ; blocks = blocks.slice(0, blocks.length >> 1)) {
    if (!blocks.length) return { within, whole, rest: whole, blocks: [], peak };
    const chosen = new Set(blocks);
    const stacked = stack(
      trace,
      changes.filter(c => chosen.has(c >> 1))
    );
    if (stacked.reduce((n, b) => n + b.base.length, 0) > MAX_STEPS) continue;
    return {
      within,
      whole,
      rest: new Curve(
        trace,
        changes.filter(c => !chosen.has(c >> 1))
      ),
      blocks: stacked,
      peak
    };
  }
}

/** Releases come before allocations of the same moment, so that no peak is invented. */
function changesInTime(trace: Trace, buffers: Int32Array): Int32Array {
  const { alloc_ns, free_ns } = trace.buffers;
  const freed = buffers.filter(b => free_ns[b] >= 0);
  const changes = new Int32Array(freed.length + buffers.length);
  const times = new Float64Array(changes.length);
  freed.forEach((b, i) => {
    changes[i] = 2 * b + 1;
    times[i] = free_ns[b];
  });
  buffers.forEach((b, i) => {
    changes[freed.length + i] = 2 * b;
    times[freed.length + i] = alloc_ns[b];
  });
  return argsort(times).map(i => changes[i]);
}

/** The largest buffers; where many are equally large none of these, since a few of them would look like more than they are. */
function largest(nbytes: ArrayLike<number>, buffers: Int32Array, n: number): number[] {
  if (buffers.length <= n) return Array.from(buffers);
  const cut = Float64Array.from(buffers, b => nbytes[b]).sort()[buffers.length - n - 1];
  return Array.from(buffers.filter(b => nbytes[b] > cut));
}

/** Blocks lie on each other in order of allocation; when one goes, those above it come down. */
function stack(trace: Trace, changes: Int32Array): Block[] {
  const { nbytes, alloc_ns, free_ns } = trace.buffers;
  const done: Block[] = [];
  const alive: Block[] = [];
  let height = 0;
  for (const change of changes) {
    const buffer = change >> 1;
    if (!(change & 1)) {
      const block = { buffer, time_ns: [alloc_ns[buffer]], base: [height], end_ns: Infinity };
      alive.push(block);
      done.push(block);
      height += nbytes[buffer];
      continue;
    }
    const gone = alive.findIndex(block => block.buffer === buffer);
    alive[gone].end_ns = free_ns[buffer];
    alive.splice(gone, 1);
    height -= nbytes[buffer];
    for (const block of alive.slice(gone)) {
      block.time_ns.push(free_ns[buffer]);
      block.base.push(block.base.at(-1)! - nbytes[buffer]);
    }
  }
  return done;
}

/** Buffers that are there at some moment of a stretch; those released when they were made never are. */
function buffersWithin(trace: Trace, within: Range): Int32Array {
  const { alloc_ns, free_ns, nbytes, rows } = trace.buffers;
  const found = new Int32Array(rows);
  let n = 0;
  for (let b = 0; b < rows; b++) {
    const lives = nbytes[b] > 0 && (free_ns[b] < 0 || free_ns[b] > alloc_ns[b]);
    if (lives && alloc_ns[b] <= within.to && (free_ns[b] < 0 || free_ns[b] >= within.from)) found[n++] = b;
  }
  return found.slice(0, n);
}

/** Buffers alive at a moment, the largest first. */
export function aliveAt(trace: Trace, time_ns: number): number[] {
  const { alloc_ns, free_ns, nbytes, rows } = trace.buffers;
  const alive: number[] = [];
  for (let b = 0; b < rows; b++)
    if (alloc_ns[b] <= time_ns && (free_ns[b] < 0 || free_ns[b] > time_ns) && nbytes[b] > 0) alive.push(b);
  return alive.sort((a, b) => nbytes[b] - nbytes[a]);
}
