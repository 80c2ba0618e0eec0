"""Which events belong to one statement, and whether they cost enough to speak of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradviz.findings.finding import Finding, Severity
from gradviz.graph.timeline import self_ns
from gradviz.record.events import Flag, Kind, LaneKind
from gradviz.record.trace import Trace

LEAST_NS = 50_000
LEAST_NBYTES = 1 << 20
LEAST_SHARE = 0.01
MOST_EVIDENCE = 1000
_HIDDEN_FROM = 0.95  # a device that is busy so much of the run hides what the host does


@dataclass(frozen=True)
class Group:
    """What one line did by way of one call.

    Attributes
    ----------
    site : the line
    name : name of the forward call
    rows : positions in the array of events that was grouped
    events : those events
    cost_ns, cost_nbytes : sums
    """

    site: int
    name: str
    rows: np.ndarray
    events: np.ndarray
    cost_ns: int
    cost_nbytes: int

    def __len__(self) -> int:
        return len(self.rows)


def groups(trace: Trace, events: np.ndarray, ns: np.ndarray | int = 0, nbytes: np.ndarray | int = 0) -> Iterator[Group]:
    """The given events by line and forward call; only groups that cost enough to speak of.

    Parameters
    ----------
    events : event rows, shape (n,)
    ns, nbytes : cost of each, shape (n,)
    """
    if not len(events):
        return
    table = trace.events
    owner = np.where(table["call"][events] >= 0, table["call"][events], events)
    line, name = _line_of_site(trace)[table["site"][events]], table["name_str"][owner].astype(np.int64)
    _, which = np.unique(line * (len(trace.strings) + 1) + name, return_inverse=True)
    time, size = (np.bincount(which, np.broadcast_to(w, len(events))).astype(np.int64) for w in (ns, nbytes))
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which))
    limits = least(trace)
    for group in np.flatnonzero((time >= limits[0]) | (size >= limits[1])):
        rows = order[ends[group - 1] if group else 0 : ends[group]]
        first = rows[0]
        site, text = int(table["site"][events[first]]), trace.text(int(name[first]))
        yield Group(site, text.split(" › ")[0].split(" > ")[0], rows, events[rows], int(time[group]), int(size[group]))


def least(trace: Trace) -> tuple[float, float]:
    """The nanoseconds, and the bytes, from which on a cost is worth a word."""
    written = int(trace.events["nbytes"].sum())
    return max(LEAST_NS, LEAST_SHARE * trace.duration_ns), max(LEAST_NBYTES, LEAST_SHARE * written)


def statement(
    trace: Trace, kind: str, group: Group, *, events: np.ndarray | None = None, buffers: np.ndarray | tuple[()] = (),
    count: int | None = None, cost_ns: int | None = None, harmless: bool = False, confidence: float = 0.9, **texts: Any,
) -> Finding:  # fmt: skip
    """A finding about a group; what is not given is the group's."""
    cost = 0 if harmless else min(group.cost_ns if cost_ns is None else cost_ns, trace.duration_ns)
    nbytes = 0 if harmless else group.cost_nbytes
    share = cost / max(trace.duration_ns, 1)
    evidence = np.unique(group.events if events is None else events)
    return Finding(
        kind=kind,
        severity="low" if harmless else _severity(trace, share, nbytes),
        cost_ns=cost,
        cost_nbytes=nbytes,
        share=share,
        count=len(group) if count is None else count,
        simulated=bool(trace.meta.get("simulated")),
        where=trace.place(group.site),
        site=group.site,
        events=tuple(evidence[:MOST_EVIDENCE].tolist()),
        buffers=tuple(np.unique(np.asarray(buffers, np.int64))[:MOST_EVIDENCE].tolist()),
        confidence=confidence,
        harmless=harmless,
        **texts,
    )


def _severity(trace: Trace, share: float, nbytes: int) -> Severity:
    written = nbytes / max(int(trace.events["nbytes"].sum()), 1) if nbytes >= LEAST_NBYTES else 0
    return "high" if share >= 0.1 or written >= 0.5 else "medium" if share >= 0.03 or written >= 0.1 else "low"


def took_ns(trace: Trace) -> np.ndarray:
    """What each event cost by itself, shape (events,): 0 for host work that a busy device hides."""
    events = trace.events
    own_ns = self_ns(trace)
    device = on_device(trace)
    if not device.any():
        return own_ns
    busy = busy_ns(trace) / max(trace.duration_ns, 1)
    hidden = ~device if busy >= _HIDDEN_FROM else device & (busy < 1 - _HIDDEN_FROM)
    return np.where(hidden | (events["kind"] == Kind.SYNC), 0, own_ns)


def on_device(trace: Trace) -> np.ndarray:
    """Which events are work of a device, shape (events,)."""
    if not len(trace.lanes["kind"]):
        return np.zeros(len(trace), bool)
    return trace.lanes["kind"][trace.events["lane"]] != LaneKind.THREAD


def busy_ns(trace: Trace) -> int:
    """How long any device worked."""
    rows = np.flatnonzero(on_device(trace))
    rows = rows[np.argsort(trace.events["start_ns"][rows], kind="stable")]
    reached = np.maximum.accumulate(trace.events["end_ns"][rows])
    begins = np.maximum(trace.events["start_ns"][rows], np.concatenate(([0], reached[:-1])))
    return int(np.maximum(reached - begins, 0).sum())


def inside(trace: Trace, kind: Kind) -> np.ndarray:
    """The innermost event of one kind that each event is, or lies in; -1 for none. Shape (events,)."""
    upward = np.where(trace.events["kind"] == kind, np.arange(len(trace)), trace.events["parent"])
    while True:
        further = np.where(upward >= 0, upward[upward], -1)
        if np.array_equal(further, upward):
            return upward
        upward = further


def backward(trace: Trace) -> np.ndarray:
    """Which events belong to a reverse pass, shape (events,)."""
    return (trace.events["flags"] & Flag.BACKWARD) != 0


def _line_of_site(trace: Trace) -> np.ndarray:
    """A number for the line of each site; the last entry serves site -1."""
    sites = trace.sites
    keys = np.stack([sites[c].astype(np.int64) for c in ("file_str", "line", "cell", "cell_hash_str")], axis=1)
    _, which = np.unique(keys, axis=0, return_inverse=True)
    return np.append(which, len(sites["line"])).astype(np.int64)
