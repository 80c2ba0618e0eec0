/** Which of my lines is it? The user's source with its cost beside each line. */

import { h } from '../dom.js';
import { bytes, clean, count, duration } from '../format.js';
import { LineHeat } from '../links.js';
import { Session } from '../session.js';
import { heatBySite, SourceFile, sourceFiles } from './heat.js';

const NEAR = 4;
const MAX_WHOLE = 200;

export class SourceView {
  readonly element = h('div', { class: 'source' });
  private files: SourceFile[] | null = null;
  private hottest_ns = 1;

  constructor(private readonly session: Session) {
    session.state.on(['selection', 'panel'], () => this.render());
    this.render();
  }

  private render(): void {
    if (this.session.state.now.panel !== 'source') return;
    if (!this.files) {
      const heat = heatBySite(this.session.trace, this.session.links);
      this.hottest_ns = Math.max(1, ...heat.map(line => Math.max(line.forward_ns, line.backward_ns)));
      this.files = sourceFiles(this.session.trace, heat);
      this.element.replaceChildren(
        ...(this.files.length
          ? this.files.slice(0, 50).map(file => this.file(file))
          : [h('p', { class: 'empty' }, 'No lines were recorded.')])
      );
    }
    this.mark();
  }

  /** Marks the line of the selection without building the tables anew. */
  private mark(): void {
    const site = this.selectedSite();
    for (const row of this.element.querySelectorAll('tr.chosen')) row.classList.remove('chosen');
    const { sites } = this.session.trace;
    const same =
      site < 0
        ? null
        : this.element.querySelector<HTMLElement>(
            `tr[data-place="${sites.file_str[site]}|${sites.cell[site]}|${sites.line[site]}"]`
          );
    same?.classList.add('chosen');
    if (same) requestAnimationFrame(() => this.scrollTo(same));
  }

  /** Within the panel only: `scrollIntoView` would move the notebook around it too. */
  private scrollTo(row: HTMLElement): void {
    const panel = this.element.parentElement;
    if (!panel) return;
    const top = row.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    if (top < 0 || top > panel.clientHeight - 20) panel.scrollTop += top - panel.clientHeight / 3;
  }

  private selectedSite(): number {
    const { selection } = this.session.state.now;
    const { trace } = this.session;
    if (selection?.kind === 'site') return selection.id;
    if (selection?.kind === 'event') return trace.events.site[selection.id];
    if (selection?.kind === 'finding') return trace.findings[selection.id]?.site ?? -1;
    return -1;
  }

  private file(file: SourceFile): HTMLElement {
    const hot = file.lines.map((line, i) => (line.heat ? i : -1)).filter(i => i >= 0);
    const near = (i: number): boolean => file.lines.length <= MAX_WHOLE || hot.some(j => Math.abs(i - j) <= NEAR);
    const rows: HTMLElement[] = [];
    let gap = false;
    file.lines.forEach((line, i) => {
      if (near(i)) rows.push(this.line(line));
      else if (!gap) rows.push(h('tr', {}, h('td', { class: 'n quiet', colspan: 6 }, '⋯')));
      gap = !near(i);
    });
    const head = ['forward', 'backward', 'copied', 'syncs', '', ''].map(title => h('th', { class: 'n' }, title));
    return h(
      'table',
      { class: 'lines' },
      h('caption', {}, clean(file.title, 120), h('span', { class: 'quiet' }, ` ${duration(file.total_ns)}`)),
      h('thead', {}, h('tr', {}, ...head)),
      h('tbody', {}, ...rows)
    );
  }

  private line({ number, text, heat }: SourceFile['lines'][0]): HTMLElement {
    const { sites } = this.session.trace;
    const go = (): void => {
      if (heat) this.session.state.select({ kind: 'site', id: heat.site });
    };
    const place = heat ? `${sites.file_str[heat.site]}|${sites.cell[heat.site]}|${sites.line[heat.site]}` : undefined;
    return h(
      'tr',
      { 'data-place': place, class: heat ? 'hot' : '', click: go },
      this.bar(heat?.forward_ns ?? 0, 'call'),
      this.bar(heat?.backward_ns ?? 0, 'pullback'),
      h('td', { class: 'n' }, heat?.copied_nbytes ? bytes(heat.copied_nbytes) : ''),
      h('td', { class: 'n', title: heat?.syncs ? `waited ${duration(heat.wait_ns)}` : undefined }, syncs(heat)),
      h('td', { class: 'n quiet' }, number),
      h('td', { class: 'text' }, h('code', {}, clean(text.replace(/\t/g, '    '), 300)))
    );
  }

  private bar(ns: number, kind: string): HTMLElement {
    const cell = h('td', { class: 'n heat' }, ns > 0 ? duration(ns) : '');
    const share = Math.round((100 * ns) / this.hottest_ns);
    if (ns > 0)
      cell.style.backgroundImage = `linear-gradient(to left, color-mix(in srgb, var(--kind-${kind}) 45%, transparent) ${share}%, transparent ${share}%)`;
    return cell;
  }
}

const syncs = (heat: LineHeat | null): string => (heat?.syncs ? count(heat.syncs) : '');
