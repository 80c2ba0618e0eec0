/** Who holds the memory? The largest blocks one by one, the rest summed, coloured by role, on the axis of the timeline. */

import { context, h } from '../dom.js';
import { bytes, clean, duration } from '../format.js';
import { attachGestures } from '../gestures.js';
import { Range, Scale, ticks } from '../scale.js';
import { GUTTER_PX, MARGIN_PX, Session } from '../session.js';
import { Tip } from '../tip.js';
import { ROLES, siteName } from '../trace.js';
import { Block, layMemory, Memory } from './layout.js';

const TOP_PX = 20;
const SETTLE_MS = 150;

export class MemoryView {
  readonly canvas: HTMLCanvasElement;
  readonly layout: Memory;
  /** The same for the stretch on screen, in finer blocks. */
  private near: Memory | null = null;
  private timer = 0;
  private roles: number[] | null = null;
  private peakPx: { left: number; right: number } | null = null;
  private hovered = -1;

  constructor(
    private readonly session: Session,
    private readonly tip: Tip
  ) {
    this.layout = layMemory(session.trace);
    this.canvas = h('canvas', { class: 'memory', role: 'img', 'aria-label': this.summary() });
    attachGestures(this.canvas, session, {
      click: (x, y) => this.click(x, y),
      hover: (x, y, pointer) => this.hover(x, y, pointer),
      leave: () => {
        this.hovered = -1;
        tip.hide();
        session.invalidate();
      },
      scrolls: () => false
    });
    session.onDraw(() => this.draw());
    session.state.on(['range'], () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.refine(), SETTLE_MS) as unknown as number;
    });
  }

  /** When the picture rests on a part of the run, the blocks are chosen anew from what is alive there. */
  private refine(): void {
    const { from, to } = this.session.window_ns;
    const { extent } = this.session.axis;
    const { range } = this.session.state.now;
    if (this.layout.blocks.length === this.session.trace.buffers.rows || this.inside(this.near)) return;
    const wide = range.to - range.from > (extent.to - extent.from) / 2;
    const margin = (to - from) / 2;
    this.near = wide ? null : layMemory(this.session.trace, { from: from - margin, to: to + margin });
    this.session.invalidate();
  }

  private inside(memory: Memory | null): boolean {
    const { from, to } = this.session.window_ns;
    const within = memory?.within;
    return !!within && from >= within.from && to <= within.to && to - from > (within.to - within.from) / 8;
  }

  private get shown(): Memory {
    return this.near && this.inside(this.near) ? this.near : this.layout;
  }

  summary(): string {
    const { peak } = this.layout;
    return `Memory: ${bytes(peak.nbytes)} at its peak, after ${duration(peak.time_ns)}`;
  }

  private yScale(height: number): (nbytes: number) => number {
    const perByte = (height - TOP_PX - 3) / Math.max(1, this.layout.peak.nbytes);
    return nbytes => height - 2 - nbytes * perByte;
  }

  private draw(): void {
    const ctx = context(this.canvas);
    if (!ctx) return;
    const { theme } = this.session;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const scale = this.session.scale(width);
    const y = this.yScale(height);
    ctx.fillStyle = theme.background;
    ctx.fillRect(0, 0, width, height);
    ctx.font = '11px system-ui, sans-serif';
    ctx.fillStyle = theme.panel;
    ctx.fillRect(GUTTER_PX, TOP_PX - 2, scale.widthPx, height);
    this.drawBytes(ctx, y, scale.widthPx);
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER_PX, 0, scale.widthPx, height);
    ctx.clip();
    ctx.fillStyle = theme.line;
    for (const px of this.session.gridPx(scale)) ctx.fillRect(Math.round(px), TOP_PX - 2, 1, height);
    this.drawRest(ctx, scale, y);
    this.drawBlocks(ctx, scale, y);
    this.drawPeak(ctx, scale, y);
    this.session.drawMarks(ctx, scale, height);
    ctx.restore();
    this.drawLegend(ctx, width);
  }

  private drawBytes(ctx: CanvasRenderingContext2D, y: (nbytes: number) => number, width: number): void {
    const { theme } = this.session;
    const { peak } = this.layout;
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, peak.nbytes)) / 10);
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const value of ticks({ from: 0, to: peak.nbytes / unit }, 3).values) {
      ctx.fillStyle = theme.line;
      ctx.fillRect(GUTTER_PX, Math.round(y(value * unit)), width, 1);
      ctx.fillStyle = theme.muted;
      ctx.fillText(
        value ? `${value}\u202f${['B', 'KiB', 'MiB', 'GiB', 'TiB'][Math.round(Math.log2(unit) / 10)]}` : '0',
        GUTTER_PX - 10,
        Math.min(y(value * unit), this.canvas.clientHeight - 6)
      );
    }
    const { buffers, meta } = this.session.trace;
    ctx.fillStyle = theme.muted;
    ctx.fillText(
      meta.recorded_buffers > buffers.rows ? 'memory (in part)' : 'memory',
      GUTTER_PX - 10,
      9,
      GUTTER_PX - 14
    );
  }

  /** Small buffers: one column per pixel, each at the highest total it covers, stacked by role over the blocks. */
  private drawRest(ctx: CanvasRenderingContext2D, scale: Scale, y: (nbytes: number) => number): void {
    const { rest } = this.shown;
    if (!rest.total.length) return;
    const { theme, axis } = this.session;
    const columns = Math.ceil(scale.widthPx);
    const heights = this.blockHeights(scale, columns);
    let last = rest.at(axis.time(scale.range.from));
    const stacks: Float64Array[] = [];
    for (let c = 0; c < columns; c++) {
      const next = rest.at(axis.time(scale.value(scale.leftPx + c + 1)));
      const index = next > last ? rest.highest(Math.max(0, last), next) : next;
      stacks.push(index === last && c > 0 && next === last ? stacks[c - 1] : rest.byRole(index));
      last = next;
    }
    const base = heights.slice();
    ROLES.forEach((_, role) => {
      ctx.fillStyle = theme.roles[role];
      for (let c = 0; c < columns;) {
        const [size, bottom] = [stacks[c][role], base[c]];
        let end = c + 1;
        while (end < columns && stacks[end][role] === size && base[end] === bottom) end++;
        if (size > 0) ctx.fillRect(scale.leftPx + c, y(bottom + size), end - c, y(bottom) - y(bottom + size));
        for (; c < end; c++) base[c] += size;
      }
    });
  }

  private blockHeights(scale: Scale, columns: number): Float64Array {
    const heights = new Float64Array(columns);
    const { nbytes } = this.session.trace.buffers;
    for (const block of this.shown.blocks) {
      const [from, to] = this.stretch(block, scale).map(px =>
        Math.min(columns, Math.max(0, Math.round(px - scale.leftPx)))
      );
      for (let c = from; c < to; c++) heights[c] += nbytes[block.buffer];
    }
    return heights;
  }

  private stretch(block: Block, scale: Scale): [number, number] {
    const { axis } = this.session;
    return [
      scale.px(axis.of(block.time_ns[0])),
      block.end_ns === Infinity ? scale.leftPx + scale.widthPx : scale.px(axis.of(block.end_ns))
    ];
  }

  private drawBlocks(ctx: CanvasRenderingContext2D, scale: Scale, y: (nbytes: number) => number): void {
    const { theme, trace, state } = this.session;
    const { selection } = state.now;
    const chosen =
      selection?.kind === 'buffer'
        ? [selection.id]
        : selection?.kind === 'finding'
          ? (trace.findings[selection.id]?.buffers ?? [])
          : [];
    const chosenSet = new Set(chosen);
    ctx.lineWidth = 0.75;
    for (const block of this.shown.blocks) {
      const [left, right] = this.stretch(block, scale);
      if (right < GUTTER_PX || left > scale.leftPx + scale.widthPx) continue;
      this.trace(ctx, block, scale, y, right);
      ctx.globalAlpha = chosenSet.size && !chosenSet.has(block.buffer) ? 0.35 : 1;
      ctx.fillStyle = theme.roles[trace.buffers.role[block.buffer]] ?? theme.faint;
      ctx.fill();
      ctx.strokeStyle = block.buffer === this.hovered || chosenSet.has(block.buffer) ? theme.ink : theme.background;
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  /** The outline of a block: along its upper edge to the right, along the lower one back. */
  private trace(
    ctx: CanvasRenderingContext2D,
    block: Block,
    scale: Scale,
    y: (nbytes: number) => number,
    right: number
  ): void {
    const size = this.session.trace.buffers.nbytes[block.buffer];
    const xs = block.time_ns.map(time => scale.px(this.session.axis.of(time)));
    xs.push(right);
    ctx.beginPath();
    for (let i = 0; i < block.base.length; i++) {
      ctx.lineTo(xs[i], y(block.base[i] + size));
      ctx.lineTo(xs[i + 1], y(block.base[i] + size));
    }
    for (let i = block.base.length - 1; i >= 0; i--) {
      ctx.lineTo(xs[i + 1], y(block.base[i]));
      ctx.lineTo(xs[i], y(block.base[i]));
    }
    ctx.closePath();
  }

  private drawPeak(ctx: CanvasRenderingContext2D, scale: Scale, y: (nbytes: number) => number): void {
    const { theme, axis } = this.session;
    const { peak } = this.layout;
    const px = scale.px(axis.of(peak.time_ns));
    this.peakPx = null;
    if (!peak.nbytes || px < GUTTER_PX - 1 || px > scale.leftPx + scale.widthPx) return;
    ctx.fillStyle = theme.ink;
    ctx.beginPath();
    ctx.arc(px, y(peak.nbytes), 2.5, 0, 7);
    ctx.fill();
    const text = `peak ${bytes(peak.nbytes)}`;
    const width = ctx.measureText(text).width;
    const left = Math.min(px + 6, scale.leftPx + scale.widthPx - width - 4);
    this.peakPx = { left, right: left + width };
    ctx.textAlign = 'left';
    ctx.fillText(text, left, 9);
  }

  /** The roles that are there, on the side of the peak with more room; those that do not fit are left out. */
  private drawLegend(ctx: CanvasRenderingContext2D, width: number): void {
    const { theme, trace } = this.session;
    const present = (this.roles ??= [...new Set(trace.buffers.role)].sort());
    const [from, to] = [GUTTER_PX + 2, width - MARGIN_PX];
    const peak = this.peakPx ?? { left: to, right: to };
    const onLeft = peak.left - from > to - peak.right;
    const widths = present.map(role => ctx.measureText(ROLES[role]).width + 24);
    const total = widths.reduce((sum, w) => sum + w, 0);
    const end = onLeft ? peak.left - 8 : to + 12;
    let left = onLeft ? from : Math.max(peak.right + 12, to + 12 - total);
    ctx.textAlign = 'left';
    present.forEach((role, i) => {
      if (left + widths[i] - 12 > end) return;
      ctx.fillStyle = theme.roles[role];
      ctx.fillRect(left, 5, 8, 8);
      ctx.fillStyle = theme.muted;
      ctx.fillText(ROLES[role], left + 12, 9.5);
      left += widths[i];
    });
  }

  private blockAt(x: number, y: number): number {
    const scale = this.session.scale(this.canvas.clientWidth);
    const time = this.session.axis.time(scale.value(x));
    const height = this.canvas.clientHeight;
    const perByte = (height - TOP_PX - 3) / Math.max(1, this.layout.peak.nbytes);
    const level = (height - 2 - y) / perByte;
    for (const block of this.shown.blocks) {
      if (time < block.time_ns[0] || time >= block.end_ns) continue;
      let i = block.base.length - 1;
      while (i > 0 && block.time_ns[i] > time) i--;
      if (level >= block.base[i] && level < block.base[i] + this.session.trace.buffers.nbytes[block.buffer])
        return block.buffer;
    }
    return -1;
  }

  private click(x: number, y: number): void {
    if (x < GUTTER_PX) return;
    const buffer = this.blockAt(x, y);
    const time_ns = this.session.axis.time(this.session.scale(this.canvas.clientWidth).value(x));
    this.session.state.set({
      selection: buffer >= 0 ? { kind: 'buffer', id: buffer } : { kind: 'moment', time_ns },
      panel: 'details'
    });
  }

  private hover(x: number, y: number, pointer: PointerEvent): void {
    if (x < GUTTER_PX) return this.tip.hide();
    const { trace, axis } = this.session;
    const buffer = this.blockAt(x, y);
    if (buffer !== this.hovered) {
      this.hovered = buffer;
      this.session.invalidate();
    }
    const range: Range = this.session.scale(this.canvas.clientWidth).range;
    const time = Math.min(axis.time(range.to), axis.time(this.session.scale(this.canvas.clientWidth).value(x)));
    const index = this.layout.whole.at(time);
    const alive = `${bytes(index >= 0 ? this.layout.whole.total[index] : 0)} alive after ${duration(time)}`;
    if (buffer < 0) return this.tip.show(pointer, [alive, 'click to see who holds it']);
    const { nbytes, role, alloc_event } = trace.buffers;
    const maker = alloc_event[buffer];
    this.tip.show(pointer, [
      `${bytes(nbytes[buffer])} ${ROLES[role[buffer]]}`,
      maker >= 0
        ? clean(
            `${trace.strings[trace.events.name_str[maker]] ?? ''}  ${siteName(trace, trace.events.site[maker])}`,
            90
          )
        : 'older than the recording',
      alive
    ]);
  }
}
