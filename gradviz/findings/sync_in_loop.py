"""Whether a loop waits for the device in every turn, to log or to decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.findings.evidence import Group
from gradviz.findings.finding import Finding
from gradviz.findings.waits import SIZE_TRIGGERS, trigger_text, wait_findings, waits
from gradviz.record.trace import Trace
from gradviz.words import times_text

KIND = "sync_in_loop"
_TURNS = 3


def find(trace: Trace) -> list[Finding]:
    """Waits outside pullbacks that one line made at least three times."""
    every = waits(trace)
    site = trace.events["site"][every.events]
    repeated = np.bincount(site + 1, minlength=1)[site + 1] >= _TURNS if len(site) else np.zeros(0, bool)
    chosen = np.flatnonzero(repeated & (every.pullback < 0) & ~every.needless & ~np.isin(every.trigger, SIZE_TRIGGERS))
    trigger = every.trigger[chosen]

    def texts(group: Group, cost: str) -> dict[str, Any]:
        what = trigger_text(trigger[group.rows])
        return {
            "title": f"{what} waits for the device {times_text(len(group))}",
            "reason": f"{what} needs a value that the device has yet to compute, so no turn of the loop is handed over "
            f"before the last one is done. {cost}",
            "remedy": "Collect the 0-d arrays and read them together after the loop, or look only at every hundredth.",
            "before": "losses.append(float(loss))",
            "after": "losses.append(loss)\nprint(np.stack(losses).tolist())  # after the loop",
            "valid_if": "The next turn does not depend on the value: no early stop, no step size chosen from it.",
        }

    return wait_findings(trace, KIND, every, chosen, texts)
