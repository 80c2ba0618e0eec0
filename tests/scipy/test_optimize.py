"""Do the solutions that `scipy.optimize` finds have the derivatives of the equations?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import ConvergenceError, MissingRuleError, NotDifferentiableError
from gradviz.scipy import optimize


@pytest.mark.parametrize("name", ["brentq", "brenth", "bisect", "ridder", "toms748"])
def test_root_in_a_bracket(name):
    def solve(a):
        return getattr(optimize, name)(lambda x, b: x**3 - a * b, 0.0, 10.0, args=(2.0,))

    assert gv.grad(solve)(4.0) == pytest.approx(2.0 / 12.0, rel=1e-6)
    assert gv.grad(gv.grad(solve))(4.0) == pytest.approx(-2 / 9 * 2 * 2 * 8 ** (-5 / 3), rel=1e-5)


def test_newton_and_fixed_point():
    assert gv.grad(lambda a: optimize.newton(lambda x: x**2 - a, 1.0))(4.0) == pytest.approx(0.25)
    got = gv.grad(lambda a: optimize.fixed_point(lambda x, a: np.cos(a * x), 0.7, (a,)))(1.0)
    x = float(optimize.fixed_point(np.cos, 0.7))
    assert got == pytest.approx(-np.sin(x) * x / (1 + np.sin(x)), rel=1e-6)


def test_root_and_minimum_keep_scipys_report():
    a = np.array([4.0, 9.0])

    def total(a):
        found = optimize.root(lambda x: x**2 - a, [1.0, 1.0])
        assert found.success
        assert found.nfev > 0
        return np.sum(found.x)

    np.testing.assert_allclose(gv.grad(total)(a), 0.5 / np.sqrt(a), rtol=1e-6)
    value = gv.grad(lambda c: optimize.minimize(lambda x: np.sum((x - 1) ** 2) + c * np.sum(x**2), np.zeros(1)).fun)(
        1.0
    )
    assert value == pytest.approx(0.25, rel=1e-5)


def test_plain_calls_give_what_scipy_gives():
    assert optimize.brentq(np.cos, 0.0, 3.0) == pytest.approx(np.pi / 2)
    assert optimize.root(lambda x: x - 1, [0.0]).x == pytest.approx(1.0)


def test_what_cannot_be_done_says_why():
    with pytest.raises(NotDifferentiableError, match="minimize with bounds"):
        optimize.minimize(np.sum, np.zeros(1), bounds=[(0, 1)])
    with pytest.raises(ConvergenceError, match="root found no solution"):
        optimize.root(lambda x: x**2 + 1, [1.0])
    with pytest.raises(MissingRuleError, match=r"scipy\.optimize\.rosen has no derivative"):
        gv.grad(optimize.rosen)(np.ones(3))


@pytest.mark.parametrize(
    "where",
    [{"bracket": (0, 10)}, {"x0": 2.0, "method": "newton"}, {"x0": 2.0, "method": "halley"}, {"x0": 1, "x1": 3}],
)
def test_root_scalar(where):
    def solve(a):
        found = optimize.root_scalar(lambda x, b: x**3 - a * b, args=(2.0,), **where)
        assert found.converged
        return found.root

    assert gv.grad(solve)(4.0) == pytest.approx(2.0 / 12.0, rel=1e-6)
    assert gv.grad(gv.grad(solve))(4.0) == pytest.approx(-2 / 9 * 2 * 2 * 8 ** (-5 / 3), rel=1e-5)
    assert gv.jvp(solve, (4.0,), (1.0,))[1] == pytest.approx(2.0 / 12.0, rel=1e-6)


@pytest.mark.parametrize("where", [{}, {"bracket": (0, 1)}, {"bounds": (-5, 5), "options": {"xatol": 1e-10}}])
def test_minimize_scalar(where):
    def least(a):
        return optimize.minimize_scalar(lambda x, b: (x - a) ** 2 + b * x**4, args=(0.1,), **where)

    x = float(least(2.0).x)
    slope = 2 / (2 + 1.2 * x**2)
    assert gv.grad(lambda a: least(a).x)(2.0) == pytest.approx(slope, rel=1e-6)
    assert gv.grad(lambda a: least(a).fun)(2.0) == pytest.approx(-2 * (x - 2.0), rel=1e-6)


def test_a_minimum_at_a_bound_is_refused():
    with pytest.raises(NotDifferentiableError, match="at a bound"):
        gv.grad(lambda a: optimize.minimize_scalar(lambda x: a * x, bounds=(0, 1)).x)(1.0)


def test_no_root_is_an_error():
    with pytest.raises(ConvergenceError, match="no root"):
        gv.grad(lambda a: optimize.root_scalar(lambda x: x * x + a, x0=1.0, x1=2.0, maxiter=5).root)(1.0)
