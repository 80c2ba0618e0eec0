"""Functions that act entry by entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradviz.scipy import special
from tests.conformance.twins.twin import twin, twins

twins(
    abs=np.abs, acos=np.arccos, acosh=np.arccosh, asin=np.arcsin, asinh=np.arcsinh, atan=np.arctan, atanh=np.arctanh, ceil=np.ceil,
    conj=np.conj, conj_physical=np.conj, resolve_conj=np.positive, resolve_neg=np.positive, positive=np.positive, neg=np.negative,
    cos=np.cos, cosh=np.cosh, deg2rad=np.deg2rad, exp=np.exp, exp2=np.exp2, expm1=np.expm1, floor=np.floor, i0=special.i0,
    imag=np.imag, log=np.log, log10=np.log10, log1p=np.log1p, log2=np.log2, rad2deg=np.rad2deg, real=np.real, reciprocal=np.reciprocal,
    sin=np.sin, sinc=np.sinc, sinh=np.sinh, sgn=np.sign, sign=np.sign, sqrt=np.sqrt, square=np.square, tan=np.tan, tanh=np.tanh,
    trunc=np.trunc, digamma=special.digamma, erf=special.erf, erfc=special.erfc, erfinv=special.erfinv, lgamma=special.gammaln,
    angle=np.angle, clone=np.copy, contiguous=np.copy, alias_copy=np.copy, special__i0e=special.i0e,
    special__i1=special.i1, special__i1e=special.i1e, special__ndtr=special.ndtr, special__ndtri=special.ndtri,
    special__log_ndtr=special.log_ndtr, special__erfcx=special.erfcx, special__entr=special.entr,
)  # fmt: skip

twins(
    atan2=np.arctan2, copysign=np.copysign, fmax=np.fmax, fmin=np.fmin, fmod=np.fmod, remainder=np.remainder, maximum=np.maximum,
    minimum=np.minimum, logaddexp2=np.logaddexp2, hypot=np.hypot, nextafter=np.nextafter, mul=np.multiply,
    true_divide=np.true_divide, pow=np.power, float_power=np.float_power, xlogy=special.xlogy, special__xlog1py=special.xlog1py,
)  # fmt: skip

twin("max.binary")(np.maximum)
twin("min.binary")(np.minimum)
twin("__radd__")(lambda x, y: y + x)
twin("__rmul__")(lambda x, y: y * x)
twin("__rsub__")(lambda x, y: y - x)
twin("__rdiv__")(lambda x, y: y / x)
twin("__rmod__")(lambda x, y: y % x)
twin("__rpow__")(lambda x, y: y**x)
twin("add")(lambda x, y, *, alpha=1: x + alpha * y)
twin("sub")(lambda x, y, *, alpha=1: x - alpha * y)
twin("rsub")(lambda x, y, alpha=1: y - alpha * x)
twin("addcmul")(lambda x, a, b, *, value=1: x + value * a * b)
twin("addcdiv")(lambda x, a, b, *, value=1: x + value * a / b)
twin("div.no_rounding_mode")(lambda x, y, rounding_mode=None: x / y)
twin("div.trunc_rounding")(lambda x, y, rounding_mode=None: np.trunc(x / y))
twin("div.floor_rounding")(lambda x, y, rounding_mode=None: np.floor_divide(x, y))
twin("rsqrt")(lambda x: 1 / np.sqrt(x))
twin("frac")(lambda x: x - np.trunc(x))
twin("ldexp")(lambda x, n: x * np.exp2(n))
twin("lerp")(lambda x, end, weight: x + weight * (end - x))
twin("complex")(lambda re, im: re + 1j * im)
twin("polar")(lambda r, angle: r * np.exp(1j * angle))
twin("frexp")(np.frexp)
twin("nan_to_num")(
    lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)
)
twin("where")(lambda x, condition, y: np.where(condition, x, y))
twin("round", "round.decimals_0", "round.decimals_3", "round.decimals_neg_3")(
    lambda x, *, decimals=0: np.round(x, decimals)
)
twin("fill")(lambda x, value: np.full_like(x, value))
twin("zero_")(lambda x: np.zeros_like(x))
twin("masked_fill")(lambda x, mask, value: np.where(mask, value, x))
twin("clamp_max")(lambda x, most: np.minimum(x, most))
twin("clamp_min")(lambda x, least: np.maximum(x, least))
twin("to")(lambda x, *args, **kwargs: _cast(x, _dtype(x, args, kwargs)))
twin("double")(lambda x, **kwargs: np.real(x).astype(float))
twin("cdouble")(lambda x, **kwargs: x.astype(complex))
twin("float")(lambda x, **kwargs: np.real(x).astype(np.float32))
twin("logaddexp", real=True)(np.logaddexp)
twin("sigmoid")(lambda x: 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else special.expit(x))
twin("cfloat")(lambda x, **kwargs: x.astype(np.complex64))


def _dtype(x: Any, args: Any, kwargs: Any) -> Any:
    named = [getattr(a, "dtype", a) for a in (*args, *kwargs.values())]
    return next((a for a in named if isinstance(a, np.dtype)), x.dtype)


def _cast(x: Any, dtype: Any) -> Any:
    return (x if dtype.kind == "c" else np.real(x)).astype(dtype)


@twin("clamp")
def clamp(x, min=None, max=None):  # noqa: A002 - torch's names
    return np.clip(x, min, max)


@twin("logit")
def logit(x, eps=None):
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def polygamma(n, x):
    if isinstance(x, int):  # the method has the array first
        n, x = x, n
    return special.digamma(x) if n == 0 else (-1.0) ** (n + 1) * math.factorial(n) * special.zeta(n + 1.0, x)


twin(*(f"polygamma.polygamma_n_{n}" for n in range(5)), "special.polygamma.special_polygamma_n_0")(polygamma)


@twin("mvlgamma.mvlgamma_p_1", "mvlgamma.mvlgamma_p_3", "mvlgamma.mvlgamma_p_5")
def mvlgamma(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(special.gammaln(x - j / 2) for j in range(p))
