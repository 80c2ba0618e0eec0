"""What the host spent the time of a run on."""

from __future__ import annotations

import numpy as np

from gradviz.graph.timeline import self_ns
from gradviz.record.events import Flag, Kind, LaneKind
from gradviz.record.trace import Trace

SHARES = ("forward", "pullbacks", "accumulations", "copies", "syncs", "compiling", "collecting", "python")


def shares(trace: Trace) -> dict[str, int]:
    """Nanoseconds of host time by what they went to; the values of `SHARES` in order, those of 0 ns included.

    Everything is self time, so the values add up to the time of the run (of all threads, where there are several).
    ``python`` is what no event but a span covers: the user's own code between the calls.

    Examples
    --------
    >>> shares(trace)["syncs"]  # doctest: +SKIP
    213000000
    """
    events = trace.events
    on_thread = trace.lanes["kind"][events["lane"]] == LaneKind.THREAD
    own_ns = np.where(on_thread, self_ns(trace), 0)
    kind, backward = events["kind"], (events["flags"] & Flag.BACKWARD) != 0
    spent = {
        "forward": (kind == Kind.CALL) & ~backward,
        "pullbacks": (kind == Kind.PULLBACK) | ((kind == Kind.CALL) & backward),
        "accumulations": kind == Kind.ACCUMULATE,
        "copies": kind == Kind.COPY,
        "syncs": kind == Kind.SYNC,
        "compiling": kind == Kind.COMPILE,
        "collecting": kind == Kind.COLLECT,
    }
    found = {name: int(own_ns[rows].sum()) for name, rows in spent.items()}
    spans_ns = int(own_ns[kind == Kind.SPAN].sum())
    rest_ns = trace.duration_ns - sum(found.values())
    return found | {"python": max(rest_ns, spans_ns, 0)}
