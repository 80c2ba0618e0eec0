"""Do ``r_`` and ``c_`` join traced values as NumPy's join plain ones?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv

X = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3)

CASES = {
    "one": lambda np, x, m: np.r_[x],
    "numbers and ranges": lambda np, x, m: np.r_[x, 4.0, 0:1:3j, 2:6, [x[0], 1.0]],
    "matrices": lambda np, x, m: np.r_[m, m],
    "another axis": lambda np, x, m: np.r_["1", m, 2 * m],
    "raised to rows": lambda np, x, m: np.r_["0,2", x, m],
    "raised to columns": lambda np, x, m: np.r_["1,2,0", x, x],
    "raised to three": lambda np, x, m: np.r_["0,3,1", m, m],
    "columns": lambda np, x, m: np.c_[x, 2 * x],
    "columns of matrices": lambda np, x, m: np.c_[m, m],
    "columns of constants": lambda np, x, m: np.c_[x, [1, 2, 3], X],
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name):
    f = CASES[name]
    value, pull = gv.vjp(lambda x, m: f(gv.numpy, x, m) * 1.0, X, M)
    want = f(np, X, M)
    np.testing.assert_array_equal(value, want)
    weights = np.random.default_rng(0).normal(size=want.shape)
    for k, (ct, x) in enumerate(zip(pull(weights), (X, M), strict=True)):
        for place in np.ndindex(x.shape):
            step = [np.zeros_like(X), np.zeros_like(M)]
            step[k][place] = 1.0
            slope = np.sum(weights * (f(np, X + step[0], M + step[1]) - want))
            assert ct[place] == pytest.approx(slope)


def test_untraced_is_numpys():
    assert type(gv.numpy.r_[X, 1.0]) is np.ndarray


def test_no_matrices():
    with pytest.raises(TypeError, match="matrix"):
        gv.grad(lambda x: np.sum(gv.numpy.r_["r", x]))(X)
