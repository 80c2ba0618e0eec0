"""Are derivatives of integrals, and of solutions of differential equations, those of differences, whatever they depend on?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import ConvergenceError, NotDifferentiableError
from gradviz.scipy import integrate

TIMES = np.linspace(0, 2, 4)
FINE = {"rtol": 1e-8, "atol": 1e-9}


def difference(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


def check(f, x, rtol=1e-6, second=True):
    want = difference(f, x)
    assert gv.grad(f)(x) == pytest.approx(want, rel=rtol, abs=rtol)
    assert gv.jvp(f, (x,), (1.0,))[1] == pytest.approx(want, rel=rtol, abs=rtol)
    if second:
        want = difference(gv.grad(f), x)
        assert gv.grad(gv.grad(f))(x) == pytest.approx(want, rel=10 * rtol, abs=10 * rtol)
        assert gv.jvp(gv.grad(f), (x,), (1.0,))[1] == pytest.approx(want, rel=10 * rtol, abs=10 * rtol)


INTEGRALS = {
    "closure, to infinity": lambda a: integrate.quad(lambda x: np.exp(-a * x), 0, np.inf)[0],
    "args": lambda a: integrate.quad(lambda x, p, q: np.exp(-p * x) * q, 0, 3, (a, a * a))[0],
    "limits": lambda a: integrate.quad(lambda x: np.sin(a * x), a, a**2)[0],
    "a limit alone": lambda a: integrate.quad(lambda x: x**2, 0, a)[0],
    "reversed limits": lambda a: integrate.quad(lambda x: x**2 * a, a, 0)[0],
    "a singular end": lambda a: integrate.quad(lambda x: np.cos(a * x) / np.sqrt(x), 0, a)[0],
    "a weight": lambda a: integrate.quad(lambda x: np.exp(-a * x), 0, 1, weight="cos", wvar=3.0)[0],
    "complex": lambda a: np.abs(integrate.quad(lambda x: np.exp(1j * a * x), 0, a, complex_func=True)[0]),
    "vectors": lambda a: np.sum(integrate.quad_vec(lambda x: np.sin(a * x * np.arange(3.0)), 0, a)[0] ** 2),
    "fixed points": lambda a: integrate.fixed_quad(lambda x: np.sin(a * x), 0, a)[0],
    "within an integral": lambda a: integrate.nquad(lambda y, x: np.sin(y * x * a), [lambda x: (0, a * x), (0, 1)])[0],
    "a traced range": lambda a: integrate.nquad(lambda y, x: np.sin(y * x), [(0, a), (0, 1)])[0],
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    check(INTEGRALS[name], 1.3, second="integral" not in name and "range" not in name)


def test_many_parameters_at_once():
    w = np.array([0.5, -1.0, 2.0])
    grads = gv.grad(lambda w: integrate.quad(lambda x: np.tanh(w @ np.array([1.0, x, x * x])), 0, 1)[0])(w)
    steps = np.eye(3) * 1e-6
    value = lambda w: integrate.quad(lambda x: np.tanh(w @ np.array([1.0, x, x * x])), 0, 1)[0]  # noqa: E731
    np.testing.assert_allclose(grads, [(value(w + s) - value(w - s)) / 2e-6 for s in steps], rtol=1e-6)


def test_a_function_that_counts_its_calls_still_does():
    calls, total = [], 0.0

    def f(x, a):
        nonlocal total
        total += 1.0
        calls.append(x)
        return a * x

    gv.grad(lambda a: integrate.quad(f, 0, 1, (a,))[0])(2.0)
    assert total == len(calls) > 20


def test_what_quad_refuses():
    with pytest.raises(NotDifferentiableError, match="weight"):
        gv.grad(lambda a: integrate.quad(np.sin, 0, a, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(NotDifferentiableError, match="wvar"):
        gv.grad(lambda a: integrate.quad(np.sin, 0, 1, weight="cos", wvar=a)[0])(1.0)
    with pytest.raises(TypeError, match="complex_func"):
        gv.grad(lambda a: np.real(integrate.quad(lambda x: 1j * a * x, 0, 1)[0]))(1.0)


def ended(a, **options):
    """A nonlinear equation that depends on the time, with a parameter in closure and in the initial state."""
    f = lambda t, y: [a * y[0] - y[0] * y[1], -y[1] + y[0] * y[1] * np.cos(t)]  # noqa: E731
    return integrate.solve_ivp(f, (0, 1), [1.0 + a, 2.0], **options).y[0, -1]


def damped(t, y, a=1.0):
    return [a * y[1], -y[0] - 0.1 * y[1]]


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_parameters_and_initial_state(method):
    check(lambda a: ended(a, method=method, **FINE), 1.1, 1e-5)


@pytest.mark.parametrize("method", ["RK23", "Radau", "BDF", "LSODA"])
def test_methods_of_low_order_and_for_stiff_equations(method):
    """Their values jump by a tolerance where they take another number of steps, so what they agree with is a finer solution."""
    want = difference(lambda a: ended(a, method="DOP853", rtol=1e-11, atol=1e-12), 1.1)
    f = lambda a: ended(a, method=method, rtol=1e-5, atol=1e-7)  # noqa: E731
    assert gv.grad(f)(1.1) == pytest.approx(want, rel=1e-3)
    assert gv.jvp(f, (1.1,), (1.0,))[1] == pytest.approx(gv.grad(f)(1.1), rel=1e-9)


SOLUTIONS = {
    "args and t_eval": lambda a: integrate.solve_ivp(damped, (0, 2), [1.0, 2.0], t_eval=TIMES, args=(a,), **FINE).y,
    "t_span": lambda a: integrate.solve_ivp(damped, (a / 4, 2 * a), [1.0, 2.0], **FINE).y[:, -1],
    "times": lambda a: integrate.solve_ivp(damped, (0, 2), [1.0, 2.0], t_eval=TIMES * a / 2, **FINE).y,
    "backwards in time": lambda a: integrate.solve_ivp(damped, (2, 0), a * np.ones(2), **FINE).y[:, -1],
    "complex": lambda a: np.abs(integrate.solve_ivp(lambda t, y: (1j * a - 0.2) * y * y, (0, 1), [1.0 + 0j], **FINE).y[0, -1]),
    "odeint": lambda a: integrate.odeint(lambda y, t, p: damped(t, y, p), [1.0, a], TIMES, (a,)),
    "odeint of times": lambda a: integrate.odeint(damped, [1.0, a], TIMES * a, tfirst=True),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions(name):
    check(lambda a: np.sum(np.sin(SOLUTIONS[name](a))), 1.1, 1e-5, second=name in ("odeint", "complex"))


def test_a_stiff_equation():
    def f(a, **tolerances):
        y = integrate.odeint(lambda y, t: [-1000 * a * (y[0] - np.cos(t)), y[0] - y[1]], [1.0, a], TIMES, **tolerances)
        return np.sum(np.sin(y))

    want = difference(lambda a: f(a, rtol=1e-12, atol=1e-12), 1.1)
    assert gv.grad(lambda a: f(a, rtol=1e-6, atol=1e-6))(1.1) == pytest.approx(want, rel=1e-4)


def test_values_are_scipys():
    from scipy import integrate as theirs

    value, _ = gv.vjp(lambda y0: integrate.solve_ivp(damped, (0, 2), y0, t_eval=TIMES).y, np.array([1.0, 2.0]))
    np.testing.assert_allclose(value, theirs.solve_ivp(damped, (0, 2), [1.0, 2.0], t_eval=TIMES).y, rtol=1e-14)


def test_what_solvers_refuse():
    with pytest.raises(NotDifferentiableError, match="t_eval"):
        gv.grad(lambda a: integrate.solve_ivp(damped, (0, 1), [a, 1.0], events=lambda t, y: y[0]).y[0, -1])(1.0)
    with pytest.raises(NotDifferentiableError, match="t_eval"):
        gv.grad(lambda a: integrate.solve_ivp(damped, (0, 1), [a, 1.0], dense_output=True).y[0, -1])(1.0)


def test_a_solution_that_is_not_determined_is_refused():
    """Lorenz's equations forget where they began within some 30 units of time."""

    def lorenz(t, y):
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    with pytest.raises(ConvergenceError, match="not determined"):
        gv.grad(lambda a: integrate.odeint(lorenz, [a, 1.0, 1.0], [0, 25.0], tfirst=True, mxstep=9999)[-1, 0])(1.0)
