/** Which lines of the profiled cells are hot? Marks beside them; no gutter where there are none, none after an edit. */

import { Compartment, Extension } from '@codemirror/state';
import { EditorView, gutter, GutterMarker, ViewPlugin, ViewUpdate } from '@codemirror/view';
import { bytes, duration, plural } from '../viewer/format.js';
import { LineHeat } from '../viewer/links.js';
import { Heat, Profiles } from './profiles.js';

class HeatMarker extends GutterMarker {
  constructor(
    private readonly heat: LineHeat,
    private readonly hottest_ns: number
  ) {
    super();
  }

  override eq(other: HeatMarker): boolean {
    return other.heat === this.heat && other.hottest_ns === this.hottest_ns;
  }

  override toDOM(): HTMLElement {
    const { forward_ns, backward_ns, copied_nbytes, syncs, wait_ns } = this.heat;
    const mark = document.createElement('div');
    mark.className = 'gv-heat-mark';
    for (const [kind, ns] of [
      ['forward', forward_ns],
      ['backward', backward_ns]
    ] as const) {
      const bar = mark.appendChild(document.createElement('span'));
      bar.className = `gv-heat-${kind}`;
      bar.style.opacity = String(ns > 0 ? 0.15 + (0.85 * ns) / this.hottest_ns : 0);
    }
    if (syncs > 0) mark.classList.add('gv-heat-sync');
    mark.title = [
      `forward ${duration(forward_ns)}`,
      `backward ${duration(backward_ns)}`,
      copied_nbytes > 0 && `copied ${bytes(copied_nbytes)}`,
      syncs > 0 && `${plural(syncs, 'sync')}, ${duration(wait_ns)} waited`
    ]
      .filter(Boolean)
      .join('\n');
    return mark;
  }
}

function marks(heat: Heat): Extension {
  const hottest_ns = Math.max(1, ...[...heat.values()].map(line => Math.max(line.forward_ns, line.backward_ns)));
  return gutter({
    class: 'gv-heat',
    lineMarker: (view, block) => {
      const line = heat.get(view.state.doc.lineAt(block.from).number);
      return line ? new HeatMarker(line, hottest_ns) : null;
    }
  });
}

/** For the editor of one code cell. `enabled` is asked each time, so that the setting acts at once. */
export function heatGutter(profiles: Profiles, enabled: () => boolean): Extension {
  const slot = new Compartment();
  const plugin = ViewPlugin.define((view: EditorView) => {
    let shown: Heat | null = null;
    let gone = false;
    const refresh = (): void => {
      if (gone) return;
      const heat = enabled() ? profiles.heatOf(view.state.doc.toString()) : null;
      if (heat === shown) return;
      shown = heat;
      view.dispatch({ effects: slot.reconfigure(heat ? marks(heat) : []) });
    };
    const later = (): void => queueMicrotask(refresh); // a view may not be changed while it updates
    profiles.changed.connect(later);
    later();
    return {
      update: (update: ViewUpdate) => void (update.docChanged && later()),
      destroy: () => {
        gone = true;
        profiles.changed.disconnect(later);
      }
    };
  });
  return [slot.of([]), plugin];
}
