"""Are tangents those that reverse mode implies, for every way a rule can give them?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp

X = np.array([0.3, 0.6, 0.9])


def buffer(x):
    b = gnp.zeros((3, 3))
    for i in range(3):
        b[i] = x * float(i + 1)
        b[:, i] *= x
    b.T.reshape(-1)[1:4] += x
    return b


PROGRAMS = {
    "slopes": lambda x: np.arctan2(np.sin(x), np.cosh(x)) ** x,
    "each": lambda x: np.cumsum(np.flip(x)[None].T, axis=0) * x,
    "joint": lambda x: np.concatenate([x, x * x]) + np.where(np.arange(6) > 2, np.sum(x), 1.0),
    "transposed twice": lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x),
    "several outputs": lambda x: np.linalg.eigh(np.outer(x, x) + np.diag([1.0, 2.0, 3.0]))[0],
    "products": lambda x: np.einsum("i,j,k->ij", x, x, x) @ x,
    "writes": buffer,
    "read parts": lambda x: x[[0, 0, 2]] * x[::-1] + x[x > 0.5][0],
    "nothing": lambda x: np.ones(2),
    "constant out": lambda x: np.floor(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_reverse(name):
    f = PROGRAMS[name]
    y, dy = gv.jvp(f, (X,), (np.array([1.0, -2.0, 0.5]),))
    plain, pull = gv.vjp(f, X)
    assert np.allclose(y, plain)
    assert np.shape(dy) == np.shape(plain)
    ct = np.random.default_rng(0).standard_normal(np.shape(plain))
    assert np.isclose(np.sum(ct * dy), np.sum(pull(ct)[0] * [1.0, -2.0, 0.5]))


def test_dtypes():
    y, dy = gv.jvp(lambda x: np.sin(x) * 2.0, (X.astype(np.float32),), (X.astype(np.float32),))
    assert y.dtype == dy.dtype == np.float32
    z, dz = gv.jvp(lambda x: np.abs(x * 1j) ** 2, (X,), (np.ones(3),))
    assert z.dtype == dz.dtype == np.float64
    assert np.allclose(dz, 2 * X)


def test_no_nan_from_where_the_tangent_is_zero():
    _, dy = gv.jvp(lambda x: np.sqrt(x), (np.array([0.0, 1.0]),), (np.array([0.0, 1.0]),))
    assert dy.tolist() == [0, 0.5]


def test_a_complex_tangent_written_into_real_numbers():
    """NumPy warns of the value, if it writes any; the tangent of what it keeps is real. (A warning is an error here.)"""

    def f(xz):
        x, z = xz[0].copy(), xz[1]
        x[x > 10] = z * 1.0  # nowhere
        return np.sum(np.sin(x)) + np.sum(np.real(z))

    x, z = np.ones((2, 3)), np.array([1.0 + 2.0j])
    for got, want in zip(gv.jacobian(f, mode="forward")((x, z)), (np.cos(x), [1.0]), strict=True):
        np.testing.assert_allclose(got, want)
