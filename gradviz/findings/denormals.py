"""Whether cotangents decay until only denormals are left.

Numbers below 1e-308 carry no information, and many processors take a hundred times as long for them.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.findings.pullbacks import pullback_ns
from gradviz.record.trace import Trace
from gradviz.words import times_text

KIND = "denormals"
_PART = 0.5
_REPEATS = 3


def find(trace: Trace) -> list[Finding]:
    """Pullbacks that made at least half denormals, three or more on a line."""
    table = trace.contributions
    entries = np.maximum(table["nbytes"] // 8, 1)
    rows = np.flatnonzero((table["denormals"] > 0) & (table["denormals"] >= _PART * entries))
    event, first = np.unique(table["event"][rows], return_index=True)
    rows = rows[first]
    return [
        _finding(trace, table["buffer"][rows[group.rows]], group)
        for group in groups(trace, event, pullback_ns(trace)[event])
        if len(group) >= _REPEATS
    ]


def _finding(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers[buffers >= 0],
        confidence=0.8,
        title=f"cotangents of {group.name} have decayed into denormals, {times_text(len(group))}",
        reason="Each step back multiplies the cotangent by a small factor. What arrives here is below 1e-308, so this "
        "part of the backward pass adds nothing to the gradient.",
        remedy="Stop the gradient so many steps back, or scale the recurrence so that it does not vanish.",
        before="for t in range(n):\n    h = np.tanh(h * a) + x[t]",
        after="if t % 100 == 0: h = gv.stop_gradient(h)\nh = np.tanh(h * a) + x[t]",
        valid_if="The gradient may be cut off where it is zero to all digits anyway.",
    )
