"""Bessel functions of every kind, scaled, spherical, and their integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from gradviz.engine.rule import composed, rule
from gradviz.engine.slope import conj, slope

# ---- orders 0 and 1 (10.6.3, 10.29.3)

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
slope(np.i0, x=lambda x: special.i1(x))

# ---- any order (10.6.1, 10.29.1)

slope(special.jv, signature="v, z", z=lambda v, z: (special.jv(v - 1, z) - special.jv(v + 1, z)) / 2)
slope(special.yv, signature="v, z", z=lambda v, z: (special.yv(v - 1, z) - special.yv(v + 1, z)) / 2)
slope(special.yn, signature="n, x", x=lambda n, x: (special.yv(n - 1, x) - special.yv(n + 1, x)) / 2)
slope(special.iv, signature="v, z", z=lambda v, z: (special.iv(v - 1, z) + special.iv(v + 1, z)) / 2)
slope(special.kv, signature="v, z", z=lambda v, z: -(special.kv(v - 1, z) + special.kv(v + 1, z)) / 2)
slope(special.kn, signature="n, x", x=lambda n, x: -(special.kv(n - 1, x) + special.kv(n + 1, x)) / 2)
slope(special.hankel1, signature="v, z", z=lambda v, z: (special.hankel1(v - 1, z) - special.hankel1(v + 1, z)) / 2)
slope(special.hankel2, signature="v, z", z=lambda v, z: (special.hankel2(v - 1, z) - special.hankel2(v + 1, z)) / 2)

# ---- scaled by a holomorphic factor

slope(special.kve, signature="v, z", z=lambda v, z, out: out - (special.kve(v - 1, z) + special.kve(v + 1, z)) / 2)
slope(
    special.hankel1e,
    signature="v, z",
    z=lambda v, z, out: (special.hankel1e(v - 1, z) - special.hankel1e(v + 1, z)) / 2 - 1j * out,
)
slope(
    special.hankel2e,
    signature="v, z",
    z=lambda v, z, out: (special.hankel2e(v - 1, z) - special.hankel2e(v + 1, z)) / 2 + 1j * out,
)

# ---- scaled by exp(-|Re z|) or exp(-|Im z|), which has no complex derivative: the factor's pullback is added


def ive_to_z(ct, v, z, out):
    inside = ct * conj((special.ive(v - 1, z) + special.ive(v + 1, z)) / 2)
    return inside - np.sign(np.real(z)) * np.real(ct * conj(out))


def _scaled_by_imaginary_part(function: Callable[..., Any], ct: Any, v: Any, z: Any, out: Any) -> Any:
    inside = ct * conj((function(v - 1, z) - function(v + 1, z)) / 2)
    if not np.iscomplexobj(z):
        return inside
    return inside - 1j * np.sign(np.imag(z)) * np.real(ct * conj(out))


def jve_to_z(ct, v, z, out):
    return _scaled_by_imaginary_part(special.jve, ct, v, z, out)


def yve_to_z(ct, v, z, out):
    return _scaled_by_imaginary_part(special.yve, ct, v, z, out)


rule(special.ive, ive_to_z, signature="v, z", elementwise=True)
rule(special.jve, jve_to_z, signature="v, z", elementwise=True)
rule(special.yve, yve_to_z, signature="v, z", elementwise=True)

# ---- spherical (10.51.1, 10.51.4); the derivative's own slope is the differential equation (10.47.1, 10.47.2)


def _neighbours(function: Callable[..., Any], n: Any, z: Any) -> tuple[Any, Any]:
    """``n f(n-1)`` and ``(n+1) f(n+1)``, over ``2n + 1``; the first is 0 at ``n = 0``, where there is no ``f(-1)``."""
    n = np.asarray(n)
    below, above = n / (2.0 * n + 1), (n + 1) / (2.0 * n + 1)
    kind = np.result_type(z) if hasattr(z, "dtype") else float
    return below.astype(kind) * function(np.maximum(n - 1, 0), z), above.astype(kind) * function(n + 1, z)


def _oscillating(function: Callable[..., Any]) -> Callable[..., Any]:
    def spherical_slope(n: Any, z: Any) -> Any:
        below, above = _neighbours(function, n, z)
        return below - above

    return spherical_slope


def spherical_in_slope(n: Any, z: Any) -> Any:
    below, above = _neighbours(_ufuncs._spherical_in, n, z)
    return below + above


def spherical_kn_slope(n: Any, z: Any) -> Any:
    below, above = _neighbours(_ufuncs._spherical_kn, n, z)
    return -below - above


def _second(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def spherical_second_slope(n: Any, z: Any, out: Any) -> Any:
        n = np.asarray(n)
        turn = (n * (n + 1.0)).astype(np.result_type(z) if hasattr(z, "dtype") else float)
        return -2 * out / z + (turn / (z * z) + sign) * function(n, z)

    return spherical_second_slope


for kind, first, sign in (
    ("jn", _oscillating(_ufuncs._spherical_jn), -1),
    ("yn", _oscillating(_ufuncs._spherical_yn), -1),
    ("in", spherical_in_slope, 1),
    ("kn", spherical_kn_slope, 1),
):
    function, derivative = getattr(_ufuncs, f"_spherical_{kind}"), getattr(_ufuncs, f"_spherical_{kind}_d")
    slope(function, signature="n, z", z=first)
    slope(derivative, signature="n, z", z=_second(function, sign))


def _spherical(kind: str, parity: float) -> None:
    """Enter one of SciPy's functions, which reflects negative arguments (10.47.14, 10.47.15, 10.47.17)."""
    functions = [getattr(_ufuncs, f"_spherical_{kind}{end}") for end in ("", "_d")]
    grown = [_ufuncs._spherical_in, _ufuncs._spherical_in_d]

    @composed(getattr(special, f"spherical_{kind}"))
    def spherical(n, z, derivative=False):
        n = np.asarray(n, np.dtype("long"))
        if np.iscomplexobj(z):
            return functions[derivative](n, z)
        negative, turn = z < 0, -1.0 if derivative else 1.0
        at, odd = np.where(negative, -z, z), np.where(n % 2 == 1, -1.0, 1.0)
        value = functions[derivative](n, at)
        if kind == "kn":
            odd = odd.astype(value.dtype)
            return np.where(negative, -turn * (np.pi * grown[derivative](n, at) + odd * value), value)
        return value * np.where(negative, parity * turn * odd, 1.0)


