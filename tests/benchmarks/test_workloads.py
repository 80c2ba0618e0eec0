"""Are the benchmarks fair: right gradients only, sensible estimates, a page that says what was measured?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    first_calls,
    goals,
    results,
    w1_evalpoly,
    w2_contract,
    w3_adam,
    w4_chain,
    w5_mlp,
    w6_buffer,
    w7_ode,
)
from benchmarks.workload import Case, Engine, Skip, Trial, Workload, WrongGradient, power_law

SMALL = {
    "W1": (w1_evalpoly.W, w1_evalpoly.make_case(50)),
    "W2 einsum": (w2_contract.W, w2_contract.make_case(4, "einsum", "AB")),
    "W2 tensordot": (w2_contract.W, w2_contract.make_case(4, "tensordot", "AB")),
    "W2 matmul": (w2_contract.W, w2_contract.make_case(4, "matmul", "A")),
    "W3": (w3_adam.W, w3_adam.make_case(3, 7, "3 x 7", 1)),
    "W4": (w4_chain.W, w4_chain.make_case(5, 10)),
    "W5": (w5_mlp.W, w5_mlp.make_case(8)),
    "W6": (w6_buffer.W, w6_buffer.make_case(10)),
    "W7": (w7_ode.W, w7_ode.make_case(4)),
}


@pytest.mark.parametrize("engine", ["gradviz", "gradviz compiled", "gradviz compiled, MKL"])
@pytest.mark.parametrize("name", SMALL)
def test_our_gradient_is_right(name: str, engine: str) -> None:
    workload, case = SMALL[name]
    found = [each for each in workload.engines if each.name == engine]
    if not found and engine.endswith("MKL"):
        assert name not in ("W5", "W2 einsum")
        return
    try:
        call, extract = found[0].make(case)
    except Skip:
        assert engine.endswith("MKL")
        return
    assert case.error(extract(call())) <= case.rtol
    if name != "W3":  # which goes on to the next step
        assert case.error(extract(call())) <= case.rtol, "a second call differs from the first"


WORKLOADS = {
    module.W.key: module.W for module in (w1_evalpoly, w2_contract, w3_adam, w4_chain, w5_mlp, w6_buffer, w7_ode)
}


@pytest.mark.parametrize("goal", goals.GOALS, ids=lambda goal: f"{goal.workload} {goal.case} {goal.other}")
def test_goals_are_about_what_is_measured(goal: goals.Goal) -> None:
    workload = WORKLOADS[goal.workload]
    assert goal.case in [case.name for case in workload.cases]
    assert {goal.ours, goal.other} <= {engine.name for engine in workload.engines}


@pytest.mark.parametrize("goal", goals.FIRST_CALLS, ids=lambda goal: f"{goal.workload} {goal.case}")
def test_first_calls_are_of_what_is_measured(goal: goals.FirstCall) -> None:
    workload = WORKLOADS[goal.workload]
    assert goal.case in [case.name for case in workload.cases]
    assert {goals.OURS, goal.rival} <= {engine.name for engine in workload.engines}


def test_the_table_of_goals_says_what_was_met_missed_and_not_measured() -> None:
    def row(case: str, engine: str, seconds: float) -> dict[str, object]:
        return {"case": case, "engine": engine, "min_s": seconds, "median_s": 2 * seconds}

    numba, scan = "numba hand-written adjoint", "jax.jit, lax.scan over p"
    rows = [row("N=1000", goals.OURS, 1.2), row("N=1000", numba, 1.0), row("N=1000", scan, 2.4)]
    rows += [row("N=10000", goals.OURS, 1.0), {"case": "N=10000", "engine": numba, "note": "skipped: a|b"}]
    lines = list(goals.table({"W1": {"rows": rows}}))
    assert f"| W1 | N=1000 | compiled / {numba} | 1.2× (1.2) | ≤ 1.3× | met |" in lines
    assert f"| W1 | N=1000 | {scan} / compiled | 2× (2) | ≥ 4× | missed |" in lines
    assert any("skipped: a/b" in line for line in lines)
    assert any("not measured" in line for line in lines)
    assert len({line.count("|") for line in lines}) == 1


def test_a_first_call_is_measured_in_another_process(tmp_path: Path) -> None:
    goal = goals.FirstCall("W1", "N=1000")
    seconds = first_calls.elsewhere(goal, goals.OURS, str(tmp_path))
    assert seconds is not None
    assert 0 < seconds < 60
    assert list(tmp_path.rglob("*")), "kernels are kept"
    assert first_calls.elsewhere(goal, "no such engine", str(tmp_path)) is None


def square(case: Case, factor: float = 2.0):
    x = case.inputs["x"]
    return (lambda: factor * x), lambda out: {"x": out}


def toy() -> Workload:
    workload = Workload("W0", "a square", unit="entry")
    workload.patience_s = 0.0
    x = np.arange(1000.0)
    workload.cases = [Case("n=1000", 1000, {"x": x}, lambda: {"x": 2 * x}, unit_count=1000)]
    return workload


def test_a_wrong_gradient_is_reported_and_not_timed() -> None:
    workload = toy()
    workload.engine("right")(square)
    workload.engine("wrong")(lambda case: square(case, 2.1))
    workload.run_case(workload.cases[0])
    wrong, right = workload.rows
    assert (wrong["engine"], wrong["wrong"]) == ("wrong", True)
    assert "median_s" not in wrong
    assert 0 < right["min_s"] <= right["median_s"] <= right["max_s"]
    assert right["ns_per_unit"] == pytest.approx(right["median_s"] * 1e6)


def test_shapes_count() -> None:
    case = toy().cases[0]
    with pytest.raises(WrongGradient, match="shape"):
        case.error({"x": np.zeros((1000, 1))})


def test_an_engine_that_failed_leaves_its_message() -> None:
    workload = toy()

    @workload.engine("broken")
    def broken(case: Case):
        raise NotImplementedError("no squares here")

    workload.run_case(workload.cases[0])
    assert workload.rows[0]["note"] == "failed: NotImplementedError: no squares here"


def test_times_are_extrapolated_by_a_power_law() -> None:
    assert power_law([(10, 1.0), (20, 4.0)], 40, 1.0) == pytest.approx(16.0)
    assert power_law([(10, 1.0)], 40, 1.0) == pytest.approx(4.0)
    assert power_law([(10, 1.0)], 5, 1.0) == 1.0


def test_what_would_take_minutes_is_skipped() -> None:
    case = Case("large", 10_000, {}, dict)
    engine = Engine("slow", square, trials=[Trial(100, 100, 0.1, 0.1, 0), Trial(1000, 1000, 10.0, 10.0, 0)])
    assert "estimated" in (engine.reason_to_skip(case) or "")
    quick = Engine("quick", square, trials=[Trial(100, 100, 1e-4, 1e-4, 0), Trial(1000, 1000, 1e-3, 1e-3, 0)])
    assert quick.reason_to_skip(case) is None


def test_the_page_holds_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "PAGE", tmp_path / "results.md")
    workload = toy()
    workload.path = tmp_path / "W0.json"
    workload.engine("gradviz")(square)
    workload.limit("by hand")(square)
    workload.engine("broken")(lambda case: {}["a|b"])
    workload.run_case(workload.cases[0])
    workload.save()
    figure = {"what": "a ratio", "value": 3.2, "low": 3.1, "high": 3.4, "goal": 4, "at_most": True, "unit": "×"}
    eager = {"machine": "a machine", "versions": {"numpy": "2"}, "figures": [{**figure, "met": True}]}
    first = {"workload": "W7", "case": "steps=2000", "cold_s": 1.0, "kept_s": 0.6, "rival_s": 2.0}
    (tmp_path / "first.json").write_text(json.dumps({"first_calls": [first]}))
    (tmp_path / "eager.json").write_text(json.dumps(eager))
    page = results.write().read_text()
    assert "| 3.2× (3.1 to 3.4) | ≤ 4× | met |" in page
    assert "a machine" in page
    assert "| W7 | steps=2000 | 1 s | ≤ 1.5 s | met | 0.6 s | ≤ 0.5 s | missed | jax.jit, lax.scan | 2 s |" in page
    assert "| *by hand* (limit) |" in page
    assert "failed: KeyError: 'a/b'" in page
    for table in page.split("\n\n"):
        assert len({row.count("|") for row in table.splitlines() if row.startswith("|")}) <= 1, table
