"""Solutions of the wave equation in other coordinates: parabolic cylinder, Mathieu and spheroidal functions.

SciPy gives each with its derivative, whose own slope is the differential equation (12.2, 28.2, 30.2). Mathieu's angles are in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.number import number

DEGREE = math.pi / 180

# ---- parabolic cylinder (12.2.2, 12.2.3)


def cylinder_slope(v: Any, x: Any, out: Any) -> Any:
    return out[1], (x * x / 4 - v - 0.5) * out[0]


slope(special.pbdv, signature="v, x", x=cylinder_slope)
slope(special.pbvv, signature="v, x", x=cylinder_slope)
slope(special.pbwa, signature="a, x", x=lambda a, x, out: (out[1], (a - x * x / 4) * out[0]))

# ---- Mathieu (28.2.1, 28.20.1)


def _angular(value: Callable[..., Any]) -> Callable[..., Any]:
    def mathieu_slope(m: Any, q: Any, x: Any, out: Any) -> Any:
        y, yp = out
        return DEGREE * yp, -DEGREE * (number(value(m, q), m, q) - 2 * q * np.cos(2 * DEGREE * x)) * y

    return mathieu_slope


def _modified(value: Callable[..., Any]) -> Callable[..., Any]:
    def mathieu_slope(m: Any, q: Any, x: Any, out: Any) -> Any:
        y, yp = out
        return yp, (number(value(m, q), m, q) - 2 * q * np.cosh(2 * x)) * y

    return mathieu_slope


for function, made in (
    (special.mathieu_cem, _angular(special.mathieu_a)),
    (special.mathieu_sem, _angular(special.mathieu_b)),
    (special.mathieu_modcem1, _modified(special.mathieu_a)),
    (special.mathieu_modcem2, _modified(special.mathieu_a)),
    (special.mathieu_modsem1, _modified(special.mathieu_b)),
    (special.mathieu_modsem2, _modified(special.mathieu_b)),
):
    slope(function, signature="m, q, x", x=made)

# ---- spheroidal (30.2.1); an oblate function is a prolate one of parameter i c, the radial ones at i x


def _prolate(m: Any, square: Any, cv: Any, x: Any, out: Any) -> Any:
    """``((1 - x²) w')' + (cv - square x² - m² / (1 - x²)) w = 0``."""
    w, wp = out
    rest = 1 - x * x
    return wp, (2 * x * wp - (cv - square * x * x - m * m / rest) * w) / rest


def _oblate(m: Any, square: Any, cv: Any, x: Any, out: Any) -> Any:
    """``((1 + x²) w')' - (cv - square x² - m² / (1 + x²)) w = 0``."""
    w, wp = out
    rest = 1 + x * x
    return wp, ((cv - square * x * x - m * m / rest) * w - 2 * x * wp) / rest


# The radial functions of the second kind are missing: the derivative that SciPy gives for them is not that of its value.
def _enter(
    function: Callable[..., Any],
    with_cv: Callable[..., Any],
    value: Callable[..., Any],
    equation: Callable[..., Any],
    sign: int,
) -> None:
    slope(
        function,
        signature="m, n, c, x",
        x=lambda m, n, c, x, out: equation(m, sign * c * c, number(value(m, n, c), m, n, c), x, out),
    )
    slope(with_cv, signature="m, n, c, cv, x", x=lambda m, c, cv, x, out: equation(m, sign * c * c, cv, x, out))


_enter(special.pro_ang1, special.pro_ang1_cv, special.pro_cv, _prolate, 1)
_enter(special.pro_rad1, special.pro_rad1_cv, special.pro_cv, _prolate, 1)
_enter(special.obl_ang1, special.obl_ang1_cv, special.obl_cv, _prolate, -1)
_enter(special.obl_rad1, special.obl_rad1_cv, special.obl_cv, _oblate, 1)
