"""Error functions, logistic functions, and the normal distribution with what is built on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
SQRT_TWO_PI = math.sqrt(2 * math.pi)


def bell(x: Any) -> Any:
    """Density of the normal distribution."""
    return np.exp(-0.5 * x * x) / SQRT_TWO_PI


# ---- error functions (7.2, 7.10)

slope(special.erf, x=lambda x: TWO_OVER_SQRT_PI * np.exp(-x * x))
slope(special.erfc, x=lambda x: -TWO_OVER_SQRT_PI * np.exp(-x * x))
slope(special.erfcx, x=lambda x, out: 2 * x * out - TWO_OVER_SQRT_PI)
slope(special.erfi, x=lambda x: TWO_OVER_SQRT_PI * np.exp(x * x))
slope(special.erfinv, singular=True, signature="y", y=lambda out: np.exp(out * out) / TWO_OVER_SQRT_PI)
slope(special.erfcinv, singular=True, signature="y", y=lambda out: -np.exp(out * out) / TWO_OVER_SQRT_PI)
slope(special.dawsn, x=lambda x, out: 1 - 2 * x * out)


def wofz_slope(z: Any, out: Any) -> Any:
    return 1j * TWO_OVER_SQRT_PI - 2 * z * out


slope(special.wofz, signature="z", z=wofz_slope)


def _faddeeva(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """Where `voigt_profile` looks at `wofz`, and the slope of that there, both over ``sigma``."""
    z = (x + 1j * gamma) / (math.sqrt(2) * sigma)
    return z, wofz_slope(z, special.wofz(z)) / (2 * math.sqrt(math.pi) * sigma * sigma)


def voigt_to_x_slope(x: Any, sigma: Any, gamma: Any) -> Any:
    return np.real(_faddeeva(x, sigma, gamma)[1])


def voigt_to_sigma_slope(x: Any, sigma: Any, gamma: Any, out: Any) -> Any:
    z, along = _faddeeva(x, sigma, gamma)
    return -out / sigma - math.sqrt(2) * np.real(z * along)


def voigt_to_gamma_slope(x: Any, sigma: Any, gamma: Any) -> Any:
    return -np.imag(_faddeeva(x, sigma, gamma)[1])


slope(
    special.voigt_profile,
    signature="x, sigma, gamma",
    x=voigt_to_x_slope,
    sigma=voigt_to_sigma_slope,
    gamma=voigt_to_gamma_slope,
)

# ---- logistic

slope(special.expit, x=lambda out: out * (1 - out))
slope(special.log_expit, x=lambda x: special.expit(-x))
slope(special.logit, singular=True, x=lambda x: 1 / (x * (1 - x)))

# ---- normal distribution

slope(special.ndtr, x=bell)
slope(special.log_ndtr, x=lambda x, out: np.exp(-0.5 * x * x - out) / SQRT_TWO_PI)
slope(special.ndtri, singular=True, signature="p", p=lambda out: SQRT_TWO_PI * np.exp(0.5 * out * out))
slope(special.ndtri_exp, signature="y", y=lambda y, out: SQRT_TWO_PI * np.exp(y + 0.5 * out * out))
slope(
    special.nrdtrimn,
    signature="p, std, x",
    p=lambda p, std: -std / bell(special.ndtri(p)),
    std=lambda p: -special.ndtri(p),
    x=lambda x: np.ones_like(x),
)
slope(
    special.nrdtrisd,
    signature="mn, p, x",
    mn=lambda p: -1 / special.ndtri(p),
    p=lambda p, out: -out / (special.ndtri(p) * bell(special.ndtri(p))),
    x=lambda p: 1 / special.ndtri(p),
)
slope(
    special.owens_t,
    signature="h, a",
    h=lambda h, a: -bell(h) * (special.ndtr(h * a) - 0.5),
    a=lambda h, a: bell(h) * bell(h * a) / (1 + a * a),
)

# ---- Kolmogorov's distribution


def kolmogorov_density(y: Any) -> Any:
    """The density by the two theta series, each where it needs no more than five terms (Marsaglia, Tsang, Wang 2003)."""
    low = y < 1
    far, near = np.where(low, 1, y), np.where(low, np.where(y > 0.02, y, 1), 1)
    tail = sum((-1) ** (k + 1) * 8 * k * k * far * np.exp(-2 * (k * far) ** 2) for k in range(1, 6))
    waves = [((2 * k - 1) * math.pi) ** 2 / 8 for k in range(1, 6)]
    head = sum((2 * w / near**4 - 1 / near**2) * np.exp(-w / near**2) for w in waves)
    return np.where(low, np.where(y > 0.02, SQRT_TWO_PI * head, 0), tail)


slope(special.kolmogorov, signature="y", y=lambda y: -kolmogorov_density(y))
slope(special.kolmogi, singular=True, signature="p", p=lambda out: -1 / kolmogorov_density(out))
