/** What do all views share? The trace, the state, the axis, the colours, and one redraw per frame. */

import { Axis, orderAxis, timeAxis } from './axis.js';
import { Links } from './links.js';
import { clampRange, Range, Scale, ticks } from './scale.js';
import { nestingOrder } from './sort.js';
import { Selection, State } from './state.js';
import { DARK, isDark, LIGHT, Theme, ThemeName } from './theme.js';
import { Column } from './file.js';
import { clean } from './format.js';
import { Trace } from './trace.js';

export const GUTTER_PX = 108;
export const MARGIN_PX = 14;

// Frames to wait for a hidden host: one that shows itself within the frame in which it was hidden tells no observer of it.
const PATIENCE = 20;

export class Session {
  readonly links: Links;
  readonly state: State;
  /** Events by start; of those that start together the longest first. */
  readonly byStart: Int32Array;
  theme: Theme;
  private readonly time: Axis;
  private order: Axis | null = null;
  private readonly painters: (() => void)[] = [];
  private frame = 0;
  private patience = PATIENCE;
  private animation = 0;
  private litFor: unknown[] = [];
  private litMask: Uint8Array | null = null;

  constructor(
    readonly trace: Trace,
    readonly before: Trace | null,
    readonly themeName: ThemeName,
    readonly root: HTMLElement
  ) {
    this.links = new Links(trace);
    this.time = timeAxis(trace);
    this.theme = isDark(themeName) ? DARK : LIGHT;
    this.byStart = nestingOrder(trace.events.start_ns, trace.events.end_ns);
    const worst = trace.findings.findIndex(f => !f.harmless);
    this.state = new State({
      range: this.time.extent,
      selection: worst >= 0 ? { kind: 'finding', id: worst } : null,
      area: null,
      hover: -1,
      marks: [],
      order: false,
      panel: before ? 'compare' : worst >= 0 && trace.sites.rows > 0 ? 'source' : 'details',
      query: ''
    });
    this.state.on(['order'], () => this.switchAxis());
    this.state.on(['range', 'selection', 'area', 'hover', 'marks', 'query'], () => this.invalidate());
  }

  get axis(): Axis {
    return this.state.now.order ? (this.order ??= orderAxis(this.trace, this.byStart)) : this.time;
  }

  scale(widthPx: number): Scale {
    return new Scale(this.state.now.range, GUTTER_PX, Math.max(1, widthPx - GUTTER_PX - MARGIN_PX));
  }

  /** The stretch on screen, in time whatever the axis. */
  get window_ns(): Range {
    const { range } = this.state.now;
    return { from: this.axis.time(range.from), to: this.axis.time(range.to) };
  }

  private switchAxis(): void {
    const [from, to] = this.state.now.order ? [this.time, this.axis] : [this.order ?? this.time, this.time];
    const move = (range: Range): Range => ({ from: to.of(from.time(range.from)), to: to.of(from.time(range.to)) });
    const { area, marks, range } = this.state.now;
    this.state.set({
      range: clampRange(move(range), to.extent, to.smallest),
      area: area && move(area),
      marks: marks.map(m => to.of(from.time(m)))
    });
    this.invalidate();
  }

  setRange(range: Range): void {
    if (!Number.isFinite(range.from) || !Number.isFinite(range.to)) return;
    cancelAnimationFrame(this.animation);
    this.state.set({ range: clampRange(range, this.axis.extent, this.axis.smallest) });
  }

  /** Moves there in 160 ms, or at once for those who asked for less motion. */
  glide(target: Range): void {
    const goal = clampRange(target, this.axis.extent, this.axis.smallest);
    if (globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches) return this.setRange(goal);
    const begin = this.state.now.range;
    const started = performance.now();
    cancelAnimationFrame(this.animation);
    const step = (): void => {
      const t = Math.min(1, (performance.now() - started) / 160);
      const eased = t * (2 - t);
      this.state.set({
        range:
          t === 1
            ? goal
            : { from: begin.from + (goal.from - begin.from) * eased, to: begin.to + (goal.to - begin.to) * eased }
      });
      if (t < 1) this.animation = requestAnimationFrame(step);
    };
    step();
  }

