/** Which profiles lie in the outputs of the open notebooks? */

import { ICodeCellModel } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ISignal, Signal } from '@lumino/signaling';
import { LineHeat, Links } from '../viewer/links.js';
import { heatBySite } from '../viewer/source/heat.js';
import { readTrace, str, Trace } from '../viewer/trace.js';
import { cellBody, profiledBody } from './source.js';

export const MIME_TYPE = 'application/vnd.gradviz.v1+json';

/** What Python puts under MIME_TYPE: `.gradviz` bytes as base64. */
export interface ProfileData {
  profile: string;
  before?: string;
  height_px?: number;
}

export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64.replace(/\s/g, '')), character => character.charCodeAt(0));
}

export interface NotebookProfile {
  trace: Trace;
  cell: ICodeCellModel;
}

/** Line of a cell -> its cost. */
export type Heat = Map<number, LineHeat>;

const traces = new WeakMap<object, Promise<Trace>>();

function traceOf(data: ProfileData): Promise<Trace> {
  let trace = traces.get(data);
  if (!trace) traces.set(data, (trace = readTrace(bytesOf(data.profile))));
  return trace;
}

/** Follows the outputs of every open notebook. */
export class Profiles {
  private readonly byPanel = new Map<NotebookPanel, NotebookProfile[]>();
  private readonly heat = new Map<string, Heat>();
  private readonly signal = new Signal<this, void>(this);

  constructor(tracker: INotebookTracker) {
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    tracker.forEach(panel => this.follow(panel));
  }

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  of(panel: NotebookPanel | null): NotebookProfile[] {
    return (panel && this.byPanel.get(panel)) ?? [];
  }

  /** The cost of each line of a cell with exactly this source, null when no profile has seen it. */
  heatOf(source: string): Heat | null {
    const { text, offset } = cellBody(source);
    const heat = this.heat.get(text);
    if (!heat || offset === 0) return heat ?? null;
    return new Map([...heat].map(([line, cost]) => [line + offset, cost]));
  }

  /** Tells all who draw heat to look again. */
  refresh(): void {
    this.signal.emit();
  }

  private follow(panel: NotebookPanel): void {
    let waiting = false;
    const followed = new WeakSet<ICodeCellModel>();
    const later = (): void => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => {
        waiting = false;
        if (!panel.isDisposed) void this.read(panel, followed, later);
      }, 50);
    };
    panel.disposed.connect(() => {
      this.byPanel.delete(panel);
      this.index();
    });
    void panel.context.ready.then(() => {
      panel.model?.cells.changed.connect(later);
      later();
    });
  }

  private async read(panel: NotebookPanel, followed: WeakSet<ICodeCellModel>, later: () => void): Promise<void> {
    const found: Promise<NotebookProfile | null>[] = [];
    for (const model of panel.model?.cells ?? []) {
      if (model.type !== 'code') continue;
      const cell = model as ICodeCellModel;
      if (!followed.has(cell)) {
        followed.add(cell);
        cell.outputs.changed.connect(later);
      }
      for (let i = 0; i < cell.outputs.length; i++) {
        const data = cell.outputs.get(i).data[MIME_TYPE] as unknown as ProfileData | undefined;
        if (data)
          found.push(
            traceOf(data).then(
              trace => ({ trace, cell }),
              () => null
            )
          ); // a damaged one says so where it is shown
      }
    }
    const profiles = (await Promise.all(found)).filter(p => p !== null);
    const old = this.byPanel.get(panel) ?? [];
    if (panel.isDisposed || (profiles.length === old.length && profiles.every((p, i) => p.trace === old[i].trace)))
      return;
    this.byPanel.set(panel, profiles);
    this.index();
  }

  /** Later profiles of the same source win. */
  private index(): void {
    this.heat.clear();
    for (const profiles of this.byPanel.values()) for (const { trace } of profiles) this.indexTrace(trace);
    this.signal.emit();
  }

  private indexTrace(trace: Trace): void {
    const { cell, file_str, line } = trace.sites;
    const bySource = new Map<string, Heat>();
    for (const heat of heatBySite(trace, new Links(trace))) {
      const source = cell[heat.site] >= 0 ? trace.sources[str(trace, file_str[heat.site])] : undefined;
      if (source === undefined || heat.forward_ns + heat.backward_ns === 0) continue;
      const { text, offset } = profiledBody(source);
      const lines = bySource.get(text) ?? new Map<number, LineHeat>();
      const at = line[heat.site] - offset;
      const known = lines.get(at);
      if (!known || known.forward_ns + known.backward_ns < heat.forward_ns + heat.backward_ns) lines.set(at, heat);
      bySource.set(text, lines);
    }
    for (const [text, lines] of bySource) this.heat.set(text, lines);
  }
}
