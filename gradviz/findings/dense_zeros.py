"""Whether a pullback fills an array with zeros to hold the cotangent of a small part.

In a loop over ``p[i]`` this turns a linear backward pass into a quadratic one: N arrays of length N.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.findings.pullbacks import pullback_ns
from gradviz.graph.timeline import enclosing_span
from gradviz.record.events import State
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "dense_zeros"
_SPARSE = 16  # the whole is at least so many times the part
_ENTRY_NBYTES = 32  # from one part in four entries on, N reads of N entries is what it looks like
_REPEATS = 3


def find(trace: Trace) -> list[Finding]:
    """Dense cotangents that are nearly all zero, three or more for one variable, of calls with a small result."""
    table, events = trace.contributions, trace.events
    event = table["event"]
    call = events["call"][event]
    result_nbytes = np.where(call >= 0, events["nbytes"][call], 0)
    dense = (table["state"] == State.OWNED) | (table["state"] == State.BORROWED)
    part_nbytes = np.maximum(table["useful_nbytes"], result_nbytes)
    rows = np.flatnonzero(dense & (part_nbytes * _SPARSE <= table["nbytes"]) & (table["nbytes"] > 0))
    repeats = _repeats(enclosing_span(trace)[event[rows]], table["variable"][rows])
    rows, repeats = rows[repeats >= _REPEATS], repeats[repeats >= _REPEATS]
    wasted = (table["nbytes"] - table["useful_nbytes"])[rows]
    spent_ns = pullback_ns(trace)[event[rows]]
    return [
        _finding(trace, rows[group.rows], int(repeats[group.rows].max()), group)
        for group in groups(trace, event[rows], spent_ns, wasted)
    ]


def _finding(trace: Trace, rows: np.ndarray, repeats: int, group: Group) -> Finding:
    table = trace.contributions
    whole, part = int(np.median(table["nbytes"][rows])), int(np.median(table["useful_nbytes"][rows]))
    quadratic = repeats * _ENTRY_NBYTES >= whole
    growth = "; time and memory grow with the square of its length" if quadratic else ""
    buffers = table["buffer"][rows]
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers[buffers >= 0],
        title=f"pullback of {group.name} makes {nbytes_text(whole)} of zeros for {nbytes_text(part)}, "
        f"{times_text(len(group))}{growth}",
        reason="Each call reads a part of one array, and its pullback answers with a whole array: "
        f"{nbytes_text(group.cost_nbytes)} of zeros were filled, then added up.",
        remedy="Read the part by plain indexing: its cotangent stays a part, and is added in place to one buffer.",
        before="def pick_to_p(ct, p, i):\n    g = np.zeros_like(p); g[i] = ct; return g",
        after="for i in range(len(p)):\n    value = value * x + p[i]",
        valid_if="The rule does no more than indexing. A loop with other state can be a gv.fold or gv.scan.",
    )


def _repeats(span: np.ndarray, variable: np.ndarray) -> np.ndarray:
    """How many of these cotangents the same variable got in the same backward pass."""
    if not len(span):
        return np.zeros(0, np.int64)
    keys = np.stack([span.astype(np.int64), variable.astype(np.int64)], axis=1)
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return counts[which]
