"""Airy, Kelvin and Struve functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope
from gradviz.errors import NotDifferentiableError
from gradviz.rules.scipy.special.number import number, quotient, settled

# ---- Airy (9.2.1, 9.10)


def airy_slope(z: Any, out: Any) -> Any:
    ai, aip, bi, bip = out
    return aip, z * ai, bip, z * bi


def airye_slope(z: Any, out: Any) -> Any:
    """Ai is scaled by exp(2/3 z^(3/2)), Bi by exp(-|Re 2/3 z^(3/2)|)."""
    if np.iscomplexobj(z):
        raise NotDifferentiableError(
            "special.airye scales by exp(-|Re(2/3 z**1.5)|), which has no complex derivative at a complex z. Use special.airy."
        )
    ai, aip, bi, bip = out
    root = np.sqrt(np.maximum(z, 0))
    return aip + root * ai, z * ai + root * aip, bip - root * bi, z * bi - root * bip


slope(special.airy, signature="z", z=airy_slope)
slope(special.airye, signature="z", z=airye_slope)
slope(
    special.itairy,
    x=lambda x: (special.airy(x)[0], special.airy(x)[2], special.airy(-x)[0], special.airy(-x)[2]),
)

# ---- Kelvin (10.61.3): ber + i bei and ker + i kei solve x² w'' + x w' = i x² w


def kelvin_slope(x: Any, out: Any) -> Any:
    be, ke, bep, kep = out
    return bep, kep, 1j * be - quotient(bep, x, 0.5j), 1j * ke - kep / x


slope(special.kelvin, x=kelvin_slope)
slope(special.ber, x=lambda x: special.berp(x))
slope(special.bei, x=lambda x: special.beip(x))
slope(special.ker, x=lambda x: special.kerp(x))
slope(special.kei, x=lambda x: special.keip(x))
slope(special.berp, x=lambda x, out: -special.bei(x) - quotient(out, x, 0.0))
slope(special.beip, x=lambda x, out: special.ber(x) - quotient(out, x, 0.5))
slope(special.kerp, x=lambda x, out: -special.kei(x) - out / x)
slope(special.keip, x=lambda x, out: special.ker(x) - out / x)

# ---- Struve (11.4.27, 11.4.29)


def _monomial(v: Any, x: Any) -> Any:
    return number(special.rgamma(v + 1.5), v) / math.sqrt(math.pi) * (x / 2) ** v


slope(
    special.struve,
    signature="v, x",
    x=lambda v, x: (special.struve(v - 1, x) - special.struve(v + 1, x) + _monomial(v, x)) / 2,
)
slope(
    special.modstruve,
    signature="v, x",
    x=lambda v, x: (special.modstruve(v - 1, x) + special.modstruve(v + 1, x) + _monomial(v, x)) / 2,
)
slope(special.itstruve0, x=lambda x: settled(special.struve(0.0, x), x))
slope(special.it2struve0, x=lambda x: -settled(special.struve(0.0, x), x) / x)
slope(special.itmodstruve0, x=lambda x: settled(special.modstruve(0.0, x), x))
