"""Elliptic integrals and functions: of Legendre, Jacobi and Carlson, and the arithmetic-geometric mean.

Where the parameter m is small, differences of E and F over m lose all digits; there the power series in m is used (19.5).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.number import settled

# ---- complete, by DLMF 19.4


def ellipk_slope(m: Any) -> Any:
    """As a hypergeometric function near m = 0."""
    small = np.abs(m) < 0.1
    near, far = np.where(small, m, 0), np.where(small, 0.5, m)
    ratio = (special.ellipe(far) / (1 - far) - special.ellipk(far)) / (2 * far)
    return settled(np.where(small, math.pi / 8 * special.hyp2f1(1.5, 1.5, 2.0, near), ratio), m)


def ellipe_slope(m: Any) -> Any:
    small = np.abs(m) < 0.1
    near, far = np.where(small, m, 0), np.where(small, 0.5, m)
    ratio = (special.ellipe(far) - special.ellipk(far)) / (2 * far)
    return settled(np.where(small, -math.pi / 8 * special.hyp2f1(0.5, 1.5, 2.0, near), ratio), m)


def ellipkm1_slope(p: Any, out: Any) -> Any:
    """In terms of p where 1 - p would be rounded to 1."""
    small = p < 0.5
    near, far = np.where(small, p, 0.5), np.where(small, 0.5, p)
    ratio = (out - special.ellipe(1 - near) / near) / (2 * (1 - near))
    return np.where(small, ratio, -ellipk_slope(1 - far))


slope(special.ellipk, signature="m", m=ellipk_slope)
slope(special.ellipe, signature="m", m=ellipe_slope)
slope(special.ellipkm1, signature="p", p=ellipkm1_slope)

# ---- incomplete (19.4.5, 19.4.7)


def _root(phi: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.sin(phi) ** 2)


def ellipkinc_to_m_slope(phi: Any, m: Any) -> Any:
    small = np.abs(m) < 0.02
    near, far = np.where(small, m, 0), np.where(small, 0.5, m)
    f, e = special.ellipkinc(phi, far), special.ellipeinc(phi, far)
    beyond = np.sin(2 * phi) / (4 * (1 - far) * _root(phi, far))
    return np.where(small, _series(phi, near)[0], e / (2 * far * (1 - far)) - f / (2 * far) - beyond)


def ellipeinc_to_m_slope(phi: Any, m: Any) -> Any:
    small = np.abs(m) < 0.02
    near, far = np.where(small, m, 0), np.where(small, 0.5, m)
    ratio = (special.ellipeinc(phi, far) - special.ellipkinc(phi, far)) / (2 * far)
    return np.where(small, _series(phi, near)[1], ratio)


def _series(phi: Any, m: Any) -> tuple[Any, Any]:
    """The slopes of F and E in m for small m: the integrals of powers of sin² times binomial coefficients."""
    sine, cosine = np.sin(phi), np.cos(phi)
    integral, odd, power, weight = phi, sine, 1.0, 1.0
    of_f, of_e = 0.0, 0.0
    for k in range(1, 9):
        integral = ((2 * k - 1) * integral - odd * cosine) / (2 * k)
        weight *= (2 * k - 1) / (2 * k)
        of_f = of_f + k * weight * power * integral
        of_e = of_e - k * weight / (2 * k - 1) * power * integral
        power, odd = power * m, odd * sine * sine
    return of_f, of_e


slope(special.ellipkinc, signature="phi, m", phi=lambda phi, m: 1 / _root(phi, m), m=ellipkinc_to_m_slope)
slope(special.ellipeinc, signature="phi, m", phi=_root, m=ellipeinc_to_m_slope)

# ---- Jacobi's functions (22.13.1); in m by the implicit function theorem, since u = F(am(u, m), m)


def ellipj_to_u_slope(m: Any, out: Any) -> Any:
    sn, cn, dn, _ = out
    return cn * dn, -sn * dn, -m * sn * cn, dn


def ellipj_to_m_slope(m: Any, out: Any) -> Any:
    sn, cn, dn, ph = out
    turn = -dn * ellipkinc_to_m_slope(ph, m)
    return cn * turn, -sn * turn, -sn * (sn / 2 + m * cn * turn) / dn, turn


slope(special.ellipj, signature="u, m", u=ellipj_to_u_slope, m=ellipj_to_m_slope)

# ---- Carlson's symmetric integrals (19.16, 19.18, 19.25.9): partial fractions of the integrands; the last by homogeneity


def _rd_to(x: Any, y: Any, z: Any, out: Any) -> Any:
    """The slope of RD(x, y, z) in x; 0/0, hence NaN, where x = z."""
    return (special.elliprd(y, z, x) - out) / (2 * (x - z))


def elliprc_to_y_slope(x: Any, y: Any, out: Any) -> Any:
    """As a hypergeometric function near y = x, where both terms of the ratio vanish; for y < 0 of Cauchy's principal value."""
    small = np.abs(y - x) < 0.1 * x
    near, far = np.where(small, 1 - y / x, 0), np.where(small, 2 * x + 1, y)
    series = -special.hyp2f1(1.5, 2.0, 2.5, near) / (3 * x * np.sqrt(np.where(x == 0, 1, x)))
    return settled(np.where(small, series, (np.sqrt(x) / far - out) / (2 * (far - x))), x, y)


