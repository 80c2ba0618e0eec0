/** What does the person see and touch of the timeline? Lanes, arrows between forward and backward, the time a sync left a device idle. */

import { Axis } from '../axis.js';
import { context, h } from '../dom.js';
import { clean, duration, plural } from '../format.js';
import { attachGestures } from '../gestures.js';
import { Pyramid } from '../pyramid.js';
import { Scale } from '../scale.js';
import { GUTTER_PX, Session } from '../session.js';
import { Tip } from '../tip.js';
import { eventName, Kind, KINDS, where } from '../trace.js';
import { hatch, Painter } from './draw.js';
import { HEADING_PX, layTimeline, protectedEvents, pyramids, Timeline } from './layout.js';

const MAX_ARROWS = 40;

export class TimelineView {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly layout: Timeline;
  private readonly painter: Painter;
  private readonly keep: Uint8Array;
  private axis: Axis | null = null;
  private all: Pyramid[] = [];
  private kept: Pyramid[] = [];
  private lit: Pyramid[] | null = null;
  private litMask: Uint8Array | null = null;

  constructor(
    private readonly session: Session,
    private readonly tip: Tip
  ) {
    this.layout = layTimeline(session.trace, session.byStart);
    this.keep = protectedEvents(session.trace);
    this.painter = new Painter(session.trace);
    this.canvas = h('canvas', {
      role: 'application',
      tabindex: 0,
      'aria-label': 'Timeline. Press ? for the keys.',
      'aria-describedby': 'gv-twin'
    });
    this.element = h('div', { class: 'lanes' }, h('div', { class: 'sheet' }, this.canvas));
    const sheet = this.element.firstElementChild as HTMLElement;
    sheet.style.height = `${this.layout.heightPx}px`;
    this.element.style.setProperty('--lanes', `${this.layout.heightPx}px`);
    this.element.addEventListener('scroll', () => session.invalidate());
    attachGestures(this.canvas, session, {
      click: (x, y) => this.click(x, y),
      hover: (x, y, event) => this.hover(x, y, event),
      leave: () => this.leave(),
      doubleClick: (x, y) => {
        const event = this.hit(x, y);
        if (event >= 0) session.reveal([event], true);
      },
      scrolls: x => this.overflows && x < GUTTER_PX
    });
    session.onDraw(() => this.draw());
  }

  private get overflows(): boolean {
    return this.layout.heightPx > this.element.clientHeight + 1;
  }

  private refresh(): void {
    const { session } = this;
    if (this.axis !== session.axis) {
      this.axis = session.axis;
      this.all = pyramids(this.layout, this.axis);
      this.kept = pyramids(this.layout, this.axis, this.keep);
      this.litMask = null;
      this.lit = null;
    }
    const mask = session.lit();
    if (mask !== this.litMask) {
      this.litMask = mask;
      this.lit = mask && pyramids(this.layout, this.axis, mask);
    }
  }

  draw(): void {
    if (!this.element.clientHeight) return;
    this.canvas.style.height = `${Math.min(this.element.clientHeight, this.layout.heightPx)}px`;
    const ctx = context(this.canvas);
    if (!ctx) return;
    this.refresh();
    const { theme } = this.session;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const scale = this.session.scale(width);
    const scroll = this.element.scrollTop;
    ctx.fillStyle = theme.background;
    ctx.fillRect(0, 0, width, height);
    ctx.font = '11px system-ui, sans-serif';
    this.drawTracks(ctx, scroll, scale.widthPx, height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER_PX, 0, scale.widthPx, height);
    ctx.clip();
    this.drawGrid(ctx, scale, height);
    const shown = this.layout.rows
      .map((row, i) => ({ row, i }))
      .filter(({ row }) => row.topPx + row.heightPx > scroll && row.topPx < scroll + height);
    const pictures = shown.map(({ row, i }) => ({
      topPx: row.topPx - scroll,
      heightPx: row.heightPx,
      all: this.all[i],
      kept: this.kept[i],
      lit: this.lit ? this.lit[i] : null
    }));
    this.painter.rows(ctx, pictures, scale, theme);
    this.drawIdle(ctx, scale, scroll);
    this.drawSelection(ctx, scale, scroll);
    this.session.drawMarks(ctx, scale, height);
    ctx.restore();
  }

