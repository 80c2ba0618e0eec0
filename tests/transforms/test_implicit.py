"""Is the derivative of a solution that of the equation, in both modes, at every order, whatever found it?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import ConvergenceError, NotDifferentiableError

rng = np.random.default_rng(0)
M = rng.normal(size=(3, 3)) * 0.2
A = np.array([1.0, 2.0, 0.5])


def equation(x, a):
    return x + 0.3 * np.sin(M @ x) - a


def solution(a, **options):
    return gv.implicit.root(equation, np.zeros(3), a, **options)


def unrolled(a):
    """The same by an iteration that is differentiated as it stands."""
    x = np.zeros(3)
    for _ in range(60):
        x = a - 0.3 * np.sin(M @ x)
    return x


def loss(solve):
    return lambda a: np.sum(np.cos(solve(a)) * np.arange(1.0, 4.0))


@pytest.mark.parametrize("how", ["auto", "dense", "gmres", "bicgstab"])
def test_gradient_of_a_root(how):
    got = gv.grad(loss(lambda a: solution(a, linear_solver=how)))(A)
    np.testing.assert_allclose(got, gv.grad(loss(unrolled))(A), rtol=1e-9)


def test_second_and_third_order_and_forward_mode():
    np.testing.assert_allclose(gv.hessian(loss(solution))(A), gv.hessian(loss(unrolled))(A), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(gv.jvp(solution, (A,), (M[0],))[1], gv.jvp(unrolled, (A,), (M[0],))[1], rtol=1e-9)
    np.testing.assert_allclose(gv.hvp(loss(solution), (A,), (M[0],)), gv.hvp(loss(unrolled), (A,), (M[0],)), rtol=1e-7)

    def third(solve):
        return gv.grad(gv.grad(gv.grad(lambda t: loss(solve)(A + t * M[0]))))(0.0)

    np.testing.assert_allclose(third(solution), third(unrolled), rtol=1e-6)


def test_forward_over_forward_and_reverse_over_forward():
    def along(solve):
        return lambda t: gv.jvp(lambda s: loss(solve)(A + s * M[0]), (t,), (1.0,))[1]

    np.testing.assert_allclose(
        gv.jvp(along(solution), (0.0,), (1.0,))[1], gv.jvp(along(unrolled), (0.0,), (1.0,))[1], rtol=1e-7
    )
    np.testing.assert_allclose(gv.grad(along(solution))(0.0), gv.grad(along(unrolled))(0.0), rtol=1e-7)


def test_what_stands_in_the_closure_counts():
    def f(a, scale):
        return np.sum(gv.implicit.root(lambda x: scale * x**3 - a, np.ones(3)))

    exact = np.sum(A / 2.0) ** 0  # the cube root's derivative is known
    got_a, got_scale = gv.grad(f, (0, 1))(A, 2.0)
    np.testing.assert_allclose(got_a, exact * (A / 2) ** (-2 / 3) / 6, rtol=1e-8)
    np.testing.assert_allclose(got_scale, -np.sum((A / 2) ** (1 / 3)) / 6, rtol=1e-8)


def test_trees_of_unknowns_and_parameters():
    def f(x, p):
        return {"u": x["u"] - np.cos(x["v"]) * p["s"], "v": x["v"] + 0.5 * np.sin(np.sum(x["u"])) - p["t"][0]}

    def total(p):
        x = gv.implicit.root(f, {"u": np.zeros(2), "v": 0.0}, p)
        return np.sum(x["u"] ** 2) + x["v"]

    p = {"s": np.array([0.5, 1.5]), "t": [0.3]}
    got = gv.grad(total)(p)
    for key, direction in (("s", {"s": np.array([1.0, -1.0]), "t": [0.0]}), ("t", {"s": np.zeros(2), "t": [1.0]})):
        moved = [
            total({"s": p["s"] + h * direction["s"], "t": [p["t"][0] + h * direction["t"][0]]}) for h in (1e-6, -1e-6)
        ]
        want = (moved[0] - moved[1]) / 2e-6
        mine = np.sum(got["s"] * direction["s"]) + got["t"][0] * direction["t"][0]
        np.testing.assert_allclose(mine, want, rtol=1e-6, err_msg=key)


def test_complex_unknowns():
    def f(z, a):
        return z * z + np.conj(z) - a

    def total(a):
        z = gv.implicit.root(f, np.array([1.0 + 1j]), a)
        return np.sum(np.abs(z - 1j) ** 2)

    a, d = np.array([1.0 + 3j]), np.array([0.3 - 0.7j])
    want = (total(a + 1e-6 * d) - total(a - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(np.sum(np.real(np.conj(gv.grad(total)(a)) * d)), want, rtol=1e-6)


def test_fixed_point():
    def step(x, a):
        return a - 0.3 * np.sin(M @ x)

    def solve(a):
        return gv.implicit.fixed_point(step, np.zeros(3), a)

    np.testing.assert_allclose(gv.grad(loss(solve))(A), gv.grad(loss(unrolled))(A), rtol=1e-9)
    np.testing.assert_allclose(gv.hessian(loss(solve))(A), gv.hessian(loss(unrolled))(A), rtol=1e-7, atol=1e-10)


def test_minimum_of_ridge_regression():
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)

    def fit(w, penalty):
        return np.sum((x @ w - y) ** 2) + penalty * np.sum(w**2)

    def closed(penalty):
        return np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y)

    got = gv.jacobian(lambda p: gv.implicit.minimize(fit, np.zeros(3), p))(2.0)
    np.testing.assert_allclose(got, gv.jacobian(closed)(2.0), rtol=1e-6)


def test_many_unknowns_without_a_matrix():
    """2000 unknowns: a dense Jacobian would have 4 million entries."""
    a = np.linspace(0.5, 1.5, 2000)

    @gv.implicit.custom_root(lambda x, a: x + 0.1 * np.roll(x, 1) ** 2 - a)
    def solver(x0, a):
        x = x0
        for _ in range(100):
            x = a - 0.1 * np.roll(x, 1) ** 2
        return x

    def total(a):
        return np.sum(solver(np.zeros(2000), a) ** 2)

    d = np.cos(np.arange(2000.0))
    want = (total(a + 1e-6 * d) - total(a - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(np.sum(gv.grad(total)(a) * d), want, rtol=1e-6)


def test_single_precision_stays_single():
    a = A.astype(np.float32)
    got = gv.grad(lambda a: np.sum(gv.implicit.root(lambda x, a: x**3 - a, np.ones(3, np.float32), a, tol=1e-6)))(a)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, A ** (-2 / 3) / 3, rtol=1e-4)


def test_nothing_of_the_search_is_recorded():
    with gv.profile() as p:
        gv.grad(lambda a: np.sum(gv.implicit.fixed_point(lambda x, a: 0.9 * x + a, np.zeros(3), a)))(A)
    assert len(p.trace.events) < 100


@gv.implicit.custom_root(lambda x, a: x[:1] - a)
def short(x0, a):
    return np.ones(2)


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        (lambda a: gv.implicit.root(lambda x, a: x * x + a, 1.0, a), ConvergenceError, "no root"),
        (lambda a: gv.implicit.fixed_point(lambda x, a: x + a, 1.0, a, max_steps=5), ConvergenceError, "5 steps"),
        (
            lambda a: gv.implicit.custom_root(lambda x, a: 0 * x + 0 * a)(lambda x0, a: 1.0)(None, a),
            NotDifferentiableError,
            "singular",
        ),
        (
            lambda a: np.sum(gv.implicit.custom_root(lambda x, a: x[:1] - a)(lambda x0, a: np.ones(2))(None, a)),
            NotDifferentiableError,
            "one equation",
        ),
        (
            lambda a: gv.implicit.root(lambda x, a: x - a, 1.0, a, linear_solver="lu"),
            NotDifferentiableError,
            "'auto', 'dense'",
        ),
    ],
    ids=["no root", "no fixed point", "singular", "shapes", "solver"],
)
def test_what_cannot_be_done_says_why(program, error, says):
    with pytest.raises(error, match=says):
        gv.grad(program)(1.0)
