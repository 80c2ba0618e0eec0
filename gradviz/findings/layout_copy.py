"""Whether an array is put into another memory layout again and again."""

from __future__ import annotations

import numpy as np

from gradviz.findings.copies import Copies, copies
from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.record.events import Reason
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "layout_copy"


def find(trace: Trace) -> list[Finding]:
    """Copies into contiguous memory that one line made of an array it had copied before."""
    every = copies(trace)
    rows = np.flatnonzero(np.isin(every.reason, (Reason.CONTIGUOUS, Reason.RESHAPE)))
    return [
        _finding(trace, every, rows[group.rows], group)
        for group in groups(trace, every.event[rows], every.took_ns[rows], every.nbytes[rows])
        if _distinct(every.source[rows[group.rows]]) < len(group)
    ]


def _distinct(source: np.ndarray) -> int:
    """How many arrays were copied; those that are not known count one each."""
    return len(np.unique(source[source >= 0])) + int((source < 0).sum())


def _finding(trace: Trace, every: Copies, rows: np.ndarray, group: Group) -> Finding:
    what = "one array" if _distinct(every.source[rows]) == 1 else "arrays"
    return statement(
        trace,
        KIND,
        group,
        buffers=every.target[rows][every.target[rows] >= 0],
        title=f"{group.name} copies {what} into contiguous memory {times_text(len(group))}",
        reason="The rows do not lie one after the other as the consumer needs them: "
        f"{nbytes_text(group.cost_nbytes)} were copied only to change that.",
        remedy="Change the layout once, before the loop, or keep the array in the order in which it is used.",
        before="for x in xs:\n    y = np.reshape(w.T, -1) * x",
        after="flat = np.reshape(w.T, -1)\nfor x in xs: y = flat * x",
        valid_if="The array stays the same from turn to turn, or can be made in that order from the start.",
    )
