"""Whether memory is kept for the backward pass that no pullback reads.

That is what a branch leaves whose result does not reach the value that is differentiated.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, backward, groups, statement
from gradviz.findings.finding import Finding
from gradviz.record.events import Role, Use
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text

KIND = "saved_never_read"


def find(trace: Trace) -> list[Finding]:
    """Buffers that a call saved and no pullback loaded, in runs that had a backward pass."""
    uses, buffers = trace.uses, trace.buffers
    if not backward(trace).any():
        return []
    loaded = np.zeros(len(buffers["nbytes"]), bool)
    loaded[uses["buffer"][uses["how"] == Use.LOAD]] = True
    saves = np.flatnonzero(uses["how"] == Use.SAVE)
    saves = saves[~loaded[uses["buffer"][saves]] & (buffers["role"][uses["buffer"][saves]] == Role.SAVED)]
    buffer, first = np.unique(uses["buffer"][saves], return_index=True)
    saver = uses["event"][saves[first]]
    return [_finding(trace, buffer[group.rows], group) for group in groups(trace, saver, 0, buffers["nbytes"][buffer])]


def _finding(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers,
        title=f"{group.name} keeps {nbytes_text(group.cost_nbytes)} for a pullback that never runs",
        reason="Its result does not reach the value that is differentiated, so nothing ever asks for its cotangent.",
        remedy="Compute it outside of the differentiated function, or take it off the tape with gv.stop_gradient.",
        before="monitor = np.exp(x)\nreturn np.sum(x)",
        after="monitor = np.exp(gv.stop_gradient(x))\nreturn np.sum(x)",
        valid_if="No later call of the pullback, and no outer derivative, wants it.",
    )
