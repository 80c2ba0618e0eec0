"""Hypergeometric and Wright functions: the slope has every parameter one higher (13.3, 15.5, 16.3)."""

from __future__ import annotations

import numpy as np
from scipy import special

from gradviz.engine.slope import slope

slope(special.hyp0f1, signature="v, z", z=lambda v, z: special.hyp0f1(v + 1, z) / v)
slope(special.hyp1f1, signature="a, b, x", x=lambda a, b, x: a / b * special.hyp1f1(a + 1, b + 1, x))
slope(special.hyp2f1, signature="a, b, c, z", z=lambda a, b, c, z: a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, z))
slope(special.hyperu, signature="a, b, x", x=lambda a, b, x: -a * special.hyperu(a + 1, b + 1, x))
slope(special.wright_bessel, signature="a, b, x", x=lambda a, b, x: special.wright_bessel(a, a + b, x))
slope(
    special.log_wright_bessel,
    signature="a, b, x",
    x=lambda a, b, x, out: np.exp(special.log_wright_bessel(a, a + b, x) - out),
)
