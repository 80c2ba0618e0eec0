"""What must a compiled gradient reach? Ratios to limits written by hand and to the rivals, each with its goal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OURS, MKL = "gradviz compiled", "gradviz compiled, MKL"


@dataclass(frozen=True)
class Goal:
    """A bound for one engine of ours beside another, in one case of a workload.

    Attributes
    ----------
    at_most : our time by the other's
    at_least : the other's time by ours
    """

    workload: str
    case: str
    other: str
    at_most: float = 0.0
    at_least: float = 0.0
    ours: str = OURS

    @property
    def bound(self) -> str:
        return f"≤ {self.at_most:g}×" if self.at_most else f"≥ {self.at_least:g}×"

    def ratio(self, ours_s: float, other_s: float) -> float:
        return ours_s / other_s if self.at_most else other_s / ours_s

    def met(self, ratio: float) -> bool:
        return ratio <= self.at_most if self.at_most else ratio >= self.at_least


def w2(case: str) -> Iterator[Goal]:
    yield Goal("W2", case, "numpy hand-written adjoint, out=", at_most=1.1)
    yield Goal("W2", case, "torch eager", at_least=1)
    yield Goal("W2", case, "jax.jit", at_least=1)
    yield Goal("W2", case, "MKL hand-written adjoint, out=", at_most=1.2, ours=MKL)


def against(workload: str, cases: list[str], other: str, **bound: float) -> Iterator[Goal]:
    return (Goal(workload, case, other, **bound) for case in cases)


W1, W4 = ["N=1000", "N=10000", "N=100000"], ["n=1", "n=100", "n=10000", "n=1000000"]
W3, W6 = ["1 x 10M", "200 x 50k", "2000 x 500"], ["n=1000", "n=10000"]
W2 = [f"D=32 {form} wrt {wrt}" for form in ("einsum", "tensordot", "matmul") for wrt in ("A", "AB")]
W2 += [f"D=64 {form} wrt AB" for form in ("einsum", "tensordot", "matmul")]

GOALS = [
    *against("W1", W1, "numba hand-written adjoint", at_most=1.3),
    *against("W1", W1, "jax.jit, lax.scan over p", at_least=4),
    *(goal for case in W2 for goal in w2(case)),
    *against("W3", W3, "numba fused in-place kernel, parallel", at_most=1.15),
    *against("W4", W4, "C fused adjoint (gcc, libmvec, OpenMP)", at_most=1.5),
    *against("W4", W4, "jax.jit, lax.scan", at_least=1),
    Goal("W5", "batch=128", "numpy hand-written adjoint, out=", at_most=1.05),
    Goal("W5", "batch=128", "torch eager", at_least=1, ours=MKL),
    *against("W6", W6, "numpy hand-written adjoint, whole buffer", at_most=1.3),
    Goal("W7", "steps=2000", "numba hand-written adjoint", at_most=1.5),
    Goal("W7", "steps=2000", "jax.jit, lax.scan", at_least=70),
]


@dataclass(frozen=True)
class FirstCall:
    """Bounds in seconds for a first call in a fresh process: with nothing kept on disk, and with the kernels there."""

    workload: str
    case: str
    cold_s: float = 1.5
    kept_s: float = 0.5
    rival: str = ""


FIRST_CALLS = [
    FirstCall("W1", "N=10000", rival="jax.jit, lax.scan over p"),
    *(FirstCall("W3", case, 2.0, 0.3, "optax.adam jax.jit, donated") for case in W3),
    *(FirstCall("W4", case, rival="jax.jit, lax.scan") for case in W4),
    FirstCall("W7", "steps=2000", rival="jax.jit, lax.scan"),
]


def table(parts: dict[str, Any]) -> Iterator[str]:
    """Each goal with what was measured; by the fastest samples, in brackets by the medians."""
    rows = {(key, row["case"], row["engine"]): row for key, part in parts.items() for row in part["rows"]}
    yield "| | case | a / b | ratio | goal | |"
    yield "|---|---|---|---|---|---|"
    for goal in GOALS:
        ours, other = (rows.get((goal.workload, goal.case, engine)) for engine in (goal.ours, goal.other))
        if ours is None and other is None:
            continue
        name = (
            f"{goal.ours.removeprefix('gradviz ')} / {goal.other}"
            if goal.at_most
            else f"{goal.other} / {goal.ours.removeprefix('gradviz ')}"
        )
        cells = [goal.workload, goal.case, name]
        missing = next((row for row in (ours, other) if row is None or "min_s" not in row), None)
        if ours is None or other is None or missing is not None:
            note = (missing or {}).get("note", "not measured").replace("|", "/")
            yield f"| {' | '.join(cells)} | {note} | {goal.bound} | |"
            continue
        ratio = goal.ratio(ours["min_s"], other["min_s"])
        typical = goal.ratio(ours["median_s"], other["median_s"])
        outcome = "met" if goal.met(ratio) else "missed"
        cells += [f"{ratio:.3g}× ({typical:.3g})", goal.bound, outcome]
        yield f"| {' | '.join(cells)} |"


def first_calls(measured: list[dict[str, Any]]) -> Iterator[str]:
    """First calls in fresh processes, with the rival's."""
    yield "| | case | nothing on disk | goal | | program and kernels on disk | goal | | rival | |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for goal in FIRST_CALLS:
        found = next((m for m in measured if (m["workload"], m["case"]) == (goal.workload, goal.case)), None)
        if found is None:
            continue
        cells = [goal.workload, goal.case]
        for seconds, bound in ((found["cold_s"], goal.cold_s), (found["kept_s"], goal.kept_s)):
            cells += [f"{seconds:.3g} s", f"≤ {bound:g} s", "met" if seconds <= bound else "missed"]
        rival_s = found["rival_s"]
        cells += [goal.rival, "" if rival_s is None else f"{rival_s:.3g} s"]
        yield f"| {' | '.join(cells)} |"
