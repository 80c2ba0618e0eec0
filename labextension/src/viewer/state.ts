/** What is the person looking at? One place, which every view reads and listens to. */

import { Range } from './scale.js';

export type Selection =
  | { kind: 'event'; id: number }
  | { kind: 'finding'; id: number }
  | { kind: 'buffer'; id: number }
  | { kind: 'site'; id: number }
  | { kind: 'moment'; time_ns: number };

export type Panel = 'details' | 'source' | 'table' | 'graph' | 'compare';
export const PANELS: Panel[] = ['details', 'source', 'table', 'graph', 'compare'];

export interface Values {
  range: Range;
  selection: Selection | null;
  /** A stretch marked with shift and drag; tables sum over it. */
  area: Range | null;
  hover: number;
  marks: number[];
  order: boolean;
  panel: Panel;
  query: string;
}

type Listener = () => void;

export class State {
  private readonly listeners: { keys: (keyof Values)[]; call: Listener }[] = [];
  private readonly past: (Selection | null)[] = [];

  constructor(readonly now: Values) {}

  on(keys: (keyof Values)[], call: Listener): void {
    this.listeners.push({ keys, call });
  }

  set(patch: Partial<Values>): void {
    const changed = (Object.keys(patch) as (keyof Values)[]).filter(key => !same(this.now[key], patch[key]));
    if (!changed.length) return;
    if (changed.includes('selection')) this.past.push(this.now.selection);
    Object.assign(this.now, patch);
    for (const { keys, call } of this.listeners) if (keys.some(key => changed.includes(key))) call();
  }

  select(selection: Selection | null): void {
    this.set({ selection });
  }

  /** Back to what was selected before. */
  back(): void {
    const selection = this.past.pop();
    if (selection === undefined) return;
    this.set({ selection });
    this.past.pop();
  }
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
