"""Which lanes a timeline has, and how the events on each of them nest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.record.events import Kind, LaneKind
from gradviz.record.trace import Trace


@dataclass(frozen=True)
class Lane:
    """One lane of the timeline: a thread, a stream, a copy engine.

    Attributes
    ----------
    number : its row in ``trace.lanes``
    device : name of the device it belongs to
    rows : its events, in order of their start, an enclosing event before what it encloses
    depth : how many events enclose each of ``rows``
    busy_ns : time in which anything ran on it
    """

    number: int
    name: str
    kind: LaneKind
    device: str
    rows: np.ndarray
    depth: np.ndarray
    busy_ns: int


@dataclass(frozen=True)
class Spans:
    """Events of one lane, cut so that they nest strictly: each lies inside another one or beside it.

    Attributes
    ----------
    rows, begin_ns, end_ns : the events with their cut times, enclosing ones first
    above : position in these lists of the span around each, -1 for none
    """

    rows: list[int]
    begin_ns: list[int]
    end_ns: list[int]
    above: list[int]


def depths(trace: Trace) -> np.ndarray:
    """How many events enclose each event of ``trace`` on its lane."""
    parent = trace.events["parent"]
    depth, ancestor = (parent >= 0).astype(np.int64), parent
    while (alive := ancestor >= 0).any():
        depth = depth + np.where(alive, depth[ancestor], 0)
        ancestor = np.where(alive, ancestor[ancestor], -1)
    return depth


def self_ns(trace: Trace) -> np.ndarray:
    """The time of each event that is not time of an event inside it."""
    events = trace.events
    duration_ns = events["end_ns"] - events["start_ns"]
    inner = np.flatnonzero(events["parent"] >= 0)
    inside_ns = np.bincount(events["parent"][inner], duration_ns[inner], minlength=len(trace))
    return np.maximum(duration_ns - inside_ns.astype(np.int64), 0)


def enclosing_span(trace: Trace) -> np.ndarray:
    """The innermost ``SPAN`` around each event, -1 where there is none."""
    events = trace.events
    parent = events["parent"]
    is_span = events["kind"] == Kind.SPAN
    # Each row points at itself if it is a span, else up; squaring that map leads every row to its first span.
    upward = np.where(is_span, np.arange(len(parent)), parent)
    while True:
        further = np.where(upward >= 0, upward[upward], -1)
        if np.array_equal(further, upward):
            break
        upward = further
    return np.where(parent >= 0, upward[parent], -1)


def lanes(trace: Trace) -> list[Lane]:
    """The lanes of ``trace`` that hold events: threads first, then streams, then copy engines.

    Examples
    --------
    >>> [lane.name for lane in lanes(trace)]  # doctest: +SKIP
    ['MainThread', 'sim:a100 stream 0']
    """
    events, table = trace.events, trace.lanes
    depth = depths(trace)
    order = np.lexsort((depth, -events["end_ns"], events["start_ns"], events["lane"]))
    numbers, starts = np.unique(events["lane"][order], return_index=True)
    found = [
        Lane(
            number=int(number),
            name=trace.text(int(table["name_str"][number])) or f"lane {number}",
            kind=LaneKind(int(table["kind"][number])),
            device=_device(trace, int(table["device"][number])),
            rows=rows,
            depth=depth[rows],
            busy_ns=_covered_ns(events["start_ns"][rows], events["end_ns"][rows]),
        )
        for number, rows in zip(numbers, np.split(order, starts)[1:], strict=True)
    ]
    return sorted(found, key=lambda lane: (lane.kind, lane.number))


def strictly_nested(trace: Trace, lane: Lane) -> Spans:
    """The events of ``lane`` with an end cut back wherever it sticks out of the event in which it began.

    Other viewers drop or misplace spans that overlap by a nanosecond; see pytorch/pytorch#174555.
    """
    events = trace.events
    rows = lane.rows.tolist()
    begin_ns = events["start_ns"][lane.rows].tolist()
    end_ns = events["end_ns"][lane.rows].tolist()
    above: list[int] = []
    around: list[int] = []
    for position, begin in enumerate(begin_ns):
        while around and end_ns[around[-1]] <= begin:
            around.pop()
        if around and end_ns[position] > end_ns[around[-1]]:
            end_ns[position] = end_ns[around[-1]]
        above.append(around[-1] if around else -1)
        around.append(position)
    return Spans(rows, begin_ns, end_ns, above)


def _device(trace: Trace, device: int) -> str:
    return trace.text(int(trace.devices["name_str"][device])) if device >= 0 else "host"


def _covered_ns(begin_ns: np.ndarray, end_ns: np.ndarray) -> int:
    """Length of the union of intervals that are sorted by their begin."""
    reached = np.maximum.accumulate(end_ns)
    fresh_from = np.maximum(begin_ns, np.concatenate(([begin_ns[0]], reached[:-1])))
    return int(np.maximum(reached - fresh_from, 0).sum())
