/** Which few rectangles stand for a million events at this zoom? */

const FAN = 8;

interface Level {
  /** Latest end in each block of FAN^level consecutive events. */
  end: Float64Array;
  /** The longest event of the block, which gives it its colour and name. */
  longest: Int32Array;
}

/** `count` events lie in [start, end]; `event` is the only one or the longest. */
export type Emit = (event: number, start: number, end: number, count: number) => void;

/** A tree of blocks over events sorted by their start; a query stops at blocks that are narrower than a pixel. */
export class Pyramid {
  private readonly levels: Level[] = [];

  constructor(
    readonly ids: Int32Array,
    private readonly start: ArrayLike<number>,
    private readonly end: ArrayLike<number>
  ) {
    for (let below = ids.length; below > 1; below = Math.ceil(below / FAN))
      this.levels.push(this.build(Math.ceil(below / FAN), below));
  }

  private build(blocks: number, below: number): Level {
    const level = { end: new Float64Array(blocks), longest: new Int32Array(blocks) };
    const lower = this.levels.at(-1);
    for (let block = 0; block < blocks; block++) {
      let [latest, longest, length] = [-Infinity, -1, -1];
      for (let child = block * FAN; child < Math.min(below, (block + 1) * FAN); child++) {
        const event = lower ? lower.longest[child] : this.ids[child];
        const end = lower ? lower.end[child] : this.end[event];
        if (end > latest) latest = end;
        if (this.end[event] - this.start[event] > length) {
          length = this.end[event] - this.start[event];
          longest = event;
        }
      }
      level.end[block] = latest;
      level.longest[block] = longest;
    }
    return level;
  }

  /** Visits, in order of start, what lies in [from, to]; blocks not wider than `resolution` come as one. */
  query(from: number, to: number, resolution: number, emit: Emit): void {
    if (this.ids.length) this.visit(this.levels.length, 0, FAN ** this.levels.length, from, to, resolution, emit);
  }

  private visit(
    height: number,
    block: number,
    size: number,
    from: number,
    to: number,
    resolution: number,
    emit: Emit
  ): void {
    const first = block * size;
    if (first >= this.ids.length) return;
    const start = this.start[this.ids[first]];
    const event = height === 0 ? this.ids[first] : this.levels[height - 1].longest[block];
    const end = height === 0 ? this.end[event] : this.levels[height - 1].end[block];
    if (start > to || end < from) return;
    if (height === 0) emit(event, start, end, 1);
    else if (end - start <= resolution) emit(event, start, end, Math.min(size, this.ids.length - first));
    else
      for (let child = 0; child < FAN; child++)
        this.visit(height - 1, block * FAN + child, size / FAN, from, to, resolution, emit);
  }
}