_spherical("jn", 1.0)
_spherical("yn", -1.0)
_spherical("in", 1.0)
_spherical("kn", 1.0)

# ---- derivatives of a given order, by differences of orders (10.6.7, 10.29.5)


def _differences(function: Callable[..., Any], sign: int, turn: int) -> Callable[..., Any]:
    def derivative(v, z, n=1):
        v = np.asarray(v)  # as SciPy does, so that the result is of double precision
        made, weight = function(v - n, z), 1.0
        for k in range(1, n + 1):
            weight = sign * weight * (n - k + 1) / k
            made = made + weight * function(v - n + 2 * k, z)
        return turn**n * made / 2.0**n

    return derivative


composed(special.jvp)(_differences(special.jv, -1, 1))
composed(special.yvp)(_differences(special.yv, -1, 1))
composed(special.h1vp)(_differences(special.hankel1, -1, 1))
composed(special.h2vp)(_differences(special.hankel2, -1, 1))
composed(special.ivp)(_differences(special.iv, 1, 1))
composed(special.kvp)(_differences(special.kv, 1, -1))

# ---- integrals, by DLMF 10.22 and 10.43

slope(special.itj0y0, x=lambda x: (special.j0(x), special.y0(x)))
slope(special.iti0k0, x=lambda x: (special.i0(x), special.k0(x)))
slope(special.it2j0y0, x=lambda x: ((1 - special.j0(x)) / x, -special.y0(x) / x))
slope(special.it2i0k0, x=lambda x: ((special.i0(x) - 1) / x, -special.k0(x) / x))
slope(
    special.besselpoly,
    signature="a, lmb, nu",
    a=lambda a, lmb, nu: special.besselpoly(a, lmb + 1, nu - 1) - special.besselpoly(a, lmb + 1, nu + 1),
)