  private drawTracks(ctx: CanvasRenderingContext2D, scroll: number, width: number, height: number): void {
    const { theme } = this.session;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'right';
    for (const track of this.layout.tracks) {
      const top = track.topPx - scroll;
      if (top - HEADING_PX > height || top + track.heightPx < 0) continue;
      ctx.fillStyle = theme.panel;
      ctx.fillRect(GUTTER_PX, top, width, track.heightPx);
      ctx.fillStyle = theme.muted;
      ctx.fillText(this.fit(ctx, track.title, GUTTER_PX - 16), GUTTER_PX - 10, top + 9.5);
      if (!track.heading) continue;
      ctx.fillStyle = theme.ink;
      ctx.textAlign = 'left';
      ctx.fillText(this.fit(ctx, track.heading, GUTTER_PX - 14), 10, top - HEADING_PX / 2);
      ctx.textAlign = 'right';
    }
  }

  private fit(ctx: CanvasRenderingContext2D, text: string, roomPx: number): string {
    let fitting = text;
    while (fitting.length > 2 && ctx.measureText(fitting).width > roomPx) fitting = `${fitting.slice(0, -2)}…`;
    return fitting;
  }

  private drawGrid(ctx: CanvasRenderingContext2D, scale: Scale, height: number): void {
    ctx.fillStyle = this.session.theme.line;
    for (const px of this.session.gridPx(scale)) ctx.fillRect(Math.round(px), 0, 1, height);
  }

  /** The gap on the stream after a sync, where the sync itself is wide enough to be told apart. */
  private drawIdle(ctx: CanvasRenderingContext2D, scale: Scale, scroll: number): void {
    const { syncs, events } = this.session.trace;
    const { axis } = this.session;
    const pattern = hatch(ctx, this.session.theme.kinds[Kind.SYNC][0]);
    if (!pattern || syncs.rows > 20_000) return;
    ctx.fillStyle = pattern;
    for (let row = 0; row < syncs.rows; row++) {
      const end = events.end_ns[syncs.event[row]];
      if (!(syncs.device_idle_ns[row] > 0)) continue;
      const left = scale.px(axis.of(end));
      const right = scale.px(axis.of(end + syncs.device_idle_ns[row]));
      const track = this.layout.tracks.find(t => t.lane === syncs.stream[row]);
      if (!track || right - left < 2 || right < GUTTER_PX || left > scale.leftPx + scale.widthPx) continue;
      ctx.fillRect(left, track.topPx - scroll + 2, right - left, track.heightPx - 4);
    }
  }

  private box(event: number, scale: Scale, scroll: number): { left: number; right: number; top: number } | null {
    const row = this.layout.rows[this.layout.rowOf[event]];
    if (!row) return null;
    const left = scale.px(this.session.axis.start[event]);
    return { left, right: Math.max(scale.px(this.session.axis.end[event]), left + 2), top: row.topPx - scroll };
  }

  private outline(ctx: CanvasRenderingContext2D, event: number, scale: Scale, scroll: number, colour: string): void {
    const box = this.box(event, scale, scroll);
    if (!box) return;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2;
    const left = Math.max(box.left, GUTTER_PX - 4);
    ctx.strokeRect(left, box.top + 1, Math.min(box.right, scale.leftPx + scale.widthPx + 20) - left, 16);
  }

  private drawSelection(ctx: CanvasRenderingContext2D, scale: Scale, scroll: number): void {
    const { session } = this;
    const { selection, hover } = session.state.now;
    if (hover >= 0) this.outline(ctx, hover, scale, scroll, session.theme.muted);
    if (selection?.kind !== 'event') return;
    const call = session.trace.events.call[selection.id];
    if (call >= 0) {
      const others = session.links
        .ofCall(call)
        .filter(e => e !== call && session.trace.events.kind[e] !== Kind.CALL)
        .slice(0, MAX_ARROWS);
      for (const other of others)
        this.arrow(ctx, call, other, scale, scroll, other === selection.id || call === selection.id);
    }
    this.outline(ctx, selection.id, scale, scroll, session.theme.ink);
  }

