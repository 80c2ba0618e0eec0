"""Derivatives of `scipy.special`: ufuncs by their slopes, the rest in terms of them.

SciPy's ufuncs take traced arrays as they are. Its Python functions (`logsumexp`, `softmax`, `polygamma`, ...) read
their arguments first; what they do to traced arrays is entered here, for `gradviz.scipy.special` to use.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from gradviz.engine.rule import composed, no_gradient
from gradviz.engine.slope import slope

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_TWO_PI = math.sqrt(2 * math.pi)


def bell(x: Any) -> Any:
    """Density of the normal distribution."""
    return np.exp(-0.5 * x * x) / SQRT_TWO_PI


# ---- errors, logistic, normal

slope(special.erf, x=lambda x: TWO_OVER_SQRT_PI * np.exp(-x * x))
slope(special.erfc, x=lambda x: -TWO_OVER_SQRT_PI * np.exp(-x * x))
slope(special.erfcx, x=lambda x, out: 2 * x * out - TWO_OVER_SQRT_PI)
slope(special.erfi, x=lambda x: TWO_OVER_SQRT_PI * np.exp(x * x))
slope(special.erfinv, singular=True, x=lambda out: np.exp(out * out) / TWO_OVER_SQRT_PI)
slope(special.erfcinv, singular=True, x=lambda out: -np.exp(out * out) / TWO_OVER_SQRT_PI)
slope(special.dawsn, x=lambda x, out: 1 - 2 * x * out)
slope(special.wofz, x=lambda x, out: 1j * TWO_OVER_SQRT_PI - 2 * x * out)
slope(special.ndtr, x=bell)
slope(special.log_ndtr, x=lambda x, out: np.exp(-0.5 * x * x - out) / SQRT_TWO_PI)
slope(special.ndtri, singular=True, x=lambda out: SQRT_TWO_PI * np.exp(0.5 * out * out))
slope(special.expit, x=lambda out: out * (1 - out))
slope(special.log_expit, x=lambda x: special.expit(-x))
slope(special.logit, singular=True, x=lambda x: 1 / (x * (1 - x)))
slope(
    special.owens_t,
    x=lambda x, y: -bell(x) * (special.ndtr(x * y) - 0.5),
    y=lambda x, y: bell(x) * bell(x * y) / (1 + y * y),
)

# ---- gamma, beta

slope(special.gamma, x=lambda x, out: out * special.digamma(x))
slope(special.gammaln, x=lambda x: special.digamma(x))
slope(special.loggamma, x=lambda x: special.digamma(x))
slope(special.rgamma, x=lambda x, out: -out * special.digamma(x))
slope(special.digamma, x=lambda x: _ufuncs._zeta(2.0, x))
slope(_ufuncs._zeta, y=lambda x, y: -x * _ufuncs._zeta(x + 1, y))
slope(special.gammainc, y=lambda x, y: np.exp(special.xlogy(x - 1, y) - y - special.gammaln(x)))
slope(special.gammaincc, y=lambda x, y: -np.exp(special.xlogy(x - 1, y) - y - special.gammaln(x)))
slope(
    special.beta,
    x=lambda x, y, out: out * (special.digamma(x) - special.digamma(x + y)),
    y=lambda x, y, out: out * (special.digamma(y) - special.digamma(x + y)),
)
slope(
    special.betaln,
    x=lambda x, y: special.digamma(x) - special.digamma(x + y),
    y=lambda x, y: special.digamma(y) - special.digamma(x + y),
)


def betainc_slope(x: Any, y: Any, z: Any, out: Any) -> Any:
    density = np.exp(special.xlogy(x - 1, z) + special.xlog1py(y - 1, -z) - special.betaln(x, y))
    return density if density.dtype == out.dtype else density.astype(out.dtype)  # SciPy reads 1.5 as a float64


slope(special.betainc, z=betainc_slope)
slope(
    special.poch,
    x=lambda x, y, out: out * (special.digamma(x + y) - special.digamma(x)),
    y=lambda x, y, out: out * special.digamma(x + y),
)
slope(
    special.binom,
    x=lambda x, y, out: out * (special.digamma(x + 1) - special.digamma(x - y + 1)),
    y=lambda x, y, out: out * (special.digamma(x - y + 1) - special.digamma(y + 1)),
)

# ---- logarithms, entropies, losses


def log_at(x: Any, y: Any) -> Any:
    """``log(y)``, and 0 where ``x`` is 0 and `xlogy` therefore does not look."""
    return np.log(np.where((x == 0) & (y == 0), 1, y))


slope(special.xlogy, singular=True, x=log_at, y=lambda x, y: x / y)
slope(special.xlog1py, singular=True, x=lambda x, y: log_at(x, 1 + y), y=lambda x, y: x / (1 + y))
slope(special.entr, singular=True, x=lambda x: -np.log(x) - 1)
slope(special.rel_entr, singular=True, x=lambda x, y: np.log(x / y) + 1, y=lambda x, y: -x / y)
slope(special.kl_div, singular=True, x=lambda x, y: np.log(x / y), y=lambda x, y: 1 - x / y)
slope(special.boxcox, x=lambda x, y: x ** (y - 1), y=lambda x, y, out: (np.exp(y * np.log(x)) * np.log(x) - out) / y)
slope(special.boxcox1p, x=lambda x, y: (1 + x) ** (y - 1), y=lambda x, y, out: ((1 + x) ** y * np.log1p(x) - out) / y)
slope(special.inv_boxcox, x=lambda x, y, out: out ** (1 - y))
slope(special.huber, y=lambda x, y: np.clip(y, -x, x))
slope(special.pseudo_huber, y=lambda x, y: y / np.sqrt(1 + (y / x) ** 2))
slope(special.cosm1, x=lambda x: -np.sin(x))


def exprel_slope(x: Any, out: Any) -> Any:
    """``(exp(x) - out) / x``, by its series where the two terms cancel."""
    small = np.abs(x) < 1e-2
    series = 0.5 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x * (1 / 144 + x / 840))))
    return np.where(small, series, (np.exp(x) - out) / np.where(small, 1, x))


slope(special.exprel, x=exprel_slope)

# ---- Bessel and Airy functions

slope(special.j0, x=lambda x: -special.j1(x))
slope(special.j1, x=lambda x: (special.j0(x) - special.jv(2.0, x)) / 2)
slope(special.y0, x=lambda x: -special.y1(x))
slope(special.y1, x=lambda x: (special.y0(x) - special.yv(2.0, x)) / 2)
slope(special.i0, x=lambda x: special.i1(x))
slope(special.i1, x=lambda x: (special.i0(x) + special.iv(2.0, x)) / 2)
slope(special.i0e, x=lambda x, out: special.i1e(x) - np.sign(x) * out)
slope(special.i1e, x=lambda x, out: (special.i0e(x) + special.ive(2.0, x)) / 2 - np.sign(x) * out)
slope(special.k0, x=lambda x: -special.k1(x))
slope(special.k1, x=lambda x: -(special.k0(x) + special.kv(2.0, x)) / 2)
slope(special.k0e, x=lambda x, out: out - special.k1e(x))
slope(special.k1e, x=lambda x, out: out - (special.k0e(x) + special.kve(2.0, x)) / 2)
slope(special.jv, y=lambda x, y: (special.jv(x - 1, y) - special.jv(x + 1, y)) / 2)
slope(special.yv, y=lambda x, y: (special.yv(x - 1, y) - special.yv(x + 1, y)) / 2)
slope(special.yn, y=lambda x, y: (special.yv(x - 1, y) - special.yv(x + 1, y)) / 2)
slope(special.iv, y=lambda x, y: (special.iv(x - 1, y) + special.iv(x + 1, y)) / 2)
slope(special.kv, y=lambda x, y: -(special.kv(x - 1, y) + special.kv(x + 1, y)) / 2)
slope(special.ive, y=lambda x, y, out: (special.ive(x - 1, y) + special.ive(x + 1, y)) / 2 - np.sign(y) * out)
slope(special.kve, y=lambda x, y, out: out - (special.kve(x - 1, y) + special.kve(x + 1, y)) / 2)
slope(np.i0, x=lambda x: special.i1(x))

# ---- integrals

slope(special.exp1, singular=True, x=lambda x: -np.exp(-x) / x)
slope(special.expi, singular=True, x=lambda x: np.exp(x) / x)
slope(special.expn, y=lambda x, y: -special.expn(x - 1, y))
slope(special.spence, singular=True, x=lambda x: -np.log(x) / (x - 1))
slope(special.ellipk, x=lambda x, out: (special.ellipe(x) / (1 - x) - out) / (2 * x))
slope(special.ellipe, x=lambda x, out: (out - special.ellipk(x)) / (2 * x))
slope(special.hyp1f1, z=lambda x, y, z: x / y * special.hyp1f1(x + 1, y + 1, z))
slope(special.hyp2f1, w=lambda x, y, z, w: x * y / z * special.hyp2f1(x + 1, y + 1, z + 1, w))
slope(special.hyp0f1, y=lambda x, y: special.hyp0f1(x + 1, y) / x)

no_gradient(special.round, special.gammasgn)


# ---- functions that SciPy writes in Python


@composed(special.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    largest = np.max(np.real(a) if a.dtype.kind == "c" else a, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    terms = np.exp(a - largest)
    total = np.sum(terms if b is None else b * terms, axis=axis, keepdims=True)
    sign = np.sign(total)
    result = np.log(np.abs(total) if return_sign else total) + largest
    if not keepdims:
        result, sign = np.squeeze(result, axis), np.squeeze(sign, axis)
    return (result, sign) if return_sign else result


@composed(special.softmax)
def softmax(x, axis=None):
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


@composed(special.log_softmax)
def log_softmax(x, axis=None):
    return x - logsumexp(x, axis=axis, keepdims=True)


@composed(special.multigammaln)  # type: ignore[attr-defined]
def multigammaln(a, d):
    constant = d * (d - 1) / 4 * math.log(math.pi)
    return sum(special.gammaln(a - j / 2) for j in range(d)) + constant


@composed(special.polygamma)
def polygamma(n, x):
    if n == 0:
        return special.digamma(x)
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * _ufuncs._zeta(n + 1.0, x)


@composed(special.zeta)
def zeta(x, q):
    return _ufuncs._zeta(x, q)
