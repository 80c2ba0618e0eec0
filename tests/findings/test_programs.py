"""Does each kind of finding speak about a program that has the fault, and keep silent about its near twin?"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gradviz as gv
from gradviz.findings.all import KINDS, find_all
from gradviz.findings.finding import Finding

# Other kinds that may speak about the program of a kind.
ALSO = {
    "saved_never_read": {"peak_memory"},
    "scalar_never_needed": {"peak_memory"},
    "sync_in_pullback": {"peak_memory"},
    "unused_cotangent": {"peak_memory"},
}


def found(kind: str, version: str) -> tuple[list[Finding], int]:
    program = import_module(f"tests.findings.programs.{kind}")
    with gv.profile() as p:
        getattr(program, version)(gv, np)
    return find_all(p.trace), p.trace.meta["duration_ns"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_fault_is_found(kind):
    findings, duration_ns = found(kind, "shows")
    mine = [finding for finding in findings if finding.kind == kind]
    assert mine, [str(finding) for finding in findings]
    assert {finding.kind for finding in findings if not finding.harmless} <= {kind} | ALSO.get(kind, set())
    assert sum(finding.cost_ns for finding in findings) <= duration_ns
    for finding in mine:
        assert not finding.harmless
        assert finding.cost_ns or finding.cost_nbytes
        assert Path(finding.where.rpartition(":")[0]).name == f"{kind}.py"
        assert finding.events
        assert all((finding.title, finding.reason, finding.remedy, finding.before, finding.after, finding.valid_if))
        assert finding.before.count("\n") <= 1
        assert finding.after.count("\n") <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_twin_is_silent(kind):
    findings, _ = found(kind, "silent")
    assert {finding.kind for finding in findings if not finding.harmless} <= ALSO.get(kind, set())


def test_every_kind_has_its_program():
    programs = {path.stem for path in (Path(__file__).parent / "programs").glob("*.py")}
    assert programs == set(KINDS)


def test_a_needed_copy_says_who_needs_it():
    findings, _ = found("defensive_copy", "needed")
    (copy,) = [finding for finding in findings if finding.kind == "defensive_copy"]
    assert copy.harmless
    assert copy.cost_ns == 0
    assert "needed, because the pullback of exp" in copy.title


@pytest.mark.parametrize(
    ("kind", "within"),
    [("sync_in_pullback", 0.25), ("scalar_never_needed", 0.25), ("sync_in_loop", 0.25), ("constant_upload", 0.5)],
)
def test_the_cost_is_what_the_twin_saves(kind, within):
    findings, shows_ns = found(kind, "shows")
    _, silent_ns = found(kind, "silent")
    claimed = sum(finding.cost_ns for finding in findings)
    assert abs(claimed - (shows_ns - silent_ns)) <= within * (shows_ns - silent_ns)


def test_a_scalar_that_nobody_needs():
    findings, _ = found("scalar_never_needed", "shows")
    assert "reads 2 scalars back per call" in findings[0].title
    assert findings[0].count == 20
    assert findings[0].simulated


def test_a_loss_read_in_every_step_is_harmless_if_the_device_is_the_bottleneck():
    def steps(read):
        xp = gv.simulate("t4", fresh=True)  # 4 ms for a product in double precision
        w = xp.ones((800, 800))
        with gv.profile() as p:
            for _ in range(3):
                loss, g = gv.value_and_grad(lambda w: np.mean((w @ w) ** 2))(w)
                w = w - 0.01 * g
                read(loss)
            np.sum(w).item()
        return p.trace.meta["duration_ns"], [one for one in find_all(p.trace) if one.kind == "sync_in_loop"]

    reading_ns, (finding,) = steps(float)
    silent_ns, nothing = steps(lambda loss: loss)
    assert reading_ns - silent_ns < 0.01 * silent_ns
    assert finding.harmless
    assert finding.cost_ns == 0
    assert "Harmless now" in finding.reason
    assert not nothing


def test_dense_zeros_warn_of_the_square():
    findings, _ = found("dense_zeros", "shows")
    assert "grow with the square" in findings[0].title
    assert findings[0].count == 999
    assert findings[0].cost_nbytes == 999 * (1000 - 1) * 8
