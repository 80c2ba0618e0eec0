"""Whether the host waits because the shape of a result depends on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.findings.evidence import Group, backward, inside
from gradviz.findings.finding import Finding
from gradviz.findings.waits import SIZE_TRIGGERS, trigger_text, wait_findings, waits
from gradviz.record.events import Kind
from gradviz.record.trace import Trace
from gradviz.words import times_text

KIND = "shape_sync"


def find(trace: Trace) -> list[Finding]:
    """Waits outside pullbacks for the size of a result: masks as index, nonzero, unique."""
    every = waits(trace)
    chosen = np.flatnonzero((every.pullback < 0) & np.isin(every.trigger, SIZE_TRIGGERS))
    call, late = inside(trace, Kind.CALL), backward(trace)
    trigger = every.trigger[chosen]

    def texts(group: Group, cost: str) -> dict[str, Any]:
        caller = int(call[group.events[0]])
        name = trace.name(caller) if caller >= 0 else "the backward pass" if late[group.events[0]] else "a call"
        return {
            "title": f"{name} waits {times_text(len(group))} to know how large its result is",
            "reason": f"The host cannot go on before it knows the shape of what comes from "
            f"{trigger_text(trigger[group.rows])}, and that depends on values on the device. {cost}",
            "remedy": "Keep the full shape and put in a neutral value where the mask is false.",
            "before": "picked = x[x > 0]\ntotal = np.sum(picked)",
            "after": "picked = np.where(x > 0, x, 0.0)\ntotal = np.sum(picked)",
            "valid_if": "What follows has a neutral value: 0 for sums, 1 for products.",
        }

    return wait_findings(trace, KIND, every, chosen, texts)
