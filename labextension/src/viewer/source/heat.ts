/** What does each line of the user's source cost, forward and backward? */

import { isBackward, isHostWork, LineHeat, Links } from '../links.js';
import { siteName, str, Trace } from '../trace.js';

export function heatBySite(trace: Trace, links: Links): LineHeat[] {
  const heat = Array.from({ length: trace.sites.rows }, (_, site): LineHeat => ({
    site,
    forward_ns: 0,
    backward_ns: 0,
    calls: 0,
    copies: 0,
    copied_nbytes: 0,
    syncs: 0,
    wait_ns: 0
  }));
  const whole = links.wholeLines();
  if (whole) {
    for (const line of whole) if (line.site >= 0) heat[line.site] = line;
    return heat;
  }
  const own = links.self_ns();
  const { site, rows } = trace.events;
  for (let e = 0; e < rows; e++) {
    if (site[e] < 0 || !isHostWork(trace, e)) continue;
    const line = heat[site[e]];
    line.calls++;
    if (isBackward(trace, e)) line.backward_ns += Math.max(0, own[e]);
    else line.forward_ns += Math.max(0, own[e]);
  }
  const { copies, syncs } = trace;
  for (let row = 0; row < copies.rows; row++) {
    const at = copies.event[row] >= 0 ? site[copies.event[row]] : -1;
    if (at < 0) continue;
    heat[at].copies++;
    heat[at].copied_nbytes += copies.nbytes[row];
  }
  for (let row = 0; row < syncs.rows; row++) {
    const at = syncs.event[row] >= 0 ? site[syncs.event[row]] : -1;
    if (at < 0 || !syncs.on_device[row]) continue;
    heat[at].syncs++;
    heat[at].wait_ns += syncs.host_wait_ns[row];
  }
  return heat;
}

export interface SourceFile {
  title: string;
  /** Lines of text where the source travelled with the trace, else only the lines that ran. */
  lines: { number: number; text: string; heat: LineHeat | null }[];
  total_ns: number;
}

/** Files and cells, the hottest first. */
export function sourceFiles(trace: Trace, heat: LineHeat[]): SourceFile[] {
  const groups = new Map<string, LineHeat[]>();
  for (const line of heat) {
    const { cell, file_str } = trace.sites;
    const key = `${cell[line.site]}|${str(trace, file_str[line.site])}`;
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  const files = [...groups.values()].map(lines => {
    const byNumber = new Map<number, LineHeat>();
    for (const line of lines) {
      const number = trace.sites.line[line.site];
      const known = byNumber.get(number);
      byNumber.set(number, known ? add(known, line) : line);
    }
    const site = lines[0].site;
    const title = siteName(trace, site).replace(/(, line |:)\d+$/, '');
    return {
      title,
      lines: linesOf(trace, site, title, byNumber),
      total_ns: lines.reduce((sum, l) => sum + l.forward_ns + l.backward_ns, 0)
    };
  });
  return files.sort((a, b) => b.total_ns - a.total_ns);
}

function linesOf(trace: Trace, site: number, title: string, heat: Map<number, LineHeat>): SourceFile['lines'] {
  const file = str(trace, trace.sites.file_str[site]);
  const text = trace.sources[file] ?? trace.sources[title] ?? trace.sources[`In[${trace.sites.cell[site]}]`];
  if (text !== undefined)
    return text
      .replace(/\n$/, '')
      .split('\n')
      .map((line, i) => ({ number: i + 1, text: line, heat: heat.get(i + 1) ?? null }));
  return [...heat]
    .sort(([a], [b]) => a - b)
    .map(([number, line]) => ({ number, text: str(trace, trace.sites.text_str[line.site]), heat: line }));
}

function add(a: LineHeat, b: LineHeat): LineHeat {
  const sum = { ...a };
  for (const key of ['forward_ns', 'backward_ns', 'calls', 'copies', 'copied_nbytes', 'syncs', 'wait_ns'] as const)
    sum[key] += b[key];
  return sum;
}
