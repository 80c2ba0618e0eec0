/** In which lane and row does each event lie? */

import { Axis } from '../axis.js';
import { Pyramid } from '../pyramid.js';
import { clean } from '../format.js';
import { Flag, Kind, LaneKind, str, Trace } from '../trace.js';

export interface Row {
  /** Events in order of their start. */
  ids: Int32Array;
  topPx: number;
  heightPx: number;
}

export interface Track {
  title: string;
  /** Name of the thread, on its first track where there are several. */
  heading: string;
  lane: number;
  rows: Row[];
  topPx: number;
  heightPx: number;
}

export interface Timeline {
  tracks: Track[];
  rows: Row[];
  heightPx: number;
  /** event -> index in `rows` */
  rowOf: Int16Array;
}

const ROW_PX = 18;
const GAP_PX = 7;
export const HEADING_PX = 16;
const MAX_DEPTH = 8;
const THREAD_TRACKS = ['spans', 'forward', 'pullbacks', 'accumulations', 'copies', 'syncs', 'runtime'];

/** Tracks of a thread by kind of event; deeper nesting than MAX_DEPTH shares the last row. */
export function layTimeline(trace: Trace, byStart: Int32Array): Timeline {
  const { lane } = trace.events;
  const lanes = Math.max(1, trace.lanes.rows);
  const stacks: number[][][] = Array.from({ length: lanes * THREAD_TRACKS.length }, () => []);
  const ends: number[][] = stacks.map(() => []);
  const { end_ns, start_ns } = trace.events;
  for (const event of byStart) {
    const slot = Math.max(0, lane[event]) * THREAD_TRACKS.length + trackOf(trace, event);
    const open = ends[slot];
    while (open.length && open[open.length - 1] <= start_ns[event]) open.pop();
    const depth = Math.min(open.length, MAX_DEPTH - 1);
    open.push(end_ns[event]);
    (stacks[slot][depth] ??= []).push(event);
  }
  return place(trace, stacks);
}

function trackOf(trace: Trace, event: number): number {
  const { kind, lane, flags } = trace.events;
  if (lane[event] >= 0 && trace.lanes.kind[lane[event]] !== LaneKind.THREAD) return 0;
  switch (kind[event]) {
    case Kind.SPAN:
      return 0;
    case Kind.PULLBACK:
      return 2;
    case Kind.ACCUMULATE:
      return 3;
    case Kind.COPY:
      return 4;
    case Kind.SYNC:
      return 5;
    case Kind.COMPILE:
    case Kind.COLLECT:
      return 6;
    default:
      return flags[event] & Flag.BACKWARD ? 2 : 1;
  }
}

function place(trace: Trace, stacks: number[][][]): Timeline {
  const tracks: Track[] = [];
  const rowOf = new Int16Array(trace.events.rows).fill(-1);
  const rows: Row[] = [];
  const threads = Array.from(trace.lanes.kind).filter(kind => kind === LaneKind.THREAD).length;
  let topPx = GAP_PX / 2;
  let lastLane = -1;
  stacks.forEach((depths, slot) => {
    if (!depths.length) return;
    const lane = Math.floor(slot / THREAD_TRACKS.length);
    const heading = threads > 1 && lane !== lastLane && isThread(trace, lane) ? laneName(trace, lane) : '';
    if (heading) topPx += HEADING_PX;
    lastLane = lane;
    const title = isThread(trace, lane) ? THREAD_TRACKS[slot % THREAD_TRACKS.length] : laneName(trace, lane);
    const track: Track = { title, heading, lane, rows: [], topPx, heightPx: 0 };
    for (const events of depths) {
      const row = { ids: Int32Array.from(events), topPx, heightPx: ROW_PX };
      for (const event of events) rowOf[event] = rows.length;
      rows.push(row);
      track.rows.push(row);
      topPx += ROW_PX;
    }
    track.heightPx = topPx - track.topPx;
    topPx += GAP_PX;
    tracks.push(track);
  });
  return { tracks, rows, heightPx: topPx, rowOf };
}

const isThread = (trace: Trace, lane: number): boolean =>
  lane >= trace.lanes.rows || trace.lanes.kind[lane] === LaneKind.THREAD;

const laneName = (trace: Trace, lane: number): string =>
  (lane < trace.lanes.rows && clean(str(trace, trace.lanes.name_str[lane]), 60)) || `lane ${lane}`;

/** One pyramid for each row, over all its events or over those that `mask` lets through. */
export function pyramids(timeline: Timeline, axis: Axis, mask?: Uint8Array): Pyramid[] {
  return timeline.rows.map(row => new Pyramid(mask ? row.ids.filter(e => mask[e]) : row.ids, axis.start, axis.end));
}

const COSTLY_SHARE = 0.005;
const COSTLY_NBYTES = 1 << 20;

/** Events that no zoom may merge away: waits for a device, costly copies, evidence of findings. */
export function protectedEvents(trace: Trace): Uint8Array {
  const mask = new Uint8Array(trace.events.rows);
  const { syncs, copies, events, meta } = trace;
  for (let row = 0; row < syncs.rows; row++)
    if (syncs.on_device[row] && syncs.event[row] >= 0) mask[syncs.event[row]] = 1;
  for (let row = 0; row < copies.rows; row++) {
    const event = copies.event[row];
    if (event < 0) continue;
    const length = events.end_ns[event] - events.start_ns[event];
    if (length < COSTLY_SHARE * meta.duration_ns && copies.nbytes[row] < COSTLY_NBYTES) continue;
    mask[event] = 1;
  }
  for (const finding of trace.findings) for (const event of finding.events) mask[event] = 1;
  return mask;
}
