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
