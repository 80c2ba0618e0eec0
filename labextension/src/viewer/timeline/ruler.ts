/** Where in the whole run is the stretch on screen? A minimap, and under it the ticks of the axis. */

import { context, h } from '../dom.js';
import { count, duration } from '../format.js';
import { isBackward, isHostWork } from '../links.js';
import { Range, Scale, ticks } from '../scale.js';
import { GUTTER_PX, MARGIN_PX, Session } from '../session.js';
import { Kind } from '../trace.js';

const MAP_PX = 26;
const COLUMNS = 1024;

export class RulerView {
  readonly canvas = h('canvas', { class: 'ruler', 'aria-hidden': 'true' });
  private readonly map = h('canvas');
  private density: { axis: string; forward: Float32Array; backward: Float32Array; alarm: Uint8Array } | null = null;

  constructor(private readonly session: Session) {
    session.onDraw(() => this.draw());
    this.listen();
  }

  /** Drag in the minimap moves the window or draws a new one; drag over the ticks zooms to what it covers. */
  private listen(): void {
    let drag: { x: number; map: boolean; grip: number | null } | null = null;
    const whole = (): Scale => this.whole(this.canvas.clientWidth);
    this.canvas.addEventListener('pointerdown', event => {
      const map = event.offsetY < MAP_PX;
      const { range } = this.session.state.now;
      const value = whole().value(event.offsetX);
      const inside =
        value >= range.from &&
        value <= range.to &&
        range.to - range.from < 0.98 * (whole().range.to - whole().range.from);
      drag = { x: event.offsetX, map, grip: map && inside ? value - range.from : null };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', event => {
      if (!drag) return;
      const scale = drag.map ? whole() : this.session.scale(this.canvas.clientWidth);
      if (drag.grip !== null) {
        const { range } = this.session.state.now;
        const from = scale.value(event.offsetX) - drag.grip;
        this.session.setRange({ from, to: from + range.to - range.from });
      } else if (Math.abs(event.offsetX - drag.x) > 3) {
        const [a, b] = [scale.value(drag.x), scale.value(event.offsetX)];
        this.session.state.set({ area: { from: Math.min(a, b), to: Math.max(a, b) } });
      }
    });
    this.canvas.addEventListener('pointerup', event => {
      const { area, range } = this.session.state.now;
      if (drag && drag.grip === null && area) {
        this.session.state.set({ area: null });
        this.session.glide(area);
      } else if (drag?.map && Math.abs(event.offsetX - drag.x) < 3) {
        const half = (range.to - range.from) / 2;
        const centre = whole().value(event.offsetX);
        this.session.glide({ from: centre - half, to: centre + half });
      }
      drag = null;
    });
    this.canvas.addEventListener('dblclick', () => this.session.glide(this.session.axis.extent));
  }

  private whole(widthPx: number): Scale {
    return new Scale(this.session.axis.extent, GUTTER_PX, Math.max(1, widthPx - GUTTER_PX - MARGIN_PX));
  }

  private draw(): void {
    const ctx = context(this.canvas);
    if (!ctx) return;
    const { theme, state } = this.session;
    const width = this.canvas.clientWidth;
    ctx.fillStyle = theme.background;
    ctx.fillRect(0, 0, width, this.canvas.clientHeight);
    this.drawMap(ctx, this.whole(width), state.now.range);
    this.drawTicks(ctx, this.session.scale(width));
  }

  private drawMap(ctx: CanvasRenderingContext2D, scale: Scale, range: Range): void {
    const { theme } = this.session;
    ctx.drawImage(this.mapPicture(scale.widthPx), scale.leftPx, 0, scale.widthPx, MAP_PX);
    const [left, right] = [
      Math.max(scale.leftPx, scale.px(range.from)),
      Math.min(scale.leftPx + scale.widthPx, scale.px(range.to))
    ];
    ctx.globalAlpha = 0.72;
    ctx.fillStyle = theme.background;
    ctx.fillRect(scale.leftPx, 2, left - scale.leftPx, MAP_PX - 4);
    ctx.fillRect(right, 2, scale.leftPx + scale.widthPx - right, MAP_PX - 4);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = theme.muted;
    ctx.lineWidth = 1;
    ctx.strokeRect(Math.round(left) + 0.5, 1.5, Math.max(2, Math.round(right - left) - 1), MAP_PX - 3);
  }

