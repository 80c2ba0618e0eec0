"""Are whole derivative matrices right in either mode, and their arguments understood?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import NotDifferentiableError

X = np.array([0.5, 1.0, 1.5])
MODES = ["auto", "forward", "reverse"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda x: np.sin(x) * x[0], lambda: np.diag(np.cos(X) * X[0]) + np.outer(np.sin(X), [1, 0, 0])),
        (lambda x: np.outer(x, x), lambda: np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum("jk,i->ijk", np.eye(3), X)),
        (lambda x: x[:0], lambda: np.zeros((0, 3))),
        (lambda x: np.sum(x), lambda: np.ones(3)),
        (lambda x: X * 1.0, lambda: np.zeros((3, 3))),
    ],
)
def test_modes_agree(f, want, mode):
    got = gv.jacobian(f, mode=mode)(X)
    assert got.shape == want().shape
    assert np.allclose(got, want())


@pytest.mark.parametrize("mode", MODES)
def test_trees(mode):
    got = gv.jacobian(lambda p: {"u": p[0] * p[1], "v": np.sum(p[0])}, mode=mode)((X, 2.0))
    assert np.array_equal(got["u"][0], 2 * np.eye(3))
    assert np.array_equal(got["u"][1], X)
    assert np.array_equal(got["v"][0], np.ones(3))
    assert got["v"][1] == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("argnums", [1, -1])
def test_other_arguments(mode, argnums):
    assert np.array_equal(gv.jacobian(lambda a, b, k=1.0: a * b * k * X, argnums, mode)(2.0, 3.0, k=2.0), 4 * X)
    assert gv.hessian(lambda a, b: a * b**3, argnums)(2.0, 3.0) == 36


@pytest.mark.parametrize("x", [2.0, np.zeros(0), np.array(2.0, np.float32)])
@pytest.mark.parametrize("mode", MODES)
def test_odd_inputs(x, mode):
    assert gv.jacobian(lambda x: x * np.zeros(0), mode=mode)(x).shape == (0, *np.shape(x))


def test_mistakes():
    with pytest.raises(NotDifferentiableError, match="argument 'a' of <lambda> is of type int"):
        gv.jacobian(lambda a: a * X)(2)
    with pytest.raises(NotDifferentiableError, match="argument 5, but"):
        gv.jacobian(lambda a: a * X, 5)(2.0)
    with pytest.raises(NotDifferentiableError, match="'auto', 'forward', 'reverse'"):
        gv.jacobian(lambda a: a * X, mode="both")


def test_hessians():
    f = lambda x: np.prod(np.sin(x)) + x[0] * x[1] ** 2  # noqa: E731
    hessian = gv.hessian(f)(X)
    assert np.allclose(hessian, hessian.T)
    assert np.allclose(hessian, gv.jacobian(gv.grad(f), mode="reverse")(X))
    assert np.allclose(hessian @ X, gv.hvp(f, (X,), (X,)))


# ---- many directions in one sweep


def written(x):
    b = gv.numpy.zeros((3, 3), order="F")
    b[:] = np.outer(x, x)
    b[[0, 0], [1, 2]] += x[:2]
    b.T.reshape(-1)[1:3] *= x[1:]
    b[0], b[1] = b[1] * 1.0, b[0]
    return np.linalg.solve(b + np.eye(3), x) + np.sort(x)[::-1] + np.convolve(x, x)[:3]


def counted(f):
    calls = []

    def g(x):
        calls.append(1)
        return f(x)

    return g, calls


def test_one_run_for_all_columns():
    f, calls = counted(written)
    wide = gv.jacobian(f, mode="forward")(X)
    assert len(calls) == 1
    assert np.allclose(wide, gv.jacobian(written, mode="reverse")(X))
    for k, d in enumerate(np.eye(3)):
        assert np.allclose(wide[:, k], gv.jvp(written, (X,), (d,))[1])
    f, calls = counted(lambda x: np.sum(np.tanh(np.outer(x, x)) ** 2))
    hessian = gv.hessian(f)(X)
    assert len(calls) == 1
    assert np.allclose(hessian @ X, gv.hvp(f, (X,), (X,)))


def test_more_directions_than_one_sweep_takes(monkeypatch):
    monkeypatch.setattr("gradviz.transforms.jacobian.MOST_ROWS", 4)
    f = lambda x: {"a": np.outer(x, x), "b": np.sum(x)}  # noqa: E731
    for mode in MODES:
        got = gv.jacobian(f, mode=mode)(X)
        assert np.allclose(got["a"], np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum("jk,i->ijk", np.eye(3), X))
        assert np.allclose(got["b"], 1)


def test_a_rule_that_knows_nothing_of_batches():
    @gv.rule
    def twice(x):
        return 2.0 * x

    @twice.pullback
    def twice_to_x(ct):
        return ct * 2.0 if np.any(ct) else ct  # a question that each row answers for itself

    for mode in MODES:
        assert np.allclose(gv.jacobian(lambda x: twice(x * x), mode=mode)(X), np.diag(4 * X))


def test_inside_another_derivative_and_a_profile():
    f = lambda x: np.sum(gv.jacobian(lambda y: np.sin(y) * x)(x) ** 2)  # noqa: E731
    h = 1e-6
    for k, d in enumerate(np.eye(3)):
        assert np.isclose(gv.grad(f)(X)[k], (f(X + h * d) - f(X - h * d)) / (2 * h))
        assert np.isclose(gv.jvp(f, (X,), (d,))[1], gv.grad(f)(X)[k])
    with gv.profile() as p:
        assert np.allclose(gv.jacobian(np.sin)(X), np.diag(np.cos(X)))
    assert len(p.trace) > 0


def test_a_mistake_in_the_function_is_told_once_as_it_is():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gv.jacobian(f, mode="forward")(X)
