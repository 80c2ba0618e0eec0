/** Where on the screen does a value lie, and which values deserve a tick? */

export interface Range {
  from: number;
  to: number;
}

export class Scale {
  readonly perPx: number;

  constructor(
    readonly range: Range,
    readonly leftPx: number,
    readonly widthPx: number
  ) {
    this.perPx = (range.to - range.from) / Math.max(1, widthPx);
  }

  px(value: number): number {
    return this.leftPx + (value - this.range.from) / this.perPx;
  }

  value(px: number): number {
    return this.range.from + (px - this.leftPx) * this.perPx;
  }
}

/** Steps of 1, 2 or 5 times a power of ten, about `count` of them. */
export function ticks(range: Range, count: number): { step: number; values: number[] } {
  const raw = (range.to - range.from) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return { step: 1, values: [] };
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find(m => m * power >= raw) ?? 10);
  const values: number[] = [];
  for (let i = Math.ceil(range.from / step); i * step <= range.to && values.length < 1000; i++) values.push(i * step);
  return { step, values };
}

/** A range inside `extent`, no narrower than `smallest`. */
export function clampRange(range: Range, extent: Range, smallest: number): Range {
  const width = Math.min(Math.max(range.to - range.from, smallest), Math.max(extent.to - extent.from, smallest));
  const centre = (range.from + range.to) / 2;
  const from = Math.min(Math.max(centre - width / 2, extent.from), Math.max(extent.from, extent.to - width));
  return { from, to: from + width };
}

export function zoomed(range: Range, factor: number, at: number): Range {
  return { from: at - (at - range.from) * factor, to: at + (range.to - at) * factor };
}
