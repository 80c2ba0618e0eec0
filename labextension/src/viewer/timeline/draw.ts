/** How does a row of events get onto the canvas? Rectangles batched by colour, names where they fit. */

import { clean } from '../format.js';
import { Pyramid } from '../pyramid.js';
import { Scale } from '../scale.js';
import { Theme } from '../theme.js';
import { eventName, Trace } from '../trace.js';

const MIN_LABEL_PX = 26;
const PROTECTED_PX = 2;
// Slivers that touch are drawn as one run: a million events are then a few hundred rectangles.
const RUN_PX = 2.5;
const TOUCH_PX = 0.5;

/** Rectangles of one frame, gathered by colour: setting a fill style costs more than filling. */
class Batch {
  private readonly rects = new Map<string, number[]>();

  add(colour: string, left: number, top: number, width: number, height: number): void {
    let list = this.rects.get(colour);
    if (!list) this.rects.set(colour, (list = []));
    const last = list.length - 4;
    const touches =
      width < RUN_PX && last >= 0 && list[last + 1] === top && left - list[last] - list[last + 2] < TOUCH_PX;
    if (touches) list[last + 2] = left + width - list[last];
    else list.push(left, top, width, height);
  }

  flush(ctx: CanvasRenderingContext2D): void {
    for (const [colour, list] of this.rects) {
      ctx.fillStyle = colour;
      for (let i = 0; i < list.length; i += 4) ctx.fillRect(list[i], list[i + 1], list[i + 2], list[i + 3]);
    }
  }
}

interface Label {
  event: number;
  left: number;
  width: number;
  top: number;
}

export interface RowPicture {
  topPx: number;
  heightPx: number;
  all: Pyramid;
  /** Drawn over the rest, and never narrower than PROTECTED_PX. */
  kept: Pyramid;
  /** Where given, only these keep their colour. */
  lit: Pyramid | null;
}

export class Painter {
  private readonly widths = new Map<number, number>();

  constructor(private readonly trace: Trace) {}

  /** Names shade the colour of their kind, where there is room to see a difference. */
  private colour(event: number, widthPx: number, theme: Theme): string {
    const { kind, name_str } = this.trace.events;
    const shades = theme.kinds[kind[event]] ?? theme.kinds[6];
    return widthPx < RUN_PX ? shades[1] : shades[Math.abs(name_str[event]) % shades.length];
  }

  rows(ctx: CanvasRenderingContext2D, rows: RowPicture[], scale: Scale, theme: Theme): void {
    const dim = rows.some(row => row.lit !== null);
    const labels: Label[] = [];
    const plain = new Batch();
    for (const row of rows) this.gather(plain, labels, row, row.all, scale, theme, false);
    ctx.globalAlpha = dim ? 0.3 : 1;
    plain.flush(ctx);
    if (dim) this.labels(ctx, labels.splice(0), theme.ink);
    ctx.globalAlpha = 1;
    const top = new Batch();
    const topLabels: Label[] = [];
    for (const row of rows) this.gather(top, topLabels, row, row.lit ?? (dim ? EMPTY : row.kept), scale, theme, true);
    top.flush(ctx);
    this.labels(ctx, dim ? topLabels : labels, theme.dark ? '#0b0e12' : '#0f1620');
  }

  private gather(
    batch: Batch,
    labels: Label[],
    row: RowPicture,
    pyramid: Pyramid,
    scale: Scale,
    theme: Theme,
    kept: boolean
  ): void {
    const { from, to } = scale.range;
    const [leftEdge, rightEdge] = [scale.leftPx, scale.leftPx + scale.widthPx];
    const smallest = kept ? PROTECTED_PX : 0.6;
    let lastRight = -Infinity;
    pyramid.query(from, to, scale.perPx, (event, start, end, count) => {
      const left = Math.max(leftEdge, scale.px(start));
      const right = Math.min(rightEdge, Math.max(scale.px(end), left + smallest));
      if (right <= lastRight + 0.4) return;
      const width = right - left > 3 ? right - left - 0.6 : right - left;
      batch.add(this.colour(event, width, theme), left, row.topPx + 1, width, row.heightPx - 2);
      lastRight = right;
      if (count === 1 && width >= MIN_LABEL_PX) labels.push({ event, left, width, top: row.topPx });
    });
  }

  private labels(ctx: CanvasRenderingContext2D, labels: Label[], ink: string): void {
    ctx.fillStyle = ink;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const { event, left, width, top } of labels) {
      const text = this.fit(ctx, event, width - 8);
      if (text) ctx.fillText(text, left + 4, top + 9.5);
    }
  }

  private fit(ctx: CanvasRenderingContext2D, event: number, roomPx: number): string {
    const name = clean(eventName(this.trace, event), 120);
    const key = this.trace.events.name_str[event];
    let width = this.widths.get(key);
    if (width === undefined) this.widths.set(key, (width = ctx.measureText(name).width));
    if (width <= roomPx) return name;
    const characters = Math.floor((0.9 * name.length * roomPx) / width) - 1;
    return characters > 1 ? `${name.slice(0, characters)}…` : '';
  }
}

const EMPTY = new Pyramid(new Int32Array(0), [], []);

const patterns = new Map<string, CanvasPattern | null>();

/** Stripes for time in which a device stood idle. */
export function hatch(ctx: CanvasRenderingContext2D, colour: string): CanvasPattern | null {
  if (!patterns.has(colour)) patterns.set(colour, makeHatch(ctx, colour));
  return patterns.get(colour)!;
}

function makeHatch(ctx: CanvasRenderingContext2D, colour: string): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  if (!pen) return null;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.4;
  pen.beginPath();
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
  }
  pen.stroke();
  return ctx.createPattern(tile, 'repeat');
}
