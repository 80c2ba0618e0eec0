"""How long a run would have taken without some of its waits.

The trace is replayed as a max-plus recurrence. Between two waits the host works for a known time and hands work to the
device; the device takes up each piece when it was handed over and the one before is done. So a wait that is left out
lets the host run ahead, and is worth only what the end of the run then moves: nothing, if the device was busy all the
time.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import on_device
from gradviz.record.trace import Trace

_NEVER = -(1 << 60)


class Replay:
    """A run cut into stretches at its waits.

    >>> Replay(trace).saved_ns(waits)  # doctest: +SKIP
    198000000
    """

    def __init__(self, trace: Trace) -> None:
        events, syncs = trace.events, trace.syncs
        waits = np.flatnonzero(syncs["on_device"] == 1)
        asked_ns = events["start_ns"][syncs["event"][waits]]
        order = np.argsort(asked_ns, kind="stable")
        self.waits, asked_ns = waits[order], asked_ns[order]
        done_ns = asked_ns + syncs["host_wait_ns"][self.waits]
        end_ns = max(trace.duration_ns, int(done_ns.max(initial=0)))
        begin_ns = np.concatenate(([0], done_ns))
        until_ns = np.maximum(np.append(asked_ns, end_ns), begin_ns)

        rows = np.flatnonzero(on_device(trace))
        rows = rows[np.argsort(events["start_ns"][rows], kind="stable")]
        start_ns = events["start_ns"][rows]
        reached_ns = np.maximum.accumulate(events["end_ns"][rows])
        work_ns = np.maximum(reached_ns - np.maximum(start_ns, np.concatenate(([0], reached_ns[:-1]))), 0)
        stretch = np.searchsorted(done_ns, start_ns, side="right")
        # What starts while the host waits was handed over before it did.
        handed_ns = np.minimum(start_ns, until_ns[stretch]) - begin_ns[stretch]

        self.work_ns = np.bincount(stretch, work_ns, len(begin_ns)).astype(np.int64)
        before_ns = np.cumsum(work_ns) - work_ns
        all_before_ns = np.cumsum(self.work_ns)
        tail_ns = all_before_ns[stretch] - before_ns  # this piece and all after it in its stretch
        self.reach_ns = np.full(len(begin_ns), _NEVER)
        np.maximum.at(self.reach_ns, stretch, handed_ns + tail_ns)
        self.host_ns = until_ns - begin_ns
        last = np.searchsorted(start_ns, done_ns, side="left") - 1
        finished_ns = np.where(last >= 0, np.append(reached_ns, 0)[last], 0)
        self.lag_ns = np.maximum(done_ns - np.maximum(np.minimum(finished_ns, done_ns), asked_ns), 0)
        self.left_ns = np.maximum(finished_ns - done_ns, 0)  # work of other streams, which the wait did not wait for
        self.all_ns = self._takes_ns(np.ones(len(self.waits), bool))

    def saved_ns(self, waits: np.ndarray) -> int:
        """How much sooner the run would have ended without these rows of ``trace.syncs``."""
        return max(self.all_ns - self._takes_ns(~np.isin(self.waits, waits)), 0)

    def _takes_ns(self, kept: np.ndarray) -> int:
        host = device = 0
        stretches = (self.work_ns, self.reach_ns, self.host_ns)
        waits = (np.append(kept, False), np.append(self.lag_ns, 0), np.append(self.left_ns, 0))
        for work, reach, busy, keep, lag, left in zip(*(c.tolist() for c in (*stretches, *waits)), strict=True):
            device = max(device + work, host + reach)
            host += busy
            if keep:
                host = max(host, device - left) + lag
        return max(host, device)