def elliprc_to_x_slope(x: Any, y: Any, out: Any) -> Any:
    return -(out / 2 + y * elliprc_to_y_slope(x, y, out)) / x


slope(special.elliprc, x=elliprc_to_x_slope, y=elliprc_to_y_slope)
slope(
    special.elliprf,
    x=lambda x, y, z: -special.elliprd(y, z, x) / 6,
    y=lambda x, y, z: -special.elliprd(x, z, y) / 6,
    z=lambda x, y, z: -special.elliprd(x, y, z) / 6,
)
slope(
    special.elliprd,
    x=_rd_to,
    y=lambda x, y, z, out: _rd_to(y, x, z, out),
    z=lambda x, y, z, out: -(1.5 * out + x * _rd_to(x, y, z, out) + y * _rd_to(y, x, z, out)) / z,
)
slope(
    special.elliprg,
    x=lambda x, y, z: (special.elliprf(x, y, z) - x * special.elliprd(y, z, x) / 3) / 4,
    y=lambda x, y, z: (special.elliprf(x, y, z) - y * special.elliprd(x, z, y) / 3) / 4,
    z=lambda x, y, z: (special.elliprf(x, y, z) - z * special.elliprd(x, y, z) / 3) / 4,
)


def _rj_to(x: Any, y: Any, z: Any, p: Any, out: Any) -> Any:
    """The slope of RJ(x, y, z, p) in x; 0/0, hence NaN, where x = p."""
    return (special.elliprd(y, z, x) - out) / (2 * (x - p))


def elliprj_to_p_slope(x: Any, y: Any, z: Any, p: Any, out: Any) -> Any:
    rest = x * _rj_to(x, y, z, p, out) + y * _rj_to(y, x, z, p, out) + z * _rj_to(z, x, y, p, out)
    return -(1.5 * out + rest) / p


slope(
    special.elliprj,
    signature="x, y, z, p",
    x=_rj_to,
    y=lambda x, y, z, p, out: _rj_to(y, x, z, p, out),
    z=lambda x, y, z, p, out: _rj_to(z, x, y, p, out),
    p=elliprj_to_p_slope,
)

# ---- agm(a, b) = (a + b) π / (4 K(((a - b) / (a + b))²)) (19.8.1)


def agm_slope(a: Any, b: Any, out: Any) -> Any:
    """The slope in the first argument."""
    ratio = (a - b) / (a + b)
    m = ratio * ratio
    return out / (a + b) * (1 - 4 * b * ratio / (a + b) * ellipk_slope(m) / special.ellipk(m))


slope(special.agm, signature="a, b", a=agm_slope, b=lambda a, b, out: agm_slope(b, a, out))
