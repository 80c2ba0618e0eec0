"""Whether a pullback makes the host wait for the device.

Such a wait comes once for each call of the forward pass, in the middle of the backward pass, where the device should
never run dry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.findings.evidence import Group
from gradviz.findings.finding import Finding
from gradviz.findings.waits import trigger_text, wait_findings, waits
from gradviz.record.trace import Trace
from gradviz.words import count_text

KIND = "sync_in_pullback"


def find(trace: Trace) -> list[Finding]:
    """Waits inside pullbacks, but for those that `scalar_never_needed` speaks of."""
    every = waits(trace)
    chosen = np.flatnonzero((every.pullback >= 0) & ~every.needless)
    pullback, trigger = every.pullback[chosen], every.trigger[chosen]

    def texts(group: Group, cost: str) -> dict[str, Any]:
        per_call = len(group) / len(np.unique(pullback[group.rows]))
        return {
            "title": f"pullback of {group.name} waits for the device {count_text(per_call, 'time')} per call",
            "reason": f"{trigger_text(trigger[group.rows])} needs values that the device has yet to compute. {cost}",
            "remedy": "Leave the value on the device, where a 0-d array does all that a number does.",
            "before": "scale = float(np.vdot(ct, out))\nreturn ct * scale",
            "after": "scale = np.vdot(ct, out)\nreturn ct * scale",
            "valid_if": "The value goes into array arithmetic. Where Python branches on it, use np.where.",
        }

    return wait_findings(trace, KIND, every, chosen, texts)
