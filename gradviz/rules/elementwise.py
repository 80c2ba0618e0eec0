"""Derivatives of ufuncs, and of functions that act entry by entry as ufuncs do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.call import call_without_gradient
from gradviz.engine.cotangent import zeros
from gradviz.engine.rule import RULES, Rule, composed, rule
from gradviz.engine.slope import conj, slope, times, times_safely

LOG2, LOG10 = math.log(2), math.log(10)


def is_python(x: Any) -> bool:
    """Whether ``x`` is a Python number, which adopts the dtype it meets but does not divide by zero."""
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)


def is_known(x: Any) -> bool:
    """Whether ``x`` is a Python number that one may look at; one that is captured for a plan is another in the next call."""
    return is_python(x) and not hasattr(x, "lift")


def is_complex(x: Any) -> bool:
    return isinstance(x, complex) if is_python(x) else x.dtype.kind == "c"


def unchanged_to_x(ct):
    return ct


# ---- arithmetic


def unchanged_to_y(ct):
    return ct


def subtract_to_y(ct):
    return -ct


def multiply_to_x(ct, y):
    return ct * conj(y)


def multiply_to_y(ct, x):
    return ct * conj(x)


def negative_to_x(ct):
    return -ct


rule(np.add, unchanged_to_x, unchanged_to_y, signature="x, y", elementwise=True, linear="joint")
rule(np.subtract, unchanged_to_x, subtract_to_y, signature="x, y", elementwise=True, linear="joint")
rule(np.multiply, multiply_to_x, multiply_to_y, signature="x, y", elementwise=True, linear="each")
rule(np.negative, negative_to_x, signature="x", elementwise=True, linear="each")
rule(np.positive, unchanged_to_x, signature="x", elementwise=True, linear="each")


def one_over(x: Any) -> Any:
    return math.inf if is_known(x) and x == 0 else 1 / x


slope(np.true_divide, singular=True, x=lambda y: one_over(y), y=lambda out, y: -(out / y))
slope(np.reciprocal, singular=True, x=lambda out: -out * out)
slope(np.square, x=lambda x: 2 * x)


def whole_part(x, y, out):
    """``-floor(x / y)`` of a remainder, ``-trunc(x / y)`` of an ``fmod``, as the integer that gave ``out``."""
    return np.rint((out - x) / y)


slope(np.remainder, x=lambda: 1, y=whole_part)
slope(np.fmod, x=lambda: 1, y=whole_part)


@composed(np.divmod)
def divide_with_remainder(x, y):
    return call_without_gradient(np.floor_divide, (x, y), {}), np.remainder(x, y)


def modf_to_x(ct):
    fraction, whole = ct
    return whole * 0 if fraction is None else fraction


def frexp_to_x(ct, out):
    return np.ldexp(ct[0], -out[1])


def ldexp_to_x(ct, y):
    return np.ldexp(ct, y)


composed(np.modf)(rule(lambda x: np.modf(x), modf_to_x, name="modf", elementwise=True, outputs=True))
composed(np.frexp)(rule(lambda x: np.frexp(x), frexp_to_x, name="frexp", elementwise=True, outputs=True))
rule(np.ldexp, ldexp_to_x, signature="x, y", elementwise=True, linear="each")


# ---- powers and logarithms


def power_slope(x, y):
    """``y * x**(y - 1)``, and 0 for ``y == 0`` whatever ``x`` is."""
    if is_known(y):
        return 2 * x if y == 2 else 0.0 if y == 0 else y * (np.power(x, y - 1) if is_python(x) else x ** (y - 1))
    return y * np.power(x, np.where(y == 0, 1, y - 1))


def exponent_slope(x, out):
    """``out * log(x)``, and 0 for ``x == 0``."""
    if is_complex(out) and not is_complex(x):
        x = x + 0j
    if is_known(x):
        return out * (0.0 if x == 0 else np.log(x).item())
    return out * np.log(np.where(x == 0, 1, x))


def power_to_x(ct, x, y):
    return (times if is_known(y) and not isinstance(y, complex) and y >= 1 else times_safely)(ct, power_slope(x, y))


for power in (np.power, np.float_power):
    slope(power, singular=True, x=power_slope, y=exponent_slope).pullback(power_to_x)
slope(np.sqrt, singular=True, x=lambda out: 0.5 / out)
slope(np.cbrt, singular=True, x=lambda out: 1 / (3 * out * out))
slope(np.exp, x=lambda out: out)
slope(np.exp2, x=lambda out: out * LOG2)
slope(np.expm1, x=lambda out: out + 1)
slope(np.log, singular=True, x=one_over)
slope(np.log2, singular=True, x=lambda x: one_over(x * LOG2))
slope(np.log10, singular=True, x=lambda x: one_over(x * LOG10))
slope(np.log1p, singular=True, x=lambda x: one_over(1 + x))


def gap(x, out):
    """``x - out`` of a log-sum, where both may be -inf and then share equally."""
    return np.where(out == -math.inf, -LOG2, x - out)


def gap2(x, out):
    return np.where(out == -math.inf, -1, x - out)


slope(np.logaddexp, x=lambda x, out: np.exp(gap(x, out)), y=lambda y, out: np.exp(gap(y, out)))
slope(np.logaddexp2, x=lambda x, out: np.exp2(gap2(x, out)), y=lambda y, out: np.exp2(gap2(y, out)))


# ---- trigonometry


def one_more(x):
    """``1 + x``. Of a complex number the sign of a zero imaginary part stays, which tells the sides of a branch cut apart."""
    return -(-x - 1) if is_complex(x) else 1 + x


def arcsin_slope(x):
    """``1 / sqrt(1 - x**2)``; of a complex number by factors, which are on the same side of their cuts as ``x``."""
    return 1 / (np.sqrt(-(x - 1)) * np.sqrt(one_more(x)) if is_complex(x) else np.sqrt(1 - x * x))


slope(np.sin, x=lambda x: np.cos(x))
slope(np.cos, x=lambda x: -np.sin(x))
slope(np.tan, x=lambda out: 1 + out * out)
slope(np.arcsin, singular=True, x=lambda x: arcsin_slope(x))
slope(np.arccos, singular=True, x=lambda x: -arcsin_slope(x))
slope(np.arctan, x=lambda x: one_over(1 + x * x))
slope(np.sinh, x=lambda x: np.cosh(x))
slope(np.cosh, x=lambda x: np.sinh(x))
slope(np.tanh, x=lambda out: 1 - out * out)
slope(np.arcsinh, singular=True, x=lambda x: 1 / (np.cosh(np.arcsinh(x)) if is_complex(x) else np.sqrt(1 + x * x)))
slope(np.arccosh, singular=True, x=lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(one_more(x))))
slope(np.arctanh, singular=True, x=lambda x: one_over(1 - x * x))
for _function in (np.deg2rad, np.radians):
    slope(_function, x=lambda: math.pi / 180)
for _function in (np.rad2deg, np.degrees):
    slope(_function, x=lambda: 180 / math.pi)


def length(x, y):
    """``hypot(x, y)``, and inf at the origin, so that what is divided by it is 0 there."""
    r = np.hypot(x, y)
    return np.where(r == 0, math.inf, r)


slope(
    np.hypot,
    x=lambda x, out: x / np.where(out == 0, math.inf, out),
    y=lambda y, out: y / np.where(out == 0, math.inf, out),
)


def arctan2_slope(x, y):
    r = length(x, y)
    return y / r / r


slope(np.arctan2, x=arctan2_slope, y=lambda x, y: -arctan2_slope(y, x))


def sinc_slope(x):
    """Near 0 the two terms of the closed form cancel; the series is exact to rounding for ``|t| < 0.1``."""
    t = math.pi * x
    small = np.abs(t) < 0.1
    tt = np.where(small, t * t, 0)
    series = -t / 3 * (1 - tt / 10 * (1 - tt / 28 * (1 - tt / 54)))
    t = np.where(small, 1, t)
    return math.pi * np.where(small, series, (np.cos(t) - np.sin(t) / t) / t)


slope(np.sinc, x=sinc_slope)


# ---- sign and size


def absolute_to_x(ct, x):
    if not is_complex(x):
        return ct * np.sign(x)
    r = np.abs(x)
    return ct / np.where(r == 0, math.inf, r) * x  # in this order: a Python number times a NumPy one is Python's


rule(np.absolute, absolute_to_x, signature="x", elementwise=True)
slope(np.fabs, x=lambda x: np.sign(x))


def sign_to_x(ct, x, out):
    """Of a complex number: the part of ``ct`` along the circle."""
    r = np.abs(x)
    return (ct - np.real(conj(out) * ct) * out) / np.where(r == 0, math.inf, r)


_sign = Rule(np.sign, signature="x", elementwise=True)
_sign.pullback(sign_to_x)


@composed(np.sign)
def sign(x):
    return _sign(x) if is_complex(x) else call_without_gradient(np.sign, (x,), {})


slope(np.copysign, constant=("y",), x=lambda x, out: np.sign(x) * np.sign(out))
slope(np.nextafter, constant=("y",), x=lambda: 1)
slope(np.heaviside, constant=("x",), y=lambda x, out: np.equal(x, 0).astype(out.dtype))


def win(above, level, x, y):
    """1 where ``above``, ½ where not above but ``level``, in the dtype of the operands."""
    share = np.add(above, level, dtype=np.result_type(bottom(x), bottom(y)))
    share *= 0.5
    return share


slope(np.maximum, x=lambda x, y: win(x > y, x >= y, x, y), y=lambda x, y: win(y > x, y >= x, x, y))
slope(np.minimum, x=lambda x, y: win(x < y, x <= y, x, y), y=lambda x, y: win(y < x, y <= x, x, y))
slope(
    np.fmax,
    x=lambda x, y: win((x > y) | (y != y), (x >= y) | (y != y), x, y),
    y=lambda x, y: win((y > x) | (x != x), (y >= x) | (x != x), x, y),
)
slope(
    np.fmin,
    x=lambda x, y: win((x < y) | (y != y), (x <= y) | (y != y), x, y),
    y=lambda x, y: win((y < x) | (x != x), (y <= x) | (x != x), x, y),
)


# ---- complex numbers


def conjugate_to_x(ct):
    return np.conj(ct)


def real_to_val(ct):
    return ct


def imag_to_val(ct, val_like):
    kind = val_like.dtype if isinstance(val_like.dtype, type) else val_like.dtype.type
    return ct * 1j if issubclass(kind, (complex, np.complexfloating)) else zeros(val_like, ct)


def angle_to_z(ct, z, deg):
    if not is_complex(z):
        return ct * 0
    r = np.abs(z)
    r = np.where(r == 0, math.inf, r)
    return ct / r * (1j * (180 / math.pi if deg else 1.0)) * (z / r)


rule(np.conjugate, conjugate_to_x, signature="x", elementwise=True, linear="each")
rule(np.real, real_to_val, view=True, linear="each")
rule(np.imag, imag_to_val, view=True, linear="each")
rule(np.angle, angle_to_z, elementwise=True)


@composed(np.real_if_close)
def real_if_close(a, tol=100):
    return np.real(a) if np.real_if_close(bottom(a), tol).dtype.kind != "c" else a


# ---- replacing


def parts(x: Any) -> tuple[Any, ...]:
    return (np.real(x), np.imag(x)) if is_complex(x) else (x,)


def nan_to_num_to_x(ct, x):
    kept = [np.where(np.isfinite(part), to, 0) for part, to in zip(parts(x), parts(ct), strict=True)]
    return kept[0] if len(kept) == 1 else kept[0] + 1j * kept[1]


def nan_to_num_to_nan(ct, x):
    return sum(np.where(np.isnan(part), to, 0) for part, to in zip(parts(x), parts(ct), strict=True))


def nan_to_num_to_posinf(ct, x):
    return sum(np.where(np.isposinf(part), to, 0) for part, to in zip(parts(x), parts(ct), strict=True))


def nan_to_num_to_neginf(ct, x):
    return sum(np.where(np.isneginf(part), to, 0) for part, to in zip(parts(x), parts(ct), strict=True))


RULES[np.nan_to_num] = rule(
    lambda x, copy=True, nan=0.0, posinf=None, neginf=None: np.nan_to_num(x, True, nan, posinf, neginf),
    nan_to_num_to_x,
    nan_to_num_to_nan,
    nan_to_num_to_posinf,
    nan_to_num_to_neginf,
    name="nan_to_num",
    elementwise=True,
)


def where_to_x(ct, condition):
    return np.where(condition, ct, 0)


def where_to_y(ct, condition):
    return np.where(condition, 0, ct)


def where(condition, x=None, y=None):
    return np.nonzero(condition) if x is None and y is None else np.where(condition, x, y)


RULES[np.where] = rule(where, where_to_x, where_to_y, constant=("condition",), elementwise=True, linear="joint")


def clip_to_a(ct, a, low, high):
    inside = True if low is None else np.greater_equal(a, low)
    return np.where(inside if high is None else inside & np.less_equal(a, high), ct, 0)


def clip_to_low(ct, a, low, high):
    below = np.less(a, low)
    return np.where(below if high is None else below & np.less_equal(low, high), ct, 0)


def clip_to_high(ct, a, low, high):
    above = np.greater(a, high)
    return np.where(above if low is None else above | np.greater(low, high), ct, 0)


def clipped(a, low, high):
    return np.clip(a, low, high)


bounded = rule(clipped, clip_to_a, clip_to_low, clip_to_high, name="clip", elementwise=True)


@composed(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return bounded(a, a_min if min is None else min, a_max if max is None else max)
