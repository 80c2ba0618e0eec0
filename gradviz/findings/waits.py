"""Where the host waited for a device, and what would be won without these waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradviz.findings.evidence import Group, groups, inside, least, statement
from gradviz.findings.finding import Finding
from gradviz.findings.replay import Replay
from gradviz.record.events import Answer, Kind, Trigger
from gradviz.record.trace import Trace
from gradviz.words import duration_text, list_text

SCALAR_NBYTES = 64
_MOST_GROUPS = 8  # each is replayed, at 0.5 µs for every wait of the run
SIZE_TRIGGERS = (Trigger.SHAPE, Trigger.MASK)


@dataclass(frozen=True)
class Waits:
    """The waits of a run; the allocator's own are left out, since no line asked for them.

    Attributes
    ----------
    rows : rows of ``trace.syncs``
    events : their events
    pullback : the pullback each lies in, -1 for none
    needless : a value was read that nobody needed
    """

    rows: np.ndarray
    events: np.ndarray
    pullback: np.ndarray
    trigger: np.ndarray
    needless: np.ndarray

    @property
    def needless_pullbacks(self) -> np.ndarray:
        """Pullbacks that read values which nobody needed."""
        return np.unique(self.pullback[self.needless & (self.pullback >= 0)])


def waits(trace: Trace) -> Waits:
    """All real waits of ``trace``."""
    syncs = trace.syncs
    rows = np.flatnonzero((syncs["on_device"] == 1) & (syncs["trigger"] != Trigger.ALLOCATION))
    events, trigger = syncs["event"][rows], syncs["trigger"][rows]
    pullback = inside(trace, Kind.PULLBACK)[events] if len(rows) else np.empty(0, np.int64)
    small = (syncs["nbytes"][rows] <= SCALAR_NBYTES) & ~np.isin(trigger, (*SIZE_TRIGGERS, Trigger.EXPLICIT))
    unused = syncs["value_used"][rows] == Answer.NO
    # In a pullback a read is needless only if it can have gone into a cotangent that nobody wants.
    needless = small & np.where(pullback >= 0, _unwanted_scalars(trace)[pullback] > 0, unused)
    return Waits(rows, events, pullback, trigger, needless)


def _unwanted_scalars(trace: Trace) -> np.ndarray:
    """How many scalar cotangents each event made that nobody wanted; the last entry serves event -1."""
    table = trace.contributions
    unwanted = (table["used"] == Answer.NO) & (table["nbytes"] <= SCALAR_NBYTES)
    return np.bincount(table["event"][unwanted], minlength=len(trace) + 1)


def wait_findings(
    trace: Trace,
    kind: str,
    every: Waits,
    chosen: np.ndarray,
    texts: Callable[[Group, str], dict[str, Any]],
    work_ns: np.ndarray | None = None,
) -> list[Finding]:
    """Findings about the chosen waits, a line each.

    Parameters
    ----------
    texts : gives what a finding says, from its group and its cost in words
    work_ns : what else would not be done without each wait, shape (chosen,)
    """
    rows, events = every.rows[chosen], every.events[chosen]
    wait_ns, idle_ns = trace.syncs["host_wait_ns"][rows], trace.syncs["device_idle_ns"][rows]
    found = sorted(groups(trace, events, wait_ns + idle_ns), key=lambda group: -group.cost_ns)[:_MOST_GROUPS]
    saved_ns = _saved_ns(trace, [rows[group.rows] for group in found], [group.cost_ns for group in found])
    made = []
    for group, saved in zip(found, saved_ns, strict=True):
        idle, waited = idle_ns[group.rows].sum(), wait_ns[group.rows].sum()
        cost = (
            f"The host waited {duration_text(waited)} in all, and the device then stood idle for {duration_text(idle)}."
        )
        saved += int(work_ns[group.rows].sum()) if work_ns is not None else 0
        harmless = saved < least(trace)[0]
        if harmless:
            cost += " Harmless now: the run would not have ended sooner, since the device had work all the time."
        made.append(statement(trace, kind, group, cost_ns=saved, harmless=harmless, **texts(group, cost)))
    return made


def _saved_ns(trace: Trace, parts: list[np.ndarray], bounds_ns: list[int]) -> list[int]:
    """What each part of the waits costs the run.

    Two waits in a row hide each other: without one, the other waits as long. So what all of them cost beyond what each
    costs alone is shared out, by how long they waited.
    """
    if not parts:
        return []
    replay = Replay(trace)
    together_ns = replay.saved_ns(np.concatenate(parts))
    alone_ns = [min(replay.saved_ns(part), together_ns) for part in parts] if len(parts) > 1 else [together_ns]
    shared_ns = together_ns - sum(alone_ns)
    if shared_ns < 0:
        return [together_ns * one // sum(alone_ns) for one in alone_ns]
    whole_ns = max(sum(bounds_ns), 1)
    return [alone + shared_ns * bound // whole_ns for alone, bound in zip(alone_ns, bounds_ns, strict=True)]


def trigger_text(trigger: np.ndarray) -> str:
    """What made the host wait: ``float() and item()``."""
    words = {
        Trigger.SHAPE: "a shape that depends on values",
        Trigger.MASK: "a mask as index",
        Trigger.EXPLICIT: "synchronize()",
        Trigger.HIDDEN: "a library, by itself",
    }
    names = [Trigger(one) for one in np.unique(trigger).tolist()]
    return list_text(words.get(name, f"{name.name.lower()}()") for name in names)
