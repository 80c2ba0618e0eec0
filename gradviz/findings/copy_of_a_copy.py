"""Whether a copy was copied again, with nothing else done to the one in the middle."""

from __future__ import annotations

import numpy as np

from gradviz.findings.copies import copies
from gradviz.findings.evidence import Group, groups, statement
from gradviz.findings.finding import Finding
from gradviz.record.events import Reason
from gradviz.record.trace import Trace
from gradviz.words import count_text, nbytes_text

KIND = "copy_of_a_copy"


def find(trace: Trace) -> list[Finding]:
    """Copies whose source is itself a copy that nothing but these two used."""
    every = copies(trace)
    buffers = len(trace.buffers["nbytes"])
    made_by = np.full(buffers + 1, -1)
    copied = every.target >= 0
    made_by[every.target[copied]] = np.flatnonzero(copied)
    uses = np.bincount(trace.uses["buffer"], minlength=buffers + 1)
    again = np.flatnonzero((made_by[every.source] >= 0) & (every.source >= 0) & (uses[every.source] == 2))
    first = made_by[every.source[again]]
    grown = (every.reason[again] == Reason.BROADCAST) | (every.nbytes[first] > every.nbytes[again])
    again, first = again[~grown], first[~grown]
    return [
        _finding(trace, every.source[again[group.rows]], every.event[first[group.rows]], group)
        for group in groups(trace, every.event[again], every.took_ns[first], every.nbytes[first])
    ]


def _finding(trace: Trace, middle: np.ndarray, first: np.ndarray, group: Group) -> Finding:
    size = nbytes_text(group.cost_nbytes / len(group))
    return statement(
        trace,
        KIND,
        group,
        buffers=middle,
        events=np.concatenate([group.events, first]),
        title=f"{count_text(len(group), 'copy', 'copies')} of {size} copied again at once",
        reason="The array in the middle was written once, read once and dropped.",
        remedy="Make one copy that does both: the right order, dtype and memory at once.",
        before="a = x.T.copy()  # in a function\nb = a.copy()",
        after="b = x.T.copy()",
        valid_if="Nothing else looks at the first copy.",
    )
