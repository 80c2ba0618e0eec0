"""Are the benchmarks fair: right gradients only, sensible estimates, a page that says what was measured?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import results, w1_evalpoly, w2_contract, w4_chain, w5_mlp, w6_buffer, w7_ode
from benchmarks.workload import Case, Engine, Trial, Workload, WrongGradient, power_law

SMALL = {
    "W1": (w1_evalpoly.W, w1_evalpoly.make_case(50)),
    "W2 einsum": (w2_contract.W, w2_contract.make_case(4, "einsum", "AB")),
    "W2 tensordot": (w2_contract.W, w2_contract.make_case(4, "tensordot", "AB")),
    "W2 matmul": (w2_contract.W, w2_contract.make_case(4, "matmul", "A")),
    "W4": (w4_chain.W, w4_chain.make_case(5, 10)),
    "W5": (w5_mlp.W, w5_mlp.make_case(8)),
    "W6": (w6_buffer.W, w6_buffer.make_case(10)),
    "W7": (w7_ode.W, w7_ode.make_case(4)),
}


@pytest.mark.parametrize(("workload", "case"), SMALL.values(), ids=SMALL)
def test_our_gradient_is_right(workload: Workload, case: Case) -> None:
    PLACE
    call, extract = ours.make(case)
    assert case.error(extract(call())) <= case.rtol
    assert case.error(extract(call())) <= case.rtol, "a second call differs from the first"


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
    (tmp_path / "eager.json").write_text(json.dumps(eager))
    page = results.write().read_text()
    assert "| 3.2× (3.1 to 3.4) | ≤ 4× | met |" in page
    assert "a machine" in page
    assert "| *by hand* (limit) |" in page
    assert "failed: KeyError: 'a/b'" in page
    for table in page.split("\n\n"):
        assert len({row.count("|") for row in table.splitlines() if row.startswith("|")}) <= 1, table
