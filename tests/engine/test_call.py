"""Do calls of every shape reach the innermost derivative, and say when they cannot be differentiated?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.engine.call import full_name
from gradviz.errors import MissingRuleError

X = np.array([1.0, 2.0, 3.0])


def test_python_numbers_of_every_kind():
    f = lambda x, y: x * y + 2 * x - x / y + (x - 1) ** 2 + 3.0 ** (x * 0.5)  # noqa: E731
    want = gv.grad(f, (0, 1))(np.array(0.7), np.array(1.3))
    for kind in (float, np.float64, np.float32):
        got = gv.grad(f, (0, 1))(kind(0.7), kind(1.3))
        assert type(got[0]) is kind
        assert np.allclose(got, want, rtol=1e-5)
        with gv.profile():
            assert gv.grad(f, (0, 1))(kind(0.7), kind(1.3)) == got


def test_complex_numbers_within():
    assert np.isclose(gv.grad(lambda x: (x * 1j * x).imag)(0.5), 1.0)
    assert np.isclose(gv.grad(lambda x: np.imag(x * np.complex64(1j)))(0.5), 1.0)
    assert np.isclose(gv.grad(lambda z: abs(z) ** 2)(1 + 2j), 2 + 4j)
    assert np.allclose(gv.grad(lambda z: np.sum(np.real(np.exp(z))))(X * 1j), np.exp(-1j * X))


def test_mixed_with_plain_and_untraced_arrays():
    def f(x):
        plain, untraced = np.ones(3) * 2, gnp.ones(3) * 3
        return np.sum(plain * x + x * untraced - plain / x + np.stack([plain, x, untraced])[1] @ (untraced @ np.eye(3)))

    assert np.allclose(gv.grad(f)(X), 2 + 3 + 2 / X**2 + 3 * 3)


def test_a_value_read_twice_and_not_at_all():
    assert gv.grad(lambda x, y: x * x, (0, 1))(3.0, 4.0) == (6.0, 0.0)
    assert gv.grad(lambda x: 1.0)(3.0) == 0.0
    assert gv.grad(lambda x: x[()])(np.array(2.0)) == 1


def test_numbers_index_and_iterate():
    def f(x):
        a, b, c = x
        return sum(t * k for k, t in enumerate(x)) + a * b * c + x[np.int64(1)] + x[-1] * len(x)

    assert gv.grad(f)(X).tolist() == [6, 5, 7]


def test_comparisons_and_choices():
    def f(x):
        y = np.where(x > 1.5, x * x, -x)
        return max(y[0], y[1]) + (y[2] if y[2] > y[1] else 0.0) + np.sum(y[y != y[0]])

    assert gv.grad(f)(X).tolist() == [0, 8, 12]


softsign = np.frompyfunc(lambda t: t / (1 + abs(t)), 1, 1)


def test_missing_rules():
    def f(x):
        softsign(x)
        return np.sum(x)

    with pytest.raises(MissingRuleError, match=r"<lambda> \(vectorized\) has no derivative in gradviz yet.*gv\.rule"):
        gv.grad(f)(X)


def test_names_of_functions():
    assert full_name(np.sin) == "numpy.sin"
    assert full_name(np.add.reduceat) == "numpy.add.reduceat"
    assert full_name(np.fft.rfft) == "numpy.fft.rfft"
    assert full_name(special.airy) == "scipy.special.airy"