  /** From a forward call to what it caused later. */
  private arrow(
    ctx: CanvasRenderingContext2D,
    from: number,
    to: number,
    scale: Scale,
    scroll: number,
    strong: boolean
  ): void {
    const [a, b] = [this.box(from, scale, scroll), this.box(to, scale, scroll)];
    if (!a || !b || this.layout.rowOf[from] === this.layout.rowOf[to]) return;
    const { theme } = this.session;
    const down = b.top > a.top;
    const [x0, y0, x1, y1] = [
      (a.left + a.right) / 2,
      a.top + (down ? 17 : 1),
      (b.left + b.right) / 2,
      b.top + (down ? 0 : 18)
    ];
    const bend = Math.max(14, Math.abs(y1 - y0) / 2) * (down ? 1 : -1);
    ctx.strokeStyle = ctx.fillStyle = strong ? theme.accent : theme.muted;
    ctx.globalAlpha = strong ? 1 : 0.5;
    ctx.lineWidth = strong ? 1.6 : 1;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - 3.5, y1 + (down ? -6 : 6));
    ctx.lineTo(x1 + 3.5, y1 + (down ? -6 : 6));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** The event under a point: of several in one pixel the protected or the longest. */
  hit(x: number, y: number): number {
    if (x < GUTTER_PX || !this.axis) return -1;
    const scale = this.session.scale(this.canvas.clientWidth);
    const index = this.layout.rows.findIndex(
      row => y + this.element.scrollTop >= row.topPx && y + this.element.scrollTop < row.topPx + row.heightPx
    );
    if (index < 0) return -1;
    const search = (pyramid: Pyramid, slackPx: number): number => {
      let [best, length] = [-1, -1];
      pyramid.query(scale.value(x - slackPx), scale.value(x + slackPx), scale.perPx, event => {
        const width = this.axis!.end[event] - this.axis!.start[event];
        if (width > length) [best, length] = [event, width];
      });
      return best;
    };
    const lit = this.lit ? search(this.lit[index], 1) : -1;
    if (lit >= 0) return lit;
    const exact = search(this.all[index], 0);
    if (exact >= 0 && (this.axis.end[exact] - this.axis.start[exact]) / scale.perPx > 2) return exact;
    const kept = search(this.kept[index], 2);
    return kept >= 0 ? kept : search(this.all[index], 1);
  }

  private click(x: number, y: number): void {
    this.canvas.focus();
    const event = this.hit(x, y);
    this.session.state.set({
      selection: event >= 0 ? { kind: 'event', id: event } : null,
      ...(event >= 0 && this.session.state.now.panel === 'compare' ? { panel: 'details' } : {})
    });
  }

  private hover(x: number, y: number, pointer: PointerEvent): void {
    const event = this.hit(x, y);
    this.session.state.set({ hover: event });
    if (event < 0) return this.tip.hide();
    const { trace } = this.session;
    const { start_ns, end_ns, kind } = trace.events;
    const found = this.session.links.findingsOf(event).length;
    this.tip.show(pointer, [
      clean(eventName(trace, event), 80),
      `${duration(end_ns[event] - start_ns[event])} · ${KINDS[kind[event]] ?? 'event'}${found ? ` · evidence of ${plural(found, 'finding')}` : ''}`,
      clean(where(trace, event), 80)
    ]);
  }

  private leave(): void {
    this.session.state.set({ hover: -1 });
    this.tip.hide();
  }

  private firstOnScreen(): number {
    const { from, to } = this.session.state.now.range;
    const { byStart, axis } = this.session;
    return (
      byStart.find(e => axis.start[e] >= from && axis.start[e] <= to && (!this.litMask || this.litMask[e] === 1)) ??
      byStart[0]
    );
  }

  /** Next or previous event of the row of the selected one. */
  step(direction: 1 | -1): void {
    const { selection } = this.session.state.now;
    const current = selection?.kind === 'event' ? selection.id : this.firstOnScreen();
    const row = this.layout.rows[this.layout.rowOf[current] ?? -1];
    if (!row) return;
    const ids = this.litMask && selection?.kind !== 'event' ? row.ids.filter(e => this.litMask![e]) : row.ids;
    const next = ids[ids.indexOf(current) + (selection?.kind === 'event' ? direction : 0)];
    if (next === undefined) return;
    this.session.state.select({ kind: 'event', id: next });
    this.session.reveal([next]);
    this.scrollTo(next);
  }

  scrollTo(event: number): void {
    const row = this.layout.rows[this.layout.rowOf[event]];
    if (!row) return;
    const { scrollTop, clientHeight } = this.element;
    if (row.topPx < scrollTop || row.topPx + row.heightPx > scrollTop + clientHeight)
      this.element.scrollTop = row.topPx - clientHeight / 2;
  }
}
