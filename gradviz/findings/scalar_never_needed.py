"""Whether a number is read back from the device that nobody needs.

The classic: a rule for ``C = α·A·B + β·C`` that makes the cotangents of all inputs together. Those of the scalars cost
a dot product and a wait for each call, although α is the literal 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.findings.evidence import Group
from gradviz.findings.finding import Finding
from gradviz.findings.pullbacks import part_ns
from gradviz.findings.waits import trigger_text, wait_findings, waits
from gradviz.record.trace import Trace
from gradviz.words import count_text

KIND = "scalar_never_needed"


def find(trace: Trace) -> list[Finding]:
    """Small values read from the device whose use is known to be nil."""
    every = waits(trace)
    chosen = np.flatnonzero(every.needless)
    pullback, trigger = every.pullback[chosen], every.trigger[chosen]

    work_ns = np.where(pullback >= 0, part_ns(trace)[pullback], 0)

    def in_pullback(group: Group, cost: str) -> dict[str, Any]:
        scalars = count_text(len(group) / len(np.unique(pullback[group.rows])), "scalar")
        return {
            "title": f"pullback of {group.name} reads {scalars} back per call, for cotangents that nobody needs",
            "reason": f"{trigger_text(trigger[group.rows])} reads cotangents of inputs that nobody differentiates; the "
            f"pullback makes them together with the others. {cost} What computes them is counted too.",
            "remedy": "Write one pullback for each input; gradviz calls only those that are needed.",
            "before": "@contract.pullback('A', 'alpha')\n"
            "def back(ct, A, B, alpha): return alpha * ct @ B.T, float(np.vdot(A @ B, ct))",
            "after": "@contract.pullback\ndef contract_to_A(ct, B, alpha): return alpha * ct @ B.T",
            "valid_if": "Nobody asks for these cotangents in this run. Where somebody does, their own pullbacks run.",
        }

    def texts(group: Group, cost: str) -> dict[str, Any]:
        if (pullback[group.rows] >= 0).all():
            return in_pullback(group, cost)
        return {
            "title": f"{count_text(len(group), 'value')} read back from the device and never used",
            "reason": f"{trigger_text(trigger[group.rows])} waits for the device; its result is dropped. {cost}",
            "remedy": "Leave the read out, or read when the value is printed.",
            "before": "value = float(loss)\nw = w - rate * g",
            "after": "w = w - rate * g",
            "valid_if": "The value is really never used.",
        }

    return wait_findings(trace, KIND, every, chosen, texts, work_ns)
