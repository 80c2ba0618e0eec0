"""Whether the same data is moved to the device again and again."""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement, took_ns
from gradviz.findings.finding import Finding
from gradviz.record.events import Answer, Direction, Reason
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "constant_upload"
_REPEATS = 3


def find(trace: Trace) -> list[Finding]:
    """Uploads of one host array, or of constants of one size on one line, three times or more."""
    copies, events = trace.copies, trace.events
    rows = np.flatnonzero(copies["direction"] == Direction.HOST_TO_DEVICE)
    source, event = copies["source"][rows].astype(np.int64), copies["event"][rows]
    unchanged = (source >= 0) & (copies["source_written_later"][rows] != Answer.YES)
    constant = (source < 0) & (copies["reason"][rows] == Reason.CONSTANT_UPLOAD)
    rows, event = rows[unchanged | constant], event[unchanged | constant]
    source = copies["source"][rows].astype(np.int64)
    keys = np.stack(
        [source, np.where(source < 0, events["site"][event], -1), np.where(source < 0, copies["nbytes"][rows], -1)]
    )
    if not len(rows):
        return []
    _, which, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    again = counts[which] >= _REPEATS
    rows, event = rows[again], event[again]
    return [
        _finding(trace, bool((source[again][group.rows] >= 0).all()), group)
        for group in groups(trace, event, _spent_ns(trace, event), copies["nbytes"][rows])
    ]


def _spent_ns(trace: Trace, event: np.ndarray) -> np.ndarray:
    """Time of each upload: on the link, or of the host, which prepares it when the call that needs it begins."""
    events = trace.events
    call, start_ns = events["call"][event], events["start_ns"][event]
    within = (call >= 0) & (events["start_ns"][call] <= start_ns) & (start_ns <= events["end_ns"][call])
    preparing_ns = np.minimum(start_ns - events["start_ns"][call], took_ns(trace)[call] // 2)
    return np.maximum(events["end_ns"][event] - start_ns, np.where(within, preparing_ns, 0))


def _finding(trace: Trace, same_array: bool, group: Group) -> Finding:
    what = "the same array" if same_array else "a constant"
    return statement(
        trace,
        KIND,
        group,
        confidence=0.9 if same_array else 0.6,
        title=f"{what} of {nbytes_text(group.cost_nbytes / len(group))} is moved to the device {times_text(len(group))}",
        reason="Host data meets device arrays in every turn, and is uploaded for it each time.",
        remedy="Upload it once, before the loop.",
        before="for step in range(n):\n    y = x[[0, 2, 1]]",
        after="order = xp.asarray([0, 2, 1])\nfor step in range(n): y = x[order]",
        valid_if="The data is the same in every turn.",
    )
