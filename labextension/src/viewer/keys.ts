/** Which key does what? The table that `?` shows is the table that is obeyed. */

import { zoomed } from './scale.js';
import { Session } from './session.js';
import { PANELS } from './state.js';
import { TimelineView } from './timeline/view.js';

export interface Key {
  keys: string[];
  title: string;
  run(session: Session, timeline: TimelineView, key: string): void;
}

const STEP = 0.2;

function pan(session: Session, share: number): void {
  const { from, to } = session.state.now.range;
  session.setRange({ from: from + share * (to - from), to: to + share * (to - from) });
}

function zoom(session: Session, factor: number): void {
  const { range, selection } = session.state.now;
  const centre = (range.from + range.to) / 2;
  const chosen =
    selection?.kind === 'event' ? (session.axis.start[selection.id] + session.axis.end[selection.id]) / 2 : centre;
  session.setRange(zoomed(range, factor, chosen >= range.from && chosen <= range.to ? chosen : centre));
}

/** Once: the selection fills the view. Again, or with nothing selected: the whole run. */
function fit(session: Session): void {
  const { range, selection, area } = session.state.now;
  const before = JSON.stringify(range);
  if (area) session.setRange(area);
  else session.reveal(session.eventsOf(selection), true);
  const target = session.eventsOf(selection).length || area;
  if (!target || fitted.get(session) === before) session.glide(session.axis.extent);
  else setTimeout(() => fitted.set(session, JSON.stringify(session.state.now.range)), 200);
}

const fitted = new WeakMap<Session, string>();

function finding(session: Session, direction: 1 | -1): void {
  const { findings } = session.trace;
  const { selection } = session.state.now;
  if (!findings.length) return;
  const current = selection?.kind === 'finding' ? selection.id : direction > 0 ? -1 : 0;
  const id = (current + direction + findings.length) % findings.length;
  session.state.set({
    selection: { kind: 'finding', id },
    panel: session.state.now.panel === 'compare' ? 'details' : session.state.now.panel
  });
  session.reveal(findings[id].events);
}

function partner(session: Session, timeline: TimelineView): void {
  const { selection } = session.state.now;
  if (selection?.kind !== 'event' && selection?.kind !== 'finding') return;
  const event = session.eventsOf(selection)[0];
  if (event === undefined) return;
  const call = session.trace.events.call[event];
  const goal = call >= 0 && call !== event ? call : (session.links.ofCall(event).find(e => e !== event) ?? -1);
  if (goal < 0) return;
  session.state.select({ kind: 'event', id: goal });
  session.reveal([goal]);
  timeline.scrollTo(goal);
}

function mark(session: Session): void {
  const { selection, marks, range } = session.state.now;
  const at = selection?.kind === 'event' ? session.axis.start[selection.id] : (range.from + range.to) / 2;
  session.state.set({ marks: marks.includes(at) ? marks.filter(m => m !== at) : [...marks, at] });
}

export const KEYS: Key[] = [
  { keys: ['w'], title: 'zoom in', run: s => zoom(s, 1 / (1 + 2 * STEP)) },
  { keys: ['s'], title: 'zoom out', run: s => zoom(s, 1 + 2 * STEP) },
  { keys: ['a', 'ArrowLeft'], title: 'left', run: s => pan(s, -STEP) },
  { keys: ['d', 'ArrowRight'], title: 'right', run: s => pan(s, STEP) },
  { keys: ['f'], title: 'fit the selection; again: the whole run', run: fit },
  { keys: ['.'], title: 'next event in the row', run: (_, t) => t.step(1) },
  { keys: [','], title: 'previous event in the row', run: (_, t) => t.step(-1) },
  { keys: [']'], title: 'next finding', run: s => finding(s, 1) },
  { keys: ['['], title: 'previous finding', run: s => finding(s, -1) },
  { keys: ['g'], title: 'to the forward call, or from it to its pullback', run: partner },
  { keys: ['b'], title: 'back to what was selected before', run: s => s.state.back() },
  { keys: ['m'], title: 'set or remove a mark', run: mark },
  { keys: ['o'], title: 'time or event order', run: s => s.state.set({ order: !s.state.now.order }) },
  {
    keys: ['1', '2', '3', '4', '5'],
    title: `views: ${PANELS.join(', ')}`,
    run: (s, _, key) => s.state.set({ panel: PANELS[Number(key) - 1] })
  },
  {
    keys: ['Escape'],
    title: 'clear search, stretch, selection',
    run: s => s.state.set(s.state.now.query || s.state.now.area ? { query: '', area: null } : { selection: null })
  }
];

/** Obeys keys pressed anywhere in the viewer except where text is typed. */
export function listenToKeys(
  element: HTMLElement,
  session: Session,
  timeline: TimelineView,
  extra: Record<string, () => void>
): void {
  element.addEventListener('keydown', event => {
    const target = event.composedPath()[0] as HTMLElement;
    const typing = target.matches?.('input, select, textarea');
    if (target.closest?.('dialog')) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape')) return;
    const key = KEYS.find(k => k.keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (!key && !extra[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    if (extra[event.key]) extra[event.key]();
    else key!.run(session, timeline, event.key);
  });
}