  /** The whole run, drawn once for each width, theme and axis. */
  private mapPicture(widthPx: number): HTMLCanvasElement {
    const { theme, axis } = this.session;
    const key = `${widthPx} ${theme.dark} ${axis.name}`;
    if (this.map.dataset.key === key) return this.map;
    const ratio = globalThis.devicePixelRatio || 1;
    this.map.dataset.key = key;
    [this.map.width, this.map.height] = [Math.ceil(widthPx * ratio), Math.ceil(MAP_PX * ratio)];
    const ctx = this.map.getContext('2d', { alpha: false });
    if (!ctx) return this.map;
    ctx.scale(ratio, ratio);
    const { forward, backward, alarm } = this.densities();
    const step = widthPx / COLUMNS;
    ctx.fillStyle = theme.background;
    ctx.fillRect(0, 0, widthPx, MAP_PX);
    ctx.fillStyle = theme.panel;
    ctx.fillRect(0, 2, widthPx, MAP_PX - 4);
    const bars = (values: Float32Array, colour: string, base: Float32Array | null): void => {
      ctx.fillStyle = colour;
      for (let c = 0; c < COLUMNS; c++) {
        const [low, high] = [base ? base[c] : 0, values[c]].map(v => v * (MAP_PX - 8));
        if (high > 0) ctx.fillRect(c * step, MAP_PX - 2 - low - high, step + 0.5, high);
      }
    };
    bars(forward, theme.kinds[Kind.CALL][1], null);
    bars(backward, theme.kinds[Kind.PULLBACK][1], forward);
    ctx.fillStyle = theme.kinds[Kind.SYNC][0];
    for (let c = 0; c < COLUMNS; c++) if (alarm[c]) ctx.fillRect(c * step, 2, Math.max(1, step), 3);
    return this.map;
  }

  /** Share of each column of the whole run in which the threads were at work. */
  private densities(): NonNullable<RulerView['density']> {
    const { axis, trace } = this.session;
    if (this.density?.axis === axis.name) return this.density;
    const density = {
      axis: axis.name,
      forward: new Float32Array(COLUMNS),
      backward: new Float32Array(COLUMNS),
      alarm: new Uint8Array(COLUMNS)
    };
    const perColumn = (axis.extent.to - axis.extent.from) / COLUMNS;
    for (let e = 0; e < trace.events.rows; e++) {
      if (!isHostWork(trace, e)) continue;
      const [a, b] = [(axis.start[e] - axis.extent.from) / perColumn, (axis.end[e] - axis.extent.from) / perColumn];
      const column = Math.min(COLUMNS - 1, Math.max(0, Math.floor(a)));
      if (trace.events.kind[e] === Kind.SYNC) density.alarm[column] = 1;
      if (trace.events.parent[e] >= 0 && isHostWork(trace, trace.events.parent[e])) continue;
      const target = isBackward(trace, e) ? density.backward : density.forward;
      for (let c = column; c < COLUMNS && c < b; c++) target[c] += Math.max(0, Math.min(b, c + 1) - Math.max(a, c));
    }
    for (let c = 0; c < COLUMNS; c++) {
      const sum = density.forward[c] + density.backward[c];
      if (sum > 1) [density.forward[c], density.backward[c]] = [density.forward[c] / sum, density.backward[c] / sum];
    }
    return (this.density = density);
  }

  private drawTicks(ctx: CanvasRenderingContext2D, scale: Scale): void {
    const { theme, axis } = this.session;
    const { values } = ticks(scale.range, scale.widthPx / 110);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    const height = this.canvas.clientHeight;
    for (const value of values) {
      const px = Math.round(scale.px(value));
      ctx.fillStyle = theme.faint;
      ctx.fillRect(px, MAP_PX + 4, 1, height - MAP_PX);
      ctx.fillStyle = theme.muted;
      const label = axis.name === 'time' ? tickLabel(value, values) : count(value);
      if (px + ctx.measureText(label).width < scale.leftPx + scale.widthPx + MARGIN_PX)
        ctx.fillText(label, px + 4, MAP_PX + 12);
    }
    ctx.textAlign = 'right';
    ctx.fillStyle = theme.muted;
    ctx.fillText(axis.name === 'time' ? 'time' : 'event', GUTTER_PX - 10, MAP_PX + 12);
  }
}

/** Enough digits to tell neighbouring ticks apart. */
function tickLabel(value: number, values: number[]): string {
  const step = values.length > 1 ? values[1] - values[0] : value;
  const [unit, name] = (
    [
      [1e9, 's'],
      [1e6, 'ms'],
      [1e3, 'µs'],
      [1, 'ns']
    ] as const
  ).find(([u]) => Math.max(Math.abs(values.at(-1)!), step) >= u) ?? [1, 'ns'];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return digits > 6 ? duration(value) : `${(value / unit).toFixed(digits)}\u202f${name}`;
}
