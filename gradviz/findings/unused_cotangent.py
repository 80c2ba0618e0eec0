"""Whether a pullback computes a cotangent that nobody asked for."""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.findings.pullbacks import part_ns
from gradviz.findings.waits import SCALAR_NBYTES, waits
from gradviz.record.events import Answer
from gradviz.record.trace import Trace
from gradviz.words import count_text, nbytes_text, times_text

KIND = "unused_cotangent"


def find(trace: Trace) -> list[Finding]:
    """Cotangents with no use, but for scalars that `scalar_never_needed` speaks of."""
    table = trace.contributions
    event = table["event"]
    read_back = np.isin(event, waits(trace).needless_pullbacks) & (table["nbytes"] <= SCALAR_NBYTES)
    rows = np.flatnonzero((table["used"] == Answer.NO) & ~read_back)
    spent_ns = part_ns(trace)[event[rows]]
    return [
        _finding(trace, table["buffer"][rows[group.rows]], group)
        for group in groups(trace, event[rows], spent_ns, table["nbytes"][rows])
    ]


def _finding(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    pullbacks = len(np.unique(group.events))
    cotangents = count_text(len(group) / pullbacks, "cotangent")
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers[buffers >= 0],
        confidence=0.7,
        title=f"pullback of {group.name} makes {cotangents} per call that nobody asked for, {times_text(pullbacks)}",
        reason="It makes the cotangents of several inputs together, also of inputs that are not being differentiated: "
        f"{nbytes_text(group.cost_nbytes)} were computed and dropped.",
        remedy="Write one pullback for each input; gradviz calls only those that are needed.",
        before="@affine.pullback('x', 'w')\ndef back(ct, x, w): return ct @ w.T, x.T @ ct",
        after="@affine.pullback\ndef affine_to_x(ct, w): return ct @ w.T",
        valid_if="No gradient with respect to these inputs is wanted here. Where it is, their own pullbacks run.",
    )
