"""Does SciPy fit curves with our Jacobians as it does with its own differences, in fewer calls?"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds

import gradviz as gv

T = np.linspace(0, 4, 60)
TRUE = {"a": 2.5, "k": np.array([1.3, 0.2])}


def model(p: Any, t: Any) -> Any:
    return p["a"] * np.exp(-p["k"][0] * t) + np.cos(p["k"][1] * t)


DATA = model(TRUE, T) + 0.02 * np.random.default_rng(0).standard_normal(len(T))
START = {"a": 1.0, "k": np.array([0.5, 0.5])}
both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def residuals(p: Any, t: Any, y: Any) -> Any:
    return model(p, t) - y


def flat(v: Any, t: Any, y: Any) -> Any:
    return residuals({"a": v[0], "k": v[1:]}, t, y)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@both
def test_a_curve(method: str, compiled: bool) -> None:
    found = gv.least_squares(residuals, START, (T, DATA), method=method, compiled=compiled)
    theirs = scipy.optimize.least_squares(flat, [1.0, 0.5, 0.5], args=(T, DATA), method=method, jac="3-point")
    np.testing.assert_allclose([found.x["a"], *found.x["k"]], theirs.x, rtol=1e-5)
    np.testing.assert_allclose(found.jac, theirs.jac, rtol=1e-6, atol=1e-7)
    assert isinstance(found.x["a"], float)
    assert found.grad["k"].shape == (2,)
    assert found.cost == pytest.approx(theirs.cost)


@both
def test_bounds(compiled: bool) -> None:
    for bounds in (
        ({"a": 0.0, "k": np.array([0.0, 0.0])}, {"a": 2.0, "k": None}),
        (0.0, [2.0, np.inf, np.inf]),
        Bounds([0, 0, 0], [2.0, np.inf, np.inf]),
    ):
        found = gv.least_squares(residuals, START, (T, DATA), bounds=bounds, compiled=compiled)
        theirs = scipy.optimize.least_squares(flat, [1.0, 0.5, 0.5], args=(T, DATA), bounds=(0, [2.0, np.inf, np.inf]))
        np.testing.assert_allclose([found.x["a"], *found.x["k"]], theirs.x, rtol=1e-4)


def test_outliers() -> None:
    dirty = DATA.copy()
    dirty[::10] += 3
    found = gv.least_squares(residuals, START, (T, dirty), loss="soft_l1", f_scale=0.1)
    theirs = scipy.optimize.least_squares(flat, [1.0, 0.5, 0.5], args=(T, dirty), loss="soft_l1", f_scale=0.1)
    np.testing.assert_allclose([found.x["a"], *found.x["k"]], theirs.x, rtol=1e-3)


def test_residuals_of_any_shape() -> None:
    a = np.arange(6.0).reshape(2, 3)
    found = gv.least_squares(lambda x: x - a, np.zeros((2, 3)))
    np.testing.assert_allclose(found.x, a)
    assert found.jac.shape == (6, 6)


def test_more_parameters_than_residuals() -> None:
    found = gv.least_squares(lambda x: np.stack([np.sum(x) - 3, x[0] - x[1]]), np.zeros(4))
    assert found.cost == pytest.approx(0, abs=1e-12)


def test_many_fits_share_one_plan() -> None:
    def fun(p: Any, t: Any, y: Any) -> Any:
        return residuals(p, t, y)

    gv.least_squares(fun, START, (T, DATA))
    kept = vars(fun)["__gradviz_solvers__"]
    plans = {key: list(fast.plans.values()) for key, fast in kept.items()}
    for k in range(3):
        found = gv.least_squares(fun, START, (T, DATA + 0.01 * k))
        assert found.success
    assert {key: list(fast.plans.values()) for key, fast in kept.items()} == plans
    assert all(len(paths) == 1 for each in plans.values() for paths in each)
    assert pickle.loads(pickle.dumps(kept)) == {}
