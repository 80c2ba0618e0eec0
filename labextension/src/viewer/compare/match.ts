/** What changed between two runs? Events matched by line, name and kind, never by time. */

import { Links } from '../links.js';
import { eventName, siteName, str, Trace } from '../trace.js';

export interface Side {
  count: number;
  time_ns: number;
  nbytes: number;
}

export interface Change {
  where: string;
  text: string;
  name: string;
  kind: number;
  /** An event of the newer run that stands for the row, -1 where it is gone. */
  event: number;
  before: Side;
  after: Side;
  verdict: 'new' | 'gone' | 'slower' | 'faster' | 'larger' | 'smaller' | 'same';
}

const NOTABLE_SHARE = 0.002;
const NOTABLE_RATIO = 1.1;

/** The greatest changes first. Lines are matched by their text where it is known, since numbers shift when code is edited. */
export function compareTraces(before: Trace, beforeLinks: Links, after: Trace, afterLinks: Links): Change[] {
  const changes = new Map<string, Change>();
  gather(changes, before, beforeLinks, 'before');
  gather(changes, after, afterLinks, 'after');
  const notable_ns = NOTABLE_SHARE * Math.max(before.meta.duration_ns, after.meta.duration_ns);
  for (const change of changes.values()) change.verdict = judge(change, notable_ns);
  const weight = (c: Change): number => Math.abs(c.after.time_ns - c.before.time_ns);
  return [...changes.values()].sort((a, b) => weight(b) - weight(a));
}

function gather(changes: Map<string, Change>, trace: Trace, links: Links, side: 'before' | 'after'): void {
  const own = links.self_ns();
  const { site, name_str, kind, nbytes, rows } = trace.events;
  const keys = new Map<number, Change>();
  const width = trace.strings.length + 2;
  for (let e = 0; e < rows; e++) {
    const local = ((site[e] + 1) * 16 + kind[e]) * width + name_str[e] + 1;
    let change = keys.get(local);
    if (!change) keys.set(local, (change = slot(changes, trace, e)));
    change[side].count++;
    change[side].time_ns += Math.max(0, own[e]);
    change[side].nbytes += nbytes[e];
    if (side === 'after') {
      change.event = e;
      change.where = siteName(trace, site[e]);
    }
  }
}

function slot(changes: Map<string, Change>, trace: Trace, event: number): Change {
  const { site, kind } = trace.events;
  const text = site[event] >= 0 ? str(trace, trace.sites.text_str[site[event]]) : '';
  const name = eventName(trace, event);
  const where = siteName(trace, site[event]);
  const key = JSON.stringify([text || where, name, kind[event]]);
  let change = changes.get(key);
  if (!change) {
    const zero = (): Side => ({ count: 0, time_ns: 0, nbytes: 0 });
    changes.set(
      key,
      (change = { where, text, name, kind: kind[event], event: -1, before: zero(), after: zero(), verdict: 'same' })
    );
  }
  return change;
}

function judge({ before, after }: Change, notable_ns: number): Change['verdict'] {
  if (!before.count) return 'new';
  if (!after.count) return 'gone';
  const delta = after.time_ns - before.time_ns;
  const ratio = after.time_ns / Math.max(1, before.time_ns);
  if (Math.abs(delta) > notable_ns && (ratio > NOTABLE_RATIO || ratio < 1 / NOTABLE_RATIO))
    return delta > 0 ? 'slower' : 'faster';
  if (after.nbytes > NOTABLE_RATIO * before.nbytes) return 'larger';
  if (after.nbytes * NOTABLE_RATIO < before.nbytes) return 'smaller';
  return 'same';
}
