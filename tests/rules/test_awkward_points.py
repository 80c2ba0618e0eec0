"""Do derivatives follow the documented conventions where a function has a kink, a pole, a tie or a NaN nearby?"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import gradviz as gv
from gradviz.engine.rule import COMPOSED
from gradviz.errors import ConversionError

inf, nan = np.inf, np.nan
CONVENTIONS = {
    "abs at 0": (np.abs, [0.0], [0.0]),
    "abs of complex 0": (np.abs, [0j], [0.0]),
    "sign at 0": (lambda x: x * np.sign(x), [0.0], [0.0]),
    "max of equals": (np.max, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    "min along an axis of equals": (lambda x: np.min(x, axis=1), [[1.0, 1.0], [0.0, 3.0]], [[0.5, 0.5], [1.0, 0.0]]),
    "max started above": (lambda x: np.max(x, initial=5.0), [1.0, 2.0], [0.0, 0.0]),
    "maximum of equals": (lambda x: np.maximum(x, 1.0), [1.0, 2.0, 0.0], [0.5, 1.0, 0.0]),
    "minimum of equals": (lambda x: np.minimum(x, 1.0), [1.0, 2.0, 0.0], [0.5, 0.0, 1.0]),
    "maximum of equal infinities": (lambda x: np.maximum(x, -inf), [-inf, 0.0], [0.5, 1.0]),
    "fmax beside NaN": (lambda x: np.fmax(x, nan), [1.0], [1.0]),
    "fmin of NaN": (lambda x: np.fmin(x, 1.0), [nan, 0.0], [0.0, 1.0]),
    "maximum.accumulate of equals": (np.maximum.accumulate, [2.0, 2.0, 1.0], [2.0, 1.0, 0.0]),
    "clip at its bounds": (lambda x: np.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
    "sqrt at 0": (np.sqrt, [0.0, 4.0], [inf, 0.25]),
    "sqrt at 0, not used": (lambda x: 0.0 * np.sqrt(x), [0.0], [0.0]),
    "where not taken: sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: log": (lambda x: np.where(x > 0, np.log(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: division": (lambda x: np.where(x > 0, 1 / x, 0.0), [0.0, 2.0], [0.0, -0.25]),
    "where not taken: power": (lambda x: np.where(x > 0, x**0.5, 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: arcsin": (lambda x: np.where(x < 1, np.arcsin(x), 0.0), [1.0, 0.0], [0.0, 1.0]),
    "std of equals": (np.std, [3.0, 3.0], [0.0, 0.0]),
    "std of equals, masked": (
        lambda x: np.std(x, where=np.array([True, True, False])),
        [3.0, 3.0, 1.0],
        [0.0, 0.0, 0.0],
    ),
    "hypot at the origin": (lambda x: np.hypot(x, 0.0), [0.0], [0.0]),
    "hypot.reduce at the origin": (np.hypot.reduce, [0.0, 0.0], [0.0, 0.0]),
    "arctan2 at the origin": (lambda x: np.arctan2(x, 0.0 * x), [0.0], [0.0]),
    "arctan2 near the origin": (lambda x: np.arctan2(x, 1e-200), [1e-200], [0.5e200]),
    "angle of 0": (lambda z: np.angle(z), [0j], [0.0]),
    "power 0 at 0": (lambda x: x**0, [0.0], [0.0]),
    "power 0.0 at 0": (lambda x: x**0.0, [0.0], [0.0]),
    "power 1 at 0": (lambda x: x**1.0, [0.0], [1.0]),
    "power 2 at 0": (lambda x: x**2, [0.0, -3.0], [0.0, -6.0]),
    "exponent of 0": (lambda y: 0.0**y, [2.0], [0.0]),
    "prod with a zero": (np.prod, [0.0, 1.0, 2.0], [2.0, 0.0, 0.0]),
    "prod with two zeros": (np.prod, [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
    "cumprod with a zero": (np.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "sinc at 0": (np.sinc, [0.0], [0.0]),
    "median of an even number": (np.median, [1.0, 4.0, 2.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
    "logaddexp of two -inf": (lambda x: np.logaddexp(x, -inf), [-inf], [0.5]),
    "logaddexp beside -inf": (lambda x: np.logaddexp(x, -inf), [1.0], [1.0]),
    "logsumexp with -inf": (lambda x: COMPOSED[special.logsumexp](x), [-inf, 1.0], [0.0, 1.0]),
    "nanmean": (np.nanmean, [1.0, nan, 3.0], [0.5, 0.0, 0.5]),
    "nanmax": (np.nanmax, [1.0, nan, 3.0], [0.0, 0.0, 1.0]),
    "nan_to_num": (np.nan_to_num, [1.0, nan, inf], [1.0, 0.0, 0.0]),
    "xlogy at 0": (lambda x: special.xlogy(x, x), [1.0], [1.0]),
    "entropy at 0, not used": (lambda x: np.where(x > 0, special.entr(x), 0.0), [0.0, 1.0], [0.0, -1.0]),
    "sum ignores what is masked": (lambda x: np.sum(x, where=np.array([True, False])), [1.0, nan], [1.0, 0.0]),
    "mean ignores what is masked": (lambda x: np.mean(x, where=np.array([True, False])), [1.0, nan], [1.0, 0.0]),
}


@pytest.mark.parametrize(("f", "x", "want"), CONVENTIONS.values(), ids=CONVENTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_convention(f, x, want):
    got = gv.grad(lambda x: np.sum(f(x)))(np.array(x))
    np.testing.assert_allclose(got, want, rtol=1e-15)


SECOND = {
    "sinc at 0": (np.sinc, 0.0, -(np.pi**2) / 3),
    "x**2 at 0": (lambda x: x**2, 0.0, 2.0),
    "power 3 at 0": (lambda x: x**3, 0.0, 0.0),
    "logaddexp of equals": (lambda x: np.logaddexp(x, 1.0), 1.0, 0.25),
    "prod with a zero": (lambda x: np.prod(np.stack([x, x, x + 2])), 0.0, 4.0),
    "cumprod with zeros": (lambda x: np.sum(np.cumprod(np.stack([x, x, x + 2]))), 0.0, 6.0),
    "abs at 0": (np.abs, 0.0, 0.0),
    "hypot at the origin": (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
}


@pytest.mark.parametrize(("f", "x", "want"), SECOND.values(), ids=SECOND)
def test_second_derivative(f, x, want):
    np.testing.assert_allclose(gv.grad(gv.grad(f))(np.float64(x)), want, atol=1e-12)


# where JAX has the same convention, it is asked for the numbers
SAME_IN_JAX = {
    "prod with zeros": (lambda np, x: np.prod(x, axis=1), [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]]),
    "cumprod with zeros": (lambda np, x: np.cumprod(x, axis=0), [[0.0, 1.0], [2.0, 0.0], [3.0, 4.0]]),
    "max of equals": (lambda np, x: np.max(x, axis=0), [[1.0, 2.0], [1.0, 0.0]]),
    "maximum of equals": (lambda np, x: np.maximum(x, 1.0), [1.0, 2.0]),
    "median": (lambda np, x: np.median(x), [3.0, 1.0, 2.0, 7.0]),
    "remainder": (lambda np, x: np.remainder(x, -0.7) * np.fmod(x, 0.6), [-1.3, 2.2]),
    "quantile": (lambda np, x: np.quantile(x, 0.3), [3.0, 1.0, 2.0, 7.0]),
    "complex": (lambda np, x: np.abs(np.exp(1j * x) + x**2) * np.angle(x + 2j), [0.3, 1.7]),
    "gradient": (lambda np, x: np.gradient(x) ** 2, [3.0, 1.0, 2.0, 7.0]),
    "interp": (lambda np, x: np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 0.0])), [0.5, 1.7, 3.0]),
}


@pytest.mark.parametrize(("f", "x"), SAME_IN_JAX.values(), ids=SAME_IN_JAX)
def test_same_as_jax(f, x):
    x = np.array(x)
    jax.config.update("jax_enable_x64", True)
    got = gv.grad(lambda x: np.sum(np.sin(f(np, x))))(x)
    want = jax.grad(lambda x: jnp.sum(jnp.sin(f(jnp, x))))(jnp.asarray(x))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def test_where_gives_back_the_shape_of_what_it_was_given():
    x, y = np.ones((3, 1)), np.ones(4)
    gx, gy = gv.grad(lambda x, y: np.sum(np.where(np.array([True, False, True, True]), x, y)), (0, 1))(x, y)
    assert gx.shape == (3, 1)
    assert gy.shape == (4,)
    np.testing.assert_array_equal(gx, [[3.0]] * 3)
    np.testing.assert_array_equal(gy, [0.0, 3.0, 0.0, 0.0])


def test_no_gradient_of_a_sign():
    """The sign that `copysign` copies is no smooth argument: its gradient is 0."""
    assert gv.grad(lambda x: np.copysign(2.0, x))(3.0) == 0.0


def test_writing_a_traced_value_into_a_plain_array():
    plain = np.zeros(3)
    for write in (
        lambda x: np.copyto(plain, x),
        lambda x: np.put(plain, [0], x[:1]),
        lambda x: np.add.at(plain, [0], x[:1]),
    ):
        with pytest.raises(ConversionError, match="gradient would be lost"):
            gv.grad(lambda x, write=write: (write(x), np.sum(x))[1])(np.ones(3))


def test_out_by_position():
    def f(x):
        total = np.zeros_like(x[0])
        np.sum(x, 0, None, total)
        return np.sum(total**2)

    np.testing.assert_array_equal(gv.grad(f)(np.ones((2, 2))), np.full((2, 2), 4.0))
