"""Whether a small array is written out many times over, where broadcasting would repeat it for free."""

from __future__ import annotations

import numpy as np

from gradviz.findings.copies import Copies, copies, needed
from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.record.events import Answer, Reason
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "broadcast_made_real"
_TIMES = 8


def find(trace: Trace) -> list[Finding]:
    """Copies at least eight times as large as what they repeat, not written to afterwards."""
    every = copies(trace)
    known = every.source >= 0
    source_nbytes = (
        np.where(known, trace.buffers["nbytes"][every.source], 0) if known.any() else np.zeros(len(known), int)
    )
    repeated = (known & (source_nbytes * _TIMES <= every.nbytes)) | (every.reason == Reason.BROADCAST)
    rows = np.flatnonzero(repeated & (needed(trace, every)[0] != Answer.YES))
    wasted = every.nbytes[rows] - np.minimum(source_nbytes[rows], every.nbytes[rows])
    return [
        _finding(trace, every, rows[group.rows], group)
        for group in groups(trace, every.event[rows], every.took_ns[rows], wasted)
    ]


def _finding(trace: Trace, every: Copies, rows: np.ndarray, group: Group) -> Finding:
    known = every.source[rows] >= 0
    part = int(trace.buffers["nbytes"][every.source[rows][known]].max(initial=0))
    return statement(
        trace,
        KIND,
        group,
        buffers=every.target[rows][every.target[rows] >= 0],
        confidence=0.8,
        title=f"{group.name} writes {nbytes_text(part) if part else 'a broadcast view'} out as "
        f"{nbytes_text(every.nbytes[rows].max())}, {times_text(len(group))}",
        reason="The same values are repeated in memory, and read from there again.",
        remedy="Leave it small: operations broadcast by themselves, and np.broadcast_to repeats without memory.",
        before="wide = np.repeat(b[None], len(x), axis=0)\ny = x + wide",
        after="y = x + b",
        valid_if="What follows takes broadcast operands and does not write into the repeated array.",
    )
