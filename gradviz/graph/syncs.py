"""Where the host waited for a device, by trigger and line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.record.events import Answer, Flag, Trigger
from gradviz.record.trace import Trace


@dataclass(frozen=True)
class Syncs:
    """Waits with one trigger on one line, in the forward or in the backward pass.

    Attributes
    ----------
    wait_ns : how long the host waited
    idle_ns : how long the device then had nothing to do
    unused : how many of the values read were never used
    """

    trigger: Trigger
    where: str
    backward: bool
    count: int
    wait_ns: int
    idle_ns: int
    unused: int


def syncs_by_trigger(trace: Trace) -> list[Syncs]:
    """The real waits of ``trace``, the longest first; values read on the host cost nothing and are left out.

    Examples
    --------
    >>> syncs_by_trigger(trace)[0].trigger  # doctest: +SKIP
    <Trigger.FLOAT: 1>
    """
    events = trace.events
    syncs = {name: column[trace.syncs["on_device"] == 1] for name, column in trace.syncs.items()}
    row = syncs["event"]
    backward = (events["flags"][row] & Flag.BACKWARD) != 0
    keys = np.stack([syncs["trigger"].astype(np.int64), events["site"][row], backward], axis=1)
    groups, which = np.unique(keys, axis=0, return_inverse=True)
    weights = (None, syncs["host_wait_ns"], syncs["device_idle_ns"], syncs["value_used"] == Answer.NO)
    sums = np.stack([np.bincount(which, weight, len(groups)) for weight in weights], axis=1).astype(np.int64).tolist()
    found = [
        Syncs(Trigger(trigger), trace.place(site), bool(late), *figures)
        for (trigger, site, late), figures in zip(groups.tolist(), sums, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.wait_ns - one.idle_ns, -one.count))
