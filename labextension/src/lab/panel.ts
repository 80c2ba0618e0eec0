/** What did the profiles of this notebook find? A list beside it; a click goes to the line. */

import { INotebookTracker } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import { h } from '../viewer/dom.js';
import { cost } from '../viewer/findings/view.js';
import { bytes, clean, duration, plural } from '../viewer/format.js';
import { layMemory } from '../viewer/memory/layout.js';
import { Finding, str } from '../viewer/trace.js';
import { profileIcon } from './icon.js';
import { goTo, placeOf } from './navigate.js';
import { NotebookProfile, Profiles } from './profiles.js';

const MAX_FINDINGS = 5;

export class ProfilesPanel extends Widget {
  constructor(
    private readonly profiles: Profiles,
    private readonly tracker: INotebookTracker
  ) {
    super();
    this.id = 'gradviz-profiles';
    this.title.icon = profileIcon;
    this.title.caption = 'Gradient profiles of this notebook';
    this.addClass('gv-panel');
    profiles.changed.connect(this.render, this);
    tracker.currentChanged.connect(this.render, this);
    this.render();
  }

  private render(): void {
    const found = this.profiles.of(this.tracker.currentWidget);
    const empty = h(
      'p',
      { class: 'gv-quiet' },
      this.tracker.currentWidget
        ? 'No profiles yet. Put %%gradprofile at the top of a cell, after %load_ext gradviz.'
        : 'Open a notebook to see its profiles.'
    );
    this.node.replaceChildren(
      h('h2', {}, 'Gradient profiles'),
      ...(found.length ? found.map(profile => this.section(profile)) : [empty])
    );
  }

  private section(profile: NotebookProfile): HTMLElement {
    const { trace, cell } = profile;
    const { meta } = trace;
    const peak = layMemory(trace).peak.nbytes;
    const facts = [
      duration(meta.duration_ns),
      peak > 0 && `peak ${bytes(peak)}`,
      plural(meta.recorded, 'event'),
      meta.dropped > 0 && `${meta.dropped} dropped`,
      meta.simulated && 'simulated'
    ]
      .filter(Boolean)
      .join(' · ');
    const show = (): void => this.showCell(profile);
    const worst = trace.findings.slice(0, MAX_FINDINGS);
    return h(
      'section',
      {},
      h(
        'button',
        { class: 'gv-title', type: 'button', click: show },
        [...new Set([clean(meta.label, 60) || 'Profile', cell.executionCount && `In[${cell.executionCount}]`])]
          .filter(Boolean)
          .join(' · ')
      ),
      h('p', { class: 'gv-quiet' }, facts),
      worst.length
        ? h('ol', {}, ...worst.map(finding => this.finding(profile, finding)))
        : h('p', { class: 'gv-quiet' }, 'No waste found.')
    );
  }

  private finding(profile: NotebookProfile, finding: Finding): HTMLElement {
    const go = (): void => {
      const place = placeOf(profile.trace, finding.site);
      const panel = this.tracker.currentWidget;
      if (!place || !panel) return this.showCell(profile);
      void goTo(panel, place, profile.trace.sources[place.file]).then(done => void (done || this.showCell(profile)));
    };
    return h(
      'li',
      { class: `gv-${finding.harmless ? 'harmless' : 'finding'}` },
      h(
        'button',
        { type: 'button', click: go },
        h('b', {}, cost(finding)),
        h('span', {}, clean(finding.title, 140)),
        h('span', { class: 'gv-quiet' }, clean(finding.where || str(profile.trace, -1), 80))
      )
    );
  }

  private showCell({ cell }: NotebookProfile): void {
    const notebook = this.tracker.currentWidget?.content;
    const index = notebook?.widgets.findIndex(widget => widget.model === cell) ?? -1;
    if (!notebook || index < 0) return;
    notebook.activeCellIndex = index;
    void notebook.scrollToItem(index, 'smart');
  }
}
