"""Are decompositions, norms and determinants differentiated rightly where others are not, and as others do where they are?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import NotDifferentiableError

rng = np.random.default_rng(0)
EYE = np.eye(3)
WEIGHTS = rng.normal(size=(3, 3))


def spectral(h):
    def f(a):
        w, v = np.linalg.eigh(a)
        return (v * h(w)) @ v.T

    return f


def rebuilt(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * s) @ vh


def weighted(f, weights=WEIGHTS):
    return lambda a: np.sum(weights * f(a))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_decompositions_of_empty_matrices(shape):
    a = np.ones(shape)
    assert gv.grad(lambda a: sum(np.sum(part) for part in np.linalg.svd(a)))(a).shape == shape
    square = np.ones((*shape[:-2], 0, 0))
    assert gv.grad(lambda a: sum(np.sum(part) for part in np.linalg.eigh(a)))(square).shape == square.shape


def symmetric(a):
    return (a + a.T) / 2


# ---- coinciding values


def test_svd_put_together_again_is_the_identity():
    np.testing.assert_allclose(gv.grad(weighted(rebuilt))(EYE), WEIGHTS, atol=1e-12)
    np.testing.assert_allclose(gv.grad(weighted(rebuilt))(np.diag([2.0, 2.0, 1.0])), WEIGHTS, atol=1e-12)


def test_matrix_exponential_by_eigenvalues_at_the_identity():
    got = gv.grad(weighted(spectral(np.exp)))(EYE)
    np.testing.assert_allclose(got, np.e * symmetric(WEIGHTS), atol=1e-12)


def test_two_pairs_of_equal_eigenvalues_between_others():
    q, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    a = symmetric((q * [1.0, 1.0, 2.0, 3.0, 3.0]) @ q.T)
    weights, direction = rng.normal(size=(5, 5)), symmetric(rng.normal(size=(5, 5)))
    f = weighted(spectral(np.exp), weights)
    slope = (f(a + 1e-5 * direction) - f(a - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(np.sum(gv.grad(f)(a) * direction), slope, rtol=1e-7)


def test_sums_of_values():
    np.testing.assert_allclose(gv.grad(lambda a: np.sum(np.linalg.svd(a)[1]))(np.eye(2)), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(gv.grad(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2))(2 * EYE), 4 * EYE, atol=1e-12)


def test_discarded_null_vectors_do_no_harm():
    a = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(np.sin((u[:, :2] * s[:2]) @ vh[:2]))

    np.testing.assert_allclose(gv.grad(f)(a)[:, :], _projected(a, np.cos(a)), atol=1e-10)


def _projected(a, g):
    """The gradient of a function of a matrix of rank 2 that sees it through its best approximation of rank 2."""
    u, _, vh = np.linalg.svd(a)
    left, right = u[:, :2] @ u[:, :2].T, vh[:2].T @ vh[:2]
    return left @ g + g @ right - left @ g @ right


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(WEIGHTS * np.linalg.eigh(a)[1]),
        lambda a: np.sum(WEIGHTS * np.linalg.svd(a)[0]),
        lambda a: spectral(np.exp)(a)[0, 1],
        lambda a: np.sum(WEIGHTS * np.linalg.qr(a[:, :1], "complete")[0]),
        lambda a: np.sum(WEIGHTS * np.linalg.svd(a[:, :1])[0]),
    ],
    ids=["eigenvectors", "singular vectors", "unknowable", "completed q", "completed u"],
)
def test_what_depends_on_a_choice_is_refused(f):
    with pytest.raises(NotDifferentiableError, match="move the values apart"):
        gv.grad(f)(EYE)


def test_a_direction_that_parts_coinciding_values_is_refused():
    with pytest.raises(NotDifferentiableError, match="Use reverse mode"):
        gv.jvp(weighted(spectral(np.exp)), (EYE,), (symmetric(WEIGHTS),))


def test_the_phase_of_complex_eigenvectors_is_refused():
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    with pytest.raises(NotDifferentiableError):
        gv.grad(lambda a: np.sum(np.imag(np.linalg.eigh(a + np.conj(a.T))[1]) * WEIGHTS))(a)


# ---- determinants


@pytest.mark.parametrize(
    "a",
    [
        np.diag([0.0, 1.0]),
        np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]]),
        np.zeros((2, 2)),
        np.diag([0.0, 0, 2]),
        np.zeros((1, 1)),
    ],
    ids=["corner", "rank 2", "zero", "rank 1", "one"],
)
def test_det_of_singular_matrices_has_the_cofactors(a):
    n = len(a)
    minors = [
        [np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j) for j in range(n)] for i in range(n)
    ]
    np.testing.assert_allclose(gv.grad(np.linalg.det)(a), minors, atol=1e-12)
    np.testing.assert_allclose(gv.grad(lambda s: np.sum(np.linalg.det(s)))(np.stack([a, a]))[1], minors, atol=1e-12)


def test_second_derivative_of_det_at_a_singular_matrix():
    hessian = gv.hessian(np.linalg.det)(np.zeros((2, 2))).reshape(4, 4)
    np.testing.assert_allclose(hessian, np.fliplr(np.diag([1.0, -1, -1, 1])), atol=1e-12)


# ---- norms


@pytest.mark.parametrize("order", [None, 1, 2, 3, np.inf, 0.5])
def test_norm_at_zero_is_flat(order):
    np.testing.assert_array_equal(gv.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3)), np.zeros(3))


def test_norm_with_one_zero_row():
    got = gv.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(got, [[0, 0], [0.6, 0.8]])


def test_largest_singular_values_that_tie_share():
    np.testing.assert_allclose(gv.grad(lambda a: np.linalg.norm(a, 2))(EYE), EYE / 3, atol=1e-12)


# ---- against others

ONE = {
    "inv": lambda m, a: m.linalg.inv(a),
    "det": lambda m, a: m.linalg.det(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a)[1],
    "pinv": lambda m, a: m.linalg.pinv(a[..., :2]),
    "cholesky": lambda m, a: m.linalg.cholesky(a @ m.swapaxes(a, -1, -2)),
    "qr": lambda m, a: m.linalg.qr(a[..., :2])[1],
    "eigvalsh": lambda m, a: m.linalg.eigvalsh(a + m.swapaxes(a, -1, -2)),
    "svdvals": lambda m, a: m.linalg.svdvals(a[..., :2]),
    "matrix_power": lambda m, a: m.linalg.matrix_power(a, 3),
    "nuclear norm": lambda m, a: m.linalg.matrix_norm(a, ord="nuc"),
    "vector norm": lambda m, a: m.linalg.vector_norm(a, ord=3),
}
STACK = rng.normal(size=(2, 3, 3))


def smooth(m, name, a):
    return m.sum(m.sin(ONE[name](m, a)))


@pytest.mark.parametrize("name", ONE)
def test_as_jax(name):
    import jax

    with jax.enable_x64(True):
        want = jax.grad(lambda a: smooth(jax.numpy, name, a))(jax.numpy.asarray(STACK))
    np.testing.assert_allclose(gv.grad(lambda a: smooth(np, name, a))(STACK), want, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ONE)
def test_as_torch(name):
    import torch

    a = torch.tensor(STACK, requires_grad=True)
    smooth(torch, name, a).backward()
    np.testing.assert_allclose(gv.grad(lambda a: smooth(np, name, a))(STACK), a.grad.numpy(), rtol=1e-8, atol=1e-10)


def test_complex_solve_as_torch():
    import torch

    a, b = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 3, 3), (3, 2)))
    ta, tb = (torch.tensor(x, requires_grad=True) for x in (a, b))
    torch.sum(torch.abs(torch.linalg.solve(ta, tb)) ** 2).backward()
    got = gv.grad(lambda a, b: np.sum(np.abs(np.linalg.solve(a, b)) ** 2), (0, 1))(a, b)
    for g, t in zip(got, (ta, tb), strict=True):
        np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-9)


def test_writing_into_eigenvectors_leaves_the_gradient_alone():
    a = symmetric(WEIGHTS)

    def f(a, overwrite):
        w, v = np.linalg.eigh(a)
        total = np.sum(w**2) + np.sum(v[:, 0] ** 4)
        if overwrite:
            v[...] = 0.0
            w[0] = 7.0
        return total

    np.testing.assert_array_equal(gv.grad(f)(a, True), gv.grad(f)(a, False))
