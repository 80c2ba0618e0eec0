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
