"""Which copies were made, by reason and line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.record.events import Reason
from gradviz.record.trace import Trace


@dataclass(frozen=True)
class Copies:
    """Copies made for one reason on one line; ``took_ns`` is how long they took together."""

    reason: Reason
    where: str
    count: int
    nbytes: int
    took_ns: int


def copies_by_reason(trace: Trace) -> list[Copies]:
    """The copies of ``trace``, those that moved most bytes first.

    Examples
    --------
    >>> copies_by_reason(trace)[0].reason  # doctest: +SKIP
    <Reason.CONTIGUOUS: 3>
    """
    copies, events = trace.copies, trace.events
    row = copies["event"]
    took_ns = (events["end_ns"] - events["start_ns"])[row]
    keys = np.stack([copies["reason"].astype(np.int64), events["site"][row]], axis=1)
    groups, which = np.unique(keys, axis=0, return_inverse=True)
    count = np.bincount(which, minlength=len(groups))
    nbytes, took = (np.bincount(which, values, len(groups)) for values in (copies["nbytes"], took_ns))
    found = [
        Copies(Reason(reason), trace.place(site), int(count[i]), int(nbytes[i]), int(took[i]))
        for i, (reason, site) in enumerate(groups.tolist())
    ]
    return sorted(found, key=lambda copies: (-copies.nbytes, -copies.took_ns))