  /** The events a selection stands for. */
  eventsOf(selection: Selection | null): ArrayLike<number> {
    switch (selection?.kind) {
      case 'event':
        return [selection.id];
      case 'finding':
        return this.links.evidence(selection.id);
      case 'site':
        return this.links.ofSite(selection.id);
      case 'buffer':
        return this.eventsOfBuffer(selection.id);
      default:
        return [];
    }
  }

  private eventsOfBuffer(buffer: number): number[] {
    const { copies, buffers } = this.trace;
    const events = buffers.alloc_event[buffer] >= 0 ? [buffers.alloc_event[buffer]] : [];
    for (let row = 0; row < copies.rows; row++)
      if (copies.source[row] === buffer || copies.target[row] === buffer) events.push(copies.event[row]);
    return events;
  }

  /** Which events keep their colour while the others step back; null: all. */
  lit(): Uint8Array | null {
    const { selection, query } = this.state.now;
    const key = [query, selection?.kind === 'event' || selection?.kind === 'moment' ? null : selection];
    if (key.every((part, i) => part === this.litFor[i]) && this.litFor.length) return this.litMask;
    this.litFor = key;
    return (this.litMask = query ? this.matches(query) : this.mask(key[1] as Selection | null));
  }

  private mask(selection: Selection | null): Uint8Array | null {
    const events = this.eventsOf(selection);
    if (!events.length) return null;
    const mask = new Uint8Array(this.trace.events.rows);
    for (let i = 0; i < events.length; i++) mask[events[i]] = 1;
    return mask;
  }

  /** Events whose name, line or file contains the query. */
  matches(query: string): Uint8Array {
    const { events, sites, strings } = this.trace;
    const wanted = query.toLowerCase();
    const hit = strings.map(text => text.toLowerCase().includes(wanted));
    const refers = (column: Column, row: number): boolean => column[row] >= 0 && hit[column[row]];
    const siteHit = Array.from(
      { length: sites.rows },
      (_, s) => refers(sites.text_str, s) || refers(sites.file_str, s) || refers(sites.function_str, s)
    );
    const mask = new Uint8Array(events.rows);
    for (let e = 0; e < events.rows; e++)
      mask[e] = refers(events.name_str, e) || (events.site[e] >= 0 && siteHit[events.site[e]]) ? 1 : 0;
    return mask;
  }

  /** Brings events into view: their whole stretch with a margin, if it is not there yet. */
  reveal(events: ArrayLike<number>, always = false): void {
    let [from, to] = [Infinity, -Infinity];
    for (let i = 0; i < events.length; i++) {
      from = Math.min(from, this.axis.start[events[i]]);
      to = Math.max(to, this.axis.end[events[i]]);
    }
    const { range } = this.state.now;
    const width = range.to - range.from;
    if (from > to) return;
    const inside = from >= range.from && to <= range.to;
    if (inside && !always && to - from > width / 400) return;
    const margin = Math.max((to - from) * (always ? 0.1 : 1), this.axis.smallest);
    if (always || to - from > width || to - from < width / 400) this.glide({ from: from - margin, to: to + margin });
    else this.glide({ from: (from + to - width) / 2, to: (from + to + width) / 2 });
  }

  onDraw(paint: () => void): void {
    this.painters.push(paint);
  }

  invalidate(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.root.clientHeight && this.patience-- > 0) return this.invalidate();
      this.patience = PATIENCE;
      for (const paint of this.painters) paint();
    });
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.animation);
    this.painters.length = 0;
  }

  /** Where the vertical lines of the axis stand, in every picture that shares it. */
  gridPx(scale: Scale): number[] {
    return ticks(scale.range, scale.widthPx / 110).values.map(value => scale.px(value));
  }

  /** The marked stretch and the marked moments. */
  drawMarks(ctx: CanvasRenderingContext2D, scale: Scale, height: number): void {
    const { area, marks, selection } = this.state.now;
    ctx.fillStyle = this.theme.accent;
    if (area) {
      ctx.globalAlpha = 0.14;
      ctx.fillRect(scale.px(area.from), 0, scale.px(area.to) - scale.px(area.from), height);
      ctx.globalAlpha = 1;
    }
    const moments = selection?.kind === 'moment' ? [...marks, this.axis.of(selection.time_ns)] : marks;
    for (const moment of moments) ctx.fillRect(Math.round(scale.px(moment)), 0, 1.5, height);
  }

  text(index: number): string {
    return index >= 0 ? clean(this.trace.strings[index]) : '';
  }
}
