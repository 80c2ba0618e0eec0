"""Orthogonal polynomials (18.9.15 to 18.9.28), Legendre functions (14.10.5) and spherical harmonics (14.30)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.array import Array
from gradviz.engine.rule import composed
from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.number import number


def _lower(polynomial: Callable[..., Any], n: Any, *rest: Any) -> Any:
    """The polynomial of one degree less, which is 0 below degree 0."""
    if type(n) in (int, float):
        return polynomial(n - 1, *rest) if n != 0 else 0 * rest[-1]
    return np.where(n == 0, 0, polynomial(np.where(n == 0, 1, n) - 1, *rest))


def _ultraspherical(alpha: float, n: Any, x: Any) -> Any:
    return _lower(special.eval_gegenbauer, n, alpha, x)


slope(
    special.eval_jacobi,
    signature="n, alpha, beta, x",
    x=lambda n, alpha, beta, x: (n + alpha + beta + 1) / 2 * _lower(special.eval_jacobi, n, alpha + 1, beta + 1, x),
)


def sh_jacobi_slope(n: Any, p: Any, q: Any, x: Any) -> Any:
    scale = number(special.binom(2 * n + p - 1, n), n, p)
    return (n + p) / scale * _lower(special.eval_jacobi, n, p - q + 1, q, 2 * x - 1)


slope(special.eval_sh_jacobi, signature="n, p, q, x", x=sh_jacobi_slope)
slope(
    special.eval_gegenbauer,
    signature="n, alpha, x",
    x=lambda n, alpha, x: 2 * alpha * _lower(special.eval_gegenbauer, n, alpha + 1, x),
)
slope(special.eval_legendre, signature="n, x", x=lambda n, x: _ultraspherical(1.5, n, x))
slope(special.eval_sh_legendre, signature="n, x", x=lambda n, x: 2 * _ultraspherical(1.5, n, 2 * x - 1))
slope(special.eval_chebyt, signature="n, x", x=lambda n, x: n * _lower(special.eval_chebyu, n, x))
slope(special.eval_chebyu, signature="n, x", x=lambda n, x: 2 * _ultraspherical(2.0, n, x))
slope(special.eval_chebyc, signature="n, x", x=lambda n, x: n * _lower(special.eval_chebyu, n, x / 2))
slope(special.eval_chebys, signature="n, x", x=lambda n, x: _ultraspherical(2.0, n, x / 2))
slope(special.eval_sh_chebyt, signature="n, x", x=lambda n, x: 2 * n * _lower(special.eval_chebyu, n, 2 * x - 1))
slope(special.eval_sh_chebyu, signature="n, x", x=lambda n, x: 4 * _ultraspherical(2.0, n, 2 * x - 1))
slope(special.eval_laguerre, signature="n, x", x=lambda n, x: -_lower(special.eval_genlaguerre, n, 1.0, x))
slope(
    special.eval_genlaguerre,
    signature="n, alpha, x",
    x=lambda n, alpha, x: -_lower(special.eval_genlaguerre, n, alpha + 1, x),
)
slope(special.eval_hermite, signature="n, x", x=lambda n, x: 2 * n * _lower(special.eval_hermite, n, x))
slope(special.eval_hermitenorm, signature="n, x", x=lambda n, x: n * _lower(special.eval_hermitenorm, n, x))

# ---- Legendre functions


def lpmv_slope(m: Any, v: Any, x: Any, out: Any) -> Any:
    return (v * x * out - (v + m) * special.lpmv(m, v - 1, x)) / (x * x - 1)


slope(special.lpmv, signature="m, v, x", x=lpmv_slope)

# ---- spherical harmonics


def _harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    if isinstance(theta, Array) or isinstance(phi, Array):  # of an outer derivative; SciPy's function would refuse them
        return _harmonics(n, m, theta, phi)
    return special.sph_harm_y(n, m, theta, phi)


def sph_harm_y_to_theta_slope(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """By the orders beside it (ladder operators), which has no pole at the poles."""
    turn = np.exp(1j * phi)
    up = _harmonics(n, np.minimum(m + 1, n), theta, phi) * number(np.sqrt(np.maximum((n - m) * (n + m + 1), 0.0)), n, m)
    down = _harmonics(n, np.maximum(m - 1, -n), theta, phi)
    down = down * number(np.sqrt(np.maximum((n + m) * (n - m + 1), 0.0)), n, m)
    return (up / turn - down * turn) / 2


_harmonics = slope(
    _harmonic,
    signature="n, m, theta, phi",
    theta=sph_harm_y_to_theta_slope,
    phi=lambda m, out: 1j * m * out,
)
_harmonics.name = "sph_harm_y"


@composed(special.sph_harm_y)
def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    if diff_n:
        raise NotImplementedError("special.sph_harm_y of traced arrays gives no derivatives itself: leave out diff_n.")
    return _harmonics(n, m, theta, phi)
