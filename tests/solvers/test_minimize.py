"""Does SciPy find the minima with our derivatives, for every method, tree and constraint, with fewer calls than by differences?"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import gradviz as gv
from gradviz.errors import CaptureError, NotDifferentiableError

START = np.array([-1.2, 1.0, 0.7])
GRADIENT = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"]
PRODUCTS = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
HESSIAN = ["dogleg", "trust-exact"]
NONE = ["Nelder-Mead", "Powell", "COBYLA"]
both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bowl(x: Any) -> Any:
    return np.sum((x - np.arange(1.0, len(x) + 1)) ** 2 * (1 + np.exp(x / 3)))


@pytest.mark.parametrize("method", [None, *GRADIENT, *PRODUCTS])
@both
def test_rosenbrock(method: str | None, compiled: bool) -> None:
    options = {"maxfun": 3000, "ftol": 1e-14} if method == "TNC" else {"maxiter": 3000}
    found = gv.minimize(rosenbrock, START, method=method, compiled=compiled, options=options)
    np.testing.assert_allclose(found.x, 1, atol=1e-3)
    assert found.fun == pytest.approx(rosenbrock(found.x))


@pytest.mark.parametrize("method", [*NONE, *HESSIAN])
def test_methods_with_whole_hessians_or_none(method: str) -> None:
    found = gv.minimize(bowl, np.array([0.8, 2.2]), method=method)
    want = scipy.optimize.minimize(
        bowl, np.array([0.8, 2.2]), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}
    )
    np.testing.assert_allclose(found.x, want.x, atol=1e-3)


def test_gradients_take_fewer_calls_than_differences() -> None:
    calls = 0

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return rosenbrock(x)

    start = np.tile([-1.2, 1.0], 10)
    by_differences = scipy.optimize.minimize(counted, start, method="BFGS")
    calls = 0
    found = gv.minimize(counted, start, method="BFGS", compiled=False)
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    assert calls * 10 < by_differences.nfev


@dataclasses.dataclass
class Model:
    scale: Any
    shift: Any


TREES = {
    "dict": {"a": np.zeros((2, 2)), "b": [1.0, np.ones(3)]},
    "dataclass": Model(np.zeros(2), {"x": np.float64(1.0)}),
    "single precision": {"w": np.zeros(3, np.float32)},
    "complex": [np.zeros(2, complex), 1.0],
    "number": 0.25,
    "matrix": np.zeros((2, 3)),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.mark.parametrize("name", TREES)
@both
def test_the_result_has_the_structure_of_the_start(name: str, compiled: bool) -> None:
    x0 = TREES[name]
    leaves, structure = gv.transforms.trees.flatten(x0)

    def loss(x: Any) -> Any:
        return sum(np.sum(np.abs(leaf - (k + 0.5)) ** 2) for k, leaf in enumerate(gv.transforms.trees.flatten(x)[0]))

    found = gv.minimize(loss, x0, compiled=compiled)
    got, same = gv.transforms.trees.flatten(found.x)
    assert same == structure
    for k, (leaf, start) in enumerate(zip(got, leaves, strict=True)):
        assert np.shape(leaf) == np.shape(start)
        assert np.result_type(leaf) == np.result_type(start)
        assert isinstance(leaf, np.ndarray) == isinstance(start, np.ndarray)
        np.testing.assert_allclose(leaf, k + 0.5, atol=1e-3)
    assert gv.transforms.trees.flatten(found.jac)[1] == structure


@both
def test_a_fit_with_bounds(compiled: bool) -> None:
    t = np.linspace(0, 3, 50)
    y = 2.0 * np.exp(-1.5 * t) + 0.3

    def misfit(p: Any, t: Any, y: Any) -> Any:
        return np.mean((p["scale"] * np.exp(-p["rate"] * t) + p["floor"] - y) ** 2)

    start = {"scale": 1.0, "rate": 1.0, "floor": 0.0}
    free = gv.minimize(misfit, start, (t, y), "L-BFGS-B", tol=1e-14, compiled=compiled)
    assert {k: round(float(v), 2) for k, v in free.x.items()} == {"scale": 2.0, "rate": 1.5, "floor": 0.3}
    bounds = {"scale": (0, None), "rate": (None, 1.2), "floor": None}
    held = gv.minimize(misfit, start, (t, y), "L-BFGS-B", bounds=bounds, tol=1e-14, compiled=compiled)
    assert held.x["rate"] == pytest.approx(1.2)
    want = scipy.optimize.minimize(
        lambda v: misfit(dict(zip(("floor", "rate", "scale"), v, strict=True)), t, y),
        [0.0, 1.0, 1.0], method="L-BFGS-B", bounds=[(None, None), (None, 1.2), (0, None)], tol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose([held.x[k] for k in ("floor", "rate", "scale")], want.x, atol=1e-3)


@pytest.mark.parametrize("bounds", [Bounds(-1, 1.5), [(-1, 1.5)] * 3, Bounds([-1, -1, -1], [1.5, 1.5, 1.5])])
def test_bounds_as_scipy_takes_them(bounds: Any) -> None:
    found = gv.minimize(bowl, np.zeros(3), bounds=bounds)
    want = scipy.optimize.minimize(bowl, np.zeros(3), bounds=bounds)
    np.testing.assert_allclose(found.x, want.x, atol=1e-4)


def test_bounds_of_each_array_hold_for_all_its_entries() -> None:
    found = gv.minimize(
        lambda p: np.sum((p[0] - 5) ** 2) + (p[1] + 5) ** 2,
        [np.zeros((2, 2)), 0.0],
        bounds=[(0, np.array([1, 2])), (-3, 0)],
    )
    np.testing.assert_allclose(found.x[0], [[1, 2], [1, 2]])
    assert found.x[1] == -3


CONSTRAINTS = {
    "dict": {"type": "eq", "fun": lambda x: x["a"] + x["b"][0] - 1.0},
    "several": [{"type": "ineq", "fun": lambda x: 1.0 - x["a"] - x["b"][0]}, {"type": "ineq", "fun": lambda x: x["a"] + x["b"][0] - 1.0}],
    "nonlinear": NonlinearConstraint(lambda x: x["a"] + x["b"][0], 1.0, 1.0),
    "linear": LinearConstraint(np.array([[1.0, 1.0, 0.0]]), 1.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints(name: str, method: str) -> None:
    def loss(x: Any) -> Any:
        return x["a"] ** 2 + np.sum((x["b"] - 2.0) ** 2)

    found = gv.minimize(loss, {"a": 0.3, "b": np.zeros(2)}, method=method, constraints=CONSTRAINTS[name])
    np.testing.assert_allclose([found.x["a"], *found.x["b"]], [-0.5, 1.5, 2.0], atol=1e-4)


def test_a_constraint_is_curved() -> None:
    circle = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 1.0)
    found = gv.minimize(lambda x: -x[0] - 2 * x[1], np.array([0.1, 0.1]), method="trust-constr", constraints=circle)
    np.testing.assert_allclose(found.x, np.array([1, 2]) / np.sqrt(5), atol=1e-4)


@pytest.mark.parametrize("method", ["BFGS", "trust-constr"])
def test_callbacks_see_the_structure(method: str) -> None:
    seen = []
    gv.minimize(
        lambda p: np.sum(p["w"] ** 2), {"w": np.ones(2)}, method=method, callback=lambda x, *_: seen.append(x["w"])
    )
    assert len(seen) > 1
    assert len({id(w) for w in seen}) == len(seen)


def test_callbacks_by_name() -> None:
    seen = []

    def look(intermediate_result: Any) -> None:
        seen.append((intermediate_result.x["w"].shape, intermediate_result.fun))

    gv.minimize(lambda p: np.sum(p["w"] ** 2), {"w": np.ones(2)}, method="BFGS", callback=look)
    assert seen[-1][0] == (2,)


def test_one_further_argument() -> None:
    assert gv.minimize(lambda x, c: (x - c) ** 2, 0.0, 4.0).x == pytest.approx(4.0)


def test_integers_are_no_unknowns() -> None:
    with pytest.raises(NotDifferentiableError, match=r"x0\['n'\] of minimize"):
        gv.minimize(lambda x: x["n"] ** 2, {"n": np.array([1, 2])})


def test_complex_numbers_have_no_bounds() -> None:
    with pytest.raises(ValueError, match="no order"):
        gv.minimize(lambda x: np.abs(x["z"]) ** 2, {"z": 1j}, bounds={"z": (0, 1)})


def test_what_cannot_be_captured_says_how_to_go_on() -> None:
    def reads(x: Any) -> Any:
        return np.sum(x**2) * (1 + 0 * round(float(np.sum(x))))

    with pytest.raises(CaptureError) as error:
        gv.minimize(reads, np.ones(2))
    assert any("compiled=False" in note for note in error.value.__notes__)
    np.testing.assert_allclose(gv.minimize(reads, np.ones(2), compiled=False).x, 0, atol=1e-6)
