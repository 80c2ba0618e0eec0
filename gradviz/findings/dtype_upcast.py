"""Whether an operation turns single into double precision without being asked."""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement, took_ns
from gradviz.findings.finding import Finding
from gradviz.record.events import Kind, Use
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "dtype_upcast"
_WIDTH = {"float16": 2, "float32": 4, "complex64": 4, "float64": 8, "complex128": 8}
_ASKED = ("astype", "array", "asarray", "zeros", "ones", "full", "empty")
_MAIN_PART = 8  # what is promoted is at least so many times what promotes it


def find(trace: Trace) -> list[Finding]:
    """Calls that read narrow floats, and next to nothing else, and make wider ones."""
    events, uses, buffers = trace.events, trace.uses, trace.buffers
    width = np.array([_WIDTH.get(text, 0) for text in trace.strings] + [0])[buffers["dtype_str"]]
    asked = np.array([text in _ASKED for text in trace.strings] + [False])[events["name_str"]]
    nbytes, how, event = buffers["nbytes"][uses["buffer"]], uses["how"], uses["event"]
    of_use = width[uses["buffer"]]

    def summed(rows: np.ndarray) -> np.ndarray:
        return np.bincount(event[rows], nbytes[rows], len(trace))

    widest = np.zeros(len(trace), np.int64)
    made = how == Use.MAKE
    np.maximum.at(widest, event[made], of_use[made])
    reads = (how == Use.READ) & (of_use > 0)
    narrower = of_use < widest[event]
    narrow, wide = summed(reads & narrower), summed(reads & ~narrower)
    upcast = (events["kind"] == Kind.CALL) & ~asked & (widest > 4) & (narrow > 0) & (narrow >= _MAIN_PART * wide)
    rows = np.flatnonzero(upcast)
    return [
        _finding(trace, uses["buffer"][made & np.isin(event, group.events)], group)
        for group in groups(trace, rows, took_ns(trace)[rows] // 2, events["nbytes"][rows] // 2)
    ]


def _finding(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers,
        confidence=0.8,
        title=f"{group.name} turns single into double precision, {times_text(len(group))}",
        reason="One operand is of double precision, so the result is too: "
        f"{nbytes_text(group.cost_nbytes)} more here, and twice the memory and time in all that follows.",
        remedy="Give the operand the dtype of the array. Python numbers adopt it; np.float64 values do not.",
        before="half = np.float64(0.5)\ny = x * half",
        after="half = 0.5\ny = x * half",
        valid_if="Double precision was not the intention, as it may be for long sums.",
    )
