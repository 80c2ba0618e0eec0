"""Powers, logarithms, angles, entropies, losses, and the inverses of x exp(x) and x + log(x)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from gradviz.engine.rule import composed, no_gradient
from gradviz.engine.slope import slope

DEGREE = math.pi / 180

no_gradient(special.round)

# ---- powers and angles

slope(special.cbrt, singular=True, x=lambda out: 1 / (3 * out * out))
slope(special.exp2, x=lambda out: math.log(2) * out)
slope(special.exp10, x=lambda out: math.log(10) * out)
slope(special.expm1, x=lambda out: out + 1)
slope(special.log1p, singular=True, x=lambda x: 1 / (1 + x))
slope(special.cosm1, x=lambda x: -np.sin(x))
slope(special.sindg, x=lambda x: DEGREE * special.cosdg(x))
slope(special.cosdg, x=lambda x: -DEGREE * special.sindg(x))
slope(special.tandg, x=lambda out: DEGREE * (1 + out * out))
slope(special.cotdg, x=lambda out: -DEGREE * (1 + out * out))
slope(special.radian, signature="d, m, s", d=lambda: DEGREE, m=lambda: DEGREE / 60, s=lambda: DEGREE / 3600)
slope(special.powm1, x=lambda x, y: y * x ** (y - 1), y=lambda x, out: (out + 1) * np.log(x))

# ---- logarithms and entropies


def log_at(x: Any, y: Any) -> Any:
    """``log(y)``, and 0 where ``x`` is 0 and `xlogy` therefore does not look."""
    return np.log(np.where((x == 0) & (y == 0), 1, y))


slope(special.xlogy, singular=True, x=log_at, y=lambda x, y: x / y)
slope(special.xlog1py, singular=True, x=lambda x, y: log_at(x, 1 + y), y=lambda x, y: x / (1 + y))
slope(special.entr, singular=True, x=lambda x: -np.log(x) - 1)
slope(special.rel_entr, singular=True, x=lambda x, y: np.log(x / y) + 1, y=lambda x, y: -x / y)
slope(special.kl_div, singular=True, x=lambda x, y: np.log(x / y), y=lambda x, y: 1 - x / y)

# ---- losses


def pseudo_huber_to_delta_slope(delta: Any, r: Any) -> Any:
    """``2 delta (s - 1) - r² / (delta s)`` with ``s = sqrt(1 + (r / delta)²)``, without the difference of close numbers."""
    square = (r / delta) ** 2
    s = np.sqrt(1 + square)
    return delta * square * square / (s * (1 + s) ** 2)


slope(
    special.huber,
    signature="delta, r",
    delta=lambda delta, r: np.maximum(np.abs(r) - delta, 0),
    r=lambda delta, r: np.clip(r, -delta, delta),
)
slope(
    special.pseudo_huber,
    signature="delta, r",
    delta=pseudo_huber_to_delta_slope,
    r=lambda delta, r: r / np.sqrt(1 + (r / delta) ** 2),
)

# ---- (exp(x) - 1) / x and the transformations of Box and Cox, which are smooth at lmbda = 0


def exprel_slope(x: Any, out: Any) -> Any:
    """``(exp(x) - out) / x``, by its series where the two terms cancel."""
    small = np.abs(x) < 1e-2
    near, far = np.where(small, x, 0), np.where(small, 1, x)
    series = 0.5 + near * (1 / 3 + near * (1 / 8 + near * (1 / 30 + near * (1 / 144 + near / 840))))
    return np.where(small, series, (np.exp(x) - out) / far)


def log1prel_slope(x: Any) -> Any:
    """The slope of ``log1p(x) / x``, by its series where the two terms cancel."""
    small = np.abs(x) < 1e-2
    near, far = np.where(small, x, 0), np.where(small, 1, x)
    series = 0.0
    for k in range(8, 0, -1):
        series = series * near + (-1) ** k * k / (k + 1)
    return np.where(small, series, (far / (1 + far) - np.log1p(far)) / (far * far))


def boxcox_to_lmbda_slope(log: Any, lmbda: Any) -> Any:
    """The transformation is ``log exprel(lmbda log)``."""
    return log * log * exprel_slope(lmbda * log, special.exprel(lmbda * log))


def inv_boxcox_to_lmbda_slope(y: Any, lmbda: Any, power: Any) -> Any:
    """The inverse is ``exp(y log1prel(lmbda y))``."""
    return power * y * y * log1prel_slope(lmbda * y)


slope(special.exprel, x=exprel_slope)
slope(
    special.boxcox,
    signature="x, lmbda",
    x=lambda x, lmbda: x ** (lmbda - 1),
    lmbda=lambda x, lmbda: boxcox_to_lmbda_slope(np.log(x), lmbda),
)
slope(
    special.boxcox1p,
    signature="x, lmbda",
    x=lambda x, lmbda: (1 + x) ** (lmbda - 1),
    lmbda=lambda x, lmbda: boxcox_to_lmbda_slope(np.log1p(x), lmbda),
)
slope(
    special.inv_boxcox,
    signature="y, lmbda",
    y=lambda lmbda, out: out ** (1 - lmbda),
    lmbda=lambda y, lmbda, out: inv_boxcox_to_lmbda_slope(y, lmbda, out),
)
slope(
    special.inv_boxcox1p,
    signature="y, lmbda",
    y=lambda lmbda, out: (out + 1) ** (1 - lmbda),
    lmbda=lambda y, lmbda, out: inv_boxcox_to_lmbda_slope(y, lmbda, out + 1),
)

# ---- inverses, by DLMF 4.13

slope(special.wrightomega, signature="z", z=lambda out: out / (1 + out))
slope(_ufuncs._lambertw, signature="z, k, tol", z=lambda out: np.exp(-out) / (1 + out))
composed(special.lambertw)(lambda z, k=0, tol=1e-8: _ufuncs._lambertw(z, np.asarray(k, np.dtype("long")), tol))


@composed(special.diric)
def diric(x, n):
    """As a sum of cosines, which is smooth where ``sin(x / 2)`` vanishes; ``n`` is one integer."""
    return np.mean(np.cos(np.multiply.outer(x, np.arange(n) - (n - 1) / 2)), axis=-1)
