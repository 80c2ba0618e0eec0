"""Is `scipy.linalg` differentiated as JAX and PyTorch do it, and where they do not?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import MissingRuleError
from gradviz.scipy import linalg

rng = np.random.default_rng(0)
A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
DEFINITE = A @ A.T + np.eye(3)

AS_JAX = {
    "expm": lambda s, a, b: s.expm(a),
    "solve_triangular": lambda s, a, b: s.solve_triangular(a, b, lower=True),
    "lu": lambda s, a, b: s.lu(a)[2],
    "cho_solve": lambda s, a, b: s.cho_solve(s.cho_factor(a), b),
    "toeplitz": lambda s, a, b: s.toeplitz(a[0], a[1]),
}


@pytest.mark.parametrize("name", AS_JAX)
def test_as_jax(name):
    import jax

    a = DEFINITE if name.startswith("cho") else A
    with jax.enable_x64(True):
        loss = jax.jit(
            jax.grad(lambda a, b: jax.numpy.sum(jax.numpy.sin(AS_JAX[name](jax.scipy.linalg, a, b))), (0, 1))
        )
        want = loss(a, B)
    got = gv.grad(lambda a, b: np.sum(np.sin(AS_JAX[name](linalg, a, b))), (0, 1))(a, B)
    want = [(w + w.T) / 2 if name.startswith("cho") and w.shape == (3, 3) else w for w in want]
    got = [(g + g.T) / 2 if name.startswith("cho") and g.shape == (3, 3) else g for g in got]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-10)


def test_matrix_exponential_as_torch():
    import torch

    a = torch.tensor(A, requires_grad=True)
    torch.sum(torch.sin(torch.linalg.matrix_exp(a))).backward()
    got = gv.grad(lambda a: np.sum(np.sin(linalg.expm(a))))(A)
    np.testing.assert_allclose(got, a.grad.numpy(), rtol=1e-10)


def test_power_of_a_matrix_in_its_exponent():
    def f(t):
        return np.sum(A * linalg.fractional_matrix_power(DEFINITE, t))

    np.testing.assert_allclose(gv.grad(f)(0.3), (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([2.0, 2.0, 1.0])], ids=["identity", "a pair"])
def test_polar_decomposition_with_equal_singular_values(a):
    """Both parts are smooth there, although singular vectors are not."""

    def f(a):
        u, p = linalg.polar(a)
        return np.sum(A * u) + np.sum(B @ B.T * p)

    slope = (f(a + 1e-6 * A) - f(a - 1e-6 * A)) / 2e-6
    np.testing.assert_allclose(np.sum(gv.grad(f)(a) * A), slope, rtol=1e-7)


def test_square_root_of_a_matrix_with_equal_eigenvalues():
    np.testing.assert_allclose(gv.grad(lambda a: np.sum(A * linalg.sqrtm(a)))(4 * np.eye(3)), A / 4, atol=1e-12)


def test_third_derivative_of_the_exponential():
    third = gv.grad(gv.grad(gv.grad(lambda t: linalg.expm(t * A)[0, 1])))(0.5)
    np.testing.assert_allclose(third, (A @ A @ A @ linalg.expm(0.5 * A))[0, 1], rtol=1e-9)


def test_triangles_that_are_not_read_get_nothing():
    got = gv.grad(lambda a: np.sum(linalg.solve_triangular(a, B)))(A)
    np.testing.assert_array_equal(np.tril(got, -1), 0)
    got = gv.grad(lambda a: np.sum(linalg.cholesky(a, lower=True)))(DEFINITE)
    np.testing.assert_array_equal(np.triu(got, 1), 0)


def test_what_has_no_rule_says_so():
    with pytest.raises(MissingRuleError, match=r"scipy\.linalg\.schur has no derivative"):
        gv.grad(lambda a: np.sum(linalg.schur(a)[0]))(A)
