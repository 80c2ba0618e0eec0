"""Exponential, trigonometric and Fresnel integrals, and the dilogarithm: the slope is the integrand (6.2, 7.2, 25.12)."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.number import quotient

slope(special.exp1, singular=True, signature="z", z=lambda z: -np.exp(-z) / z)
slope(special.expi, singular=True, x=lambda x: np.exp(x) / x)
slope(special.spence, singular=True, signature="z", z=lambda z: -np.log(z) / (z - 1))


def expn_slope(n: Any, x: Any) -> Any:
    """Below n = 0 SciPy has no ``expn``, but E(-1) is known (8.19.12)."""
    if type(n) is int and n > 0:
        return -special.expn(n - 1, x)
    return np.where(n > 0, -special.expn(np.maximum(n - 1, 0), x), -np.exp(-x) * (1 + x) / (x * x))


slope(special.expn, singular=True, signature="n, x", x=expn_slope)


slope(special.sici, x=lambda x: (quotient(np.sin(x), x, 1.0), np.cos(x) / x))
slope(special.shichi, x=lambda x: (quotient(np.sinh(x), x, 1.0), np.cosh(x) / x))


def fresnel_slope(z: Any) -> Any:
    angle = math.pi / 2 * z * z
    return np.sin(angle), np.cos(angle)


slope(special.fresnel, signature="z", z=fresnel_slope)


def _modified(sign: int) -> Any:
    """F = ∫ exp(± i t²) from x on, and K = exp(∓ i (x² + π/4)) F / √π."""
    turn = cmath.exp(-sign * 1j * math.pi / 4) / math.sqrt(math.pi)

    def modfresnel_slope(x: Any, out: Any) -> Any:
        return -np.exp(sign * 1j * (x * x)), -sign * 2j * x * out[1] - turn

    return modfresnel_slope


slope(special.modfresnelp, x=_modified(1))
slope(special.modfresnelm, x=_modified(-1))
