"""Whether an array was copied only to be safe, which may or may not have been needed.

A copy keeps two arrays apart. It was needed if one of them was written while the other was still in use; else both
could have been one.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.copies import Copies, copies, needed
from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.record.events import Answer, Kind, Reason
from gradviz.record.trace import Trace
from gradviz.words import count_text, duration_text, nbytes_text

KIND = "defensive_copy"
_FOR_SAFETY = (Reason.EXPLICIT, Reason.DEFENSIVE)
_BY_NEED = (Reason.SAVED_VALUE, Reason.CALLERS_ARRAY)


def find(trace: Trace) -> list[Finding]:
    """Copies made for safety: those that were not needed, and, as harmless, those that were."""
    every = copies(trace)
    for_safety = np.isin(every.reason, _FOR_SAFETY)
    answer, reader = needed(trace, every)
    idle = np.flatnonzero(for_safety & (answer == Answer.NO))
    kept = np.flatnonzero((for_safety & (answer == Answer.YES)) | np.isin(every.reason, _BY_NEED))
    return [_not_needed(trace, every, idle[group.rows], group) for group in _by_line(trace, every, idle)] + [
        _needed(trace, every, kept[group.rows], int(reader[kept[group.rows[0]]]), group)
        for group in _by_line(trace, every, kept)
    ]


def _by_line(trace: Trace, every: Copies, rows: np.ndarray) -> list[Group]:
    return list(groups(trace, every.event[rows], every.took_ns[rows], every.nbytes[rows]))


def _not_needed(trace: Trace, every: Copies, rows: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=every.target[rows],
        title=f"{_count(group)} that nobody needed",
        reason="Neither side was written while the other was still in use, so both could have been the same memory.",
        remedy="Work on the array itself, and write to it in place.",
        before="new = p.copy()\nnew -= rate * g",
        after="p -= rate * g",
        valid_if="No other part of the program, outside of what was recorded, reads the old array.",
    )


def _needed(trace: Trace, every: Copies, rows: np.ndarray, reader: int, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=every.target[rows],
        harmless=True,
        title=f"{_count(group)} needed, because {_because(trace, every, int(rows[0]), reader)}",
        reason="Without this a value that is still in use would have been overwritten. The time it took in all: "
        f"{duration_text(group.cost_ns)}.",
        remedy="Nothing to repair; to save the memory, make a new value instead of writing over the old one.",
        before="y = np.sin(x)\nx *= 2",
        after="y = np.sin(x)\nx = x * 2",
        valid_if="The old value is needed either way, so only a program that needs one of the two is faster.",
    )


def _count(group: Group) -> str:
    return f"{count_text(len(group), 'copy', 'copies')} of {nbytes_text(group.cost_nbytes / len(group))}"


def _because(trace: Trace, every: Copies, row: int, reader: int) -> str:
    """Who needs both values."""
    if every.reason[row] == Reason.CALLERS_ARRAY:
        return "the array that is written to belongs to the caller"
    if every.because[row] >= 0:
        return f"the pullback of {_place(trace, int(every.because[row]))} reads the old value"
    if reader >= 0:
        return f"{_place(trace, reader)} reads the old value after the new one is written"
    return "the caller holds the old array"


def _place(trace: Trace, event: int) -> str:
    call, where = int(trace.events["call"][event]), trace.where(event)
    reversing = trace.events["kind"][event] == Kind.PULLBACK and call >= 0
    name = f"the pullback of {trace.name(call)}" if reversing else trace.name(event)
    return f"{name} ({where})" if where else name
