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
from tests.docs.pages import ROOT

inf, nan = np.inf, np.nan
CONVENTIONS = {
    "abs at 0": (np.abs, [0.0], [0.0]),
    "abs of complex 0": (np.abs, [0j], [0.0]),
    "sign at 0": (lambda x: x * np.sign(x), [0.0], [0.0]),
    "abs of -0": (np.abs, [-0.0], [0.0]),
    "copysign of 0": (lambda x: np.copysign(x, 1.0), [0.0, -0.0, -2.0], [0.0, 0.0, -1.0]),
    "max of equals": (np.max, [1.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    "min along an axis of equals": (lambda x: np.min(x, axis=1), [[1.0, 1.0], [0.0, 3.0]], [[0.5, 0.5], [1.0, 0.0]]),
    "ptp of equals": (np.ptp, [1.0, 2.0, 2.0], [-1.0, 0.5, 0.5]),
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
    "cbrt at 0": (np.cbrt, [0.0, 8.0], [inf, 1 / 12]),
    "cbrt at 0, not used": (lambda x: 0.0 * np.cbrt(x), [0.0], [0.0]),
    "log at 0": (np.log, [0.0, 2.0], [inf, 0.5]),
    "reciprocal at 0, not used": (lambda x: 0.0 * np.reciprocal(x), [0.0], [0.0]),
    "arcsin at 1": (np.arcsin, [1.0, 0.0], [inf, 1.0]),
    "select not taken": (lambda x: np.select([x > 0], [np.sqrt(x)], 0.0), [0.0, 4.0], [0.0, 0.25]),
    "piecewise not taken": (lambda x: np.piecewise(x, [x > 0], [np.sqrt, 0.0]), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: log": (lambda x: np.where(x > 0, np.log(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: division": (lambda x: np.where(x > 0, 1 / x, 0.0), [0.0, 2.0], [0.0, -0.25]),
    "where not taken: power": (lambda x: np.where(x > 0, x**0.5, 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where not taken: arcsin": (lambda x: np.where(x < 1, np.arcsin(x), 0.0), [1.0, 0.0], [0.0, 1.0]),
    "norm at 0": (np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
    "det of a singular matrix": (np.linalg.det, [[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    "eigvalsh of the whole matrix": (
        lambda a: np.linalg.eigvalsh(a)[1],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.5, 0.5], [0.5, 0.5]],
    ),
    "eigh of equal values": (lambda a: np.linalg.eigh(a)[0] ** 2, [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]),
    "svd of equal values": (lambda a: np.linalg.svd(a)[1], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]),
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
    "exponent 0 of 0": (lambda y: 0.0**y, [0.0], [0.0]),
    "prod with a zero": (np.prod, [0.0, 1.0, 2.0], [2.0, 0.0, 0.0]),
    "prod with two zeros": (np.prod, [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
    "cumprod with a zero": (np.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "sinc at 0": (np.sinc, [0.0], [0.0]),
    "median of an even number": (np.median, [1.0, 4.0, 2.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
    "sort of equals": (lambda x: np.sort(x) * [1.0, 2.0, 3.0], [1.0, 0.0, 1.0], [2.0, 1.0, 3.0]),
    "quantile of equals": (lambda x: np.quantile(x, 0.5), [1.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    "unique of equals": (np.unique, [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]),
    "quantile that jumps": (lambda x: np.quantile(x, 0.5, method="higher"), [1.0, 3.0, 2.0, 4.0], [0.0, 1.0, 0.0, 0.0]),
    "quantile that jumps, in q": (lambda q: np.quantile(np.arange(4.0), q, method="higher"), [0.5], [0.0]),
    "quantile in q": (lambda q: np.quantile(np.arange(4.0) ** 2, q), [0.0, 1.0, 0.5], [3.0, 15.0, 9.0]),
    "logaddexp of two -inf": (lambda x: np.logaddexp(x, -inf), [-inf], [0.5]),
    "logaddexp beside -inf": (lambda x: np.logaddexp(x, -inf), [1.0], [1.0]),
    "logsumexp with -inf": (lambda x: COMPOSED[special.logsumexp](x), [-inf, 1.0], [0.0, 1.0]),
    "nanmean": (np.nanmean, [1.0, nan, 3.0], [0.5, 0.0, 0.5]),
    "nanmax": (np.nanmax, [1.0, nan, 3.0], [0.0, 0.0, 1.0]),
    "nanmedian": (np.nanmedian, [1.0, nan, 3.0], [0.5, 0.0, 0.5]),
    "nanquantile": (lambda x: np.nanquantile(x, 0.5), [1.0, nan, 3.0], [0.5, 0.0, 0.5]),
    "nanvar": (np.nanvar, [1.0, nan, 3.0], [-1.0, 0.0, 1.0]),
    "nanstd of equals": (np.nanstd, [1.0, nan, 1.0], [0.0, 0.0, 0.0]),
    "nanprod": (np.nanprod, [2.0, nan, 3.0], [3.0, 0.0, 2.0]),
    "nancumsum": (np.nancumsum, [1.0, nan, 3.0], [3.0, 0.0, 1.0]),
    "max of NaN": (np.max, [1.0, nan], [0.0, 0.0]),
    "median of NaN": (np.median, [1.0, nan, 2.0], [0.0, 0.0, 0.0]),
    "quantile of NaN": (lambda x: np.quantile(x, 0.3), [1.0, nan, 2.0], [0.0, 0.0, 0.0]),
    "clip of NaN": (lambda x: np.clip(x, 0.0, 1.0), [nan, 0.5], [0.0, 1.0]),
    "maximum of NaN": (lambda x: np.maximum(x, [nan, 0.0]), [1.0, nan], [0.0, 0.0]),
    "interp at knots": (
        lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0]),
        [-1.0, 0.0, 1.0, 2.0, 3.0],
        [0, 1, 4, 4, 0],
    ),
    "remainder at a jump": (lambda x: np.remainder(x, 1.0), [2.0, 2.5], [1.0, 1.0]),
    "remainder at a jump, in y": (lambda y: np.remainder(4.0, y), [2.0, 3.0], [-2.0, -1.0]),
    "fmod at a jump": (lambda x: np.fmod(x, 1.0), [2.0, -2.5], [1.0, 1.0]),
    "modf": (lambda x: np.modf(x)[0] + 3 * np.modf(x)[1], [2.0, -2.5], [1.0, 1.0]),
    "frexp at a power of 2": (lambda x: np.frexp(x)[0], [4.0, 3.0], [0.125, 0.25]),
    "unwrap at a jump": (np.unwrap, [0.0, np.pi, 0.0], [1.0, 1.0, 1.0]),
    "heaviside at 0": (lambda y: np.heaviside([0.0, 1.0], y), [0.5, 0.5], [1.0, 0.0]),
    "heaviside at 0, in x": (lambda x: np.heaviside(x, 0.5), [0.0, 1.0], [0.0, 0.0]),
    "nextafter": (lambda x: np.nextafter(x, 9.0), [4.0], [1.0]),
    "counts": (
        lambda x: np.histogram(x, [0.0, 1.0, 2.0])[0] + np.unique(x, return_counts=True)[1],
        [1.0, 0.5],
        [0.0, 0.0],
    ),
    "weights of a histogram": (
        lambda w: np.histogram([1.0, 2.0, 3.0], [0, 1, 2], weights=w)[0],
        [1.0, 1.0, 1.0],
        [1.0, 1.0, 0.0],
    ),
    "rounding": (lambda x: np.floor(x) + np.rint(x) + x // 0.3 + np.round(x, 1), [0.5, 1.2], [0.0, 0.0]),
    "comparisons": (lambda x: (x > 0.7) + np.isclose(x, 0.5) + np.argsort(x), [0.5, 1.2], [0.0, 0.0]),
    "searches": (lambda x: x[np.argmax(x)] + np.searchsorted(x, 0.7) + np.digitize(x, [0.7]), [0.5, 1.2], [0.0, 2.0]),
    "nothing": (
        lambda x: np.max(x, initial=0.0) + np.mean(x[:0], axis=0, where=x[:0] > 0),
        np.zeros((0, 2)),
        np.zeros((0, 2)),
    ),
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
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=1e-15)


# the rows of the table in docs/conventions.md, and what tests them: names of CONVENTIONS, or tests in other files
ROWS = {
    "`abs`, `sign` at 0": ["abs at 0", "abs of complex 0", "abs of -0", "sign at 0"],
    "`copysign` of 0": ["copysign of 0"],
    "`max`, `min`, `ptp` with ties": ["max of equals", "min along an axis of equals", "ptp of equals"],
    "`maximum(x, y)`, `minimum` of equal values": ["maximum of equals", "minimum of equals"],
    "`maximum.accumulate` with ties": ["maximum.accumulate of equals"],
    "`clip` at a bound": ["clip at its bounds"],
    "`sqrt`, `cbrt` at 0": ["sqrt at 0", "sqrt at 0, not used", "cbrt at 0", "cbrt at 0, not used"],
    "`log`, `reciprocal` at 0, `arcsin` at 1": ["log at 0", "reciprocal at 0, not used", "arcsin at 1"],
    "`norm`, `std`, `hypot` at 0": ["norm at 0", "std of equals", "hypot at the origin"],
    "`where(c, sqrt(x), 0)`, `select`, `piecewise`": ["where not taken: sqrt", "select not taken", "piecewise not taken"],
    "`x**0` at 0": ["power 0 at 0", "power 0.0 at 0"],
    "`0**y`": ["exponent of 0", "exponent 0 of 0"],
    "`prod`, `cumprod` with zeros": ["prod with a zero", "prod with two zeros", "cumprod with a zero"],
    "`sinc` at 0": ["sinc at 0"],
    "`arctan2(0, 0)`, `angle(0)`": ["arctan2 at the origin", "angle of 0"],
    "`logaddexp(-inf, -inf)`": ["logaddexp of two -inf"],
    "`det` at a singular matrix": ["det of a singular matrix"],
    "a parameter of a special function without a closed form (`jv` in its order, `betainc` in `a`)": [
        "tests/scipy/test_special.py::test_a_parameter_without_a_closed_form_is_named"
    ],
    "`eigh`, `svd` with equal values": ["eigh of equal values", "svd of equal values"],
    "`eigh`, `eigvalsh`, `cholesky`": ["eigvalsh of the whole matrix"],
    "`median` of an even number": ["median of an even number"],
    "`sort`, `quantile`, `unique` of equal entries": ["sort of equals", "quantile of equals", "unique of equals"],
    "`quantile` by a method that jumps": ["quantile that jumps", "quantile that jumps, in q"],
    "`nanmean`, `nanmax`, ...": ["nanmean", "nanmax", "nanmedian", "nanvar", "nanprod", "nancumsum"],
    "`max`, `median`, `clip`, `maximum` that give NaN": ["max of NaN", "median of NaN", "clip of NaN", "maximum of NaN"],
    "`sum(where=...)`, `mean(where=...)`": ["sum ignores what is masked", "mean ignores what is masked"],
    "`nan_to_num` of what it replaces": ["nan_to_num"],
    "`interp` at a knot": ["interp at knots"],
    "`remainder`, `fmod`, `modf`, `frexp`, `unwrap` at a jump": [
        "remainder at a jump", "remainder at a jump, in y", "fmod at a jump", "modf", "frexp at a power of 2", "unwrap at a jump",
    ],
    "`heaviside(0, y)`": ["heaviside at 0", "heaviside at 0, in x"],
    "`nextafter`": ["nextafter"],
    "counts of `histogram`, `bincount`, `unique`": ["counts", "weights of a histogram"],
    "rounding, comparisons, `argmax`, index searches": ["rounding", "comparisons", "searches"],
    "empty arrays": ["nothing"],
}  # fmt: skip


def test_each_documented_convention_is_tested():
    table = (ROOT / "docs" / "conventions.md").read_text().partition("| at |")[2].partition("\n\n")[0]
    documented = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]
    assert documented == list(ROWS)
    for name in [name for names in ROWS.values() for name in names]:
        path, elsewhere, test = name.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text() if elsewhere else name in CONVENTIONS, name


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


# functions, and points on their branch cuts; the sign of a zero says on which side
CUTS = {
    "arcsin": (np.arcsin, (2.0, -2.0), 1.0),
    "arccos": (np.arccos, (2.0, -2.0), 1.0),
    "arccosh": (np.arccosh, (0.5, -0.5, -2.0), 1.0),
    "arctanh": (np.arctanh, (2.0, -2.0), 1.0),
    "arcsinh": (np.arcsinh, (2.0, -2.0), 1j),
    "arctan": (np.arctan, (2.0, -2.0), 1j),
    "sqrt": (np.sqrt, (-2.0,), 1.0),
    "log": (np.log, (-2.0,), 1.0),
    "log1p": (np.log1p, (-2.0,), 1.0),
    "power": (lambda z: np.power(z, 0.3), (-2.0,), 1.0),
}


@pytest.mark.parametrize(("f", "points", "along"), CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_sides_of_a_branch_cut(f, points, along, zero):
    def on_cut(x):
        return np.array([complex(x, zero) if along == 1.0 else complex(zero, x)])

    for x in points:
        rise = (f(on_cut(x + 1e-6)) - f(on_cut(x - 1e-6))) / 2e-6
        _, tangent = gv.jvp(f, (on_cut(x),), (np.array([along + 0j]),))
        np.testing.assert_allclose(tangent, rise, rtol=1e-8, atol=1e-8, err_msg=f"{x} {zero}")


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
