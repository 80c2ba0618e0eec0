"""Entries for functions of `gradviz.scipy.integrate` that take functions; more of them in `tests/scipy/test_integrate.py`."""

from __future__ import annotations

import numpy as np

from gradviz.scipy import integrate
from tests.rules.check import entry, real

TIMES = np.array([0.0, 0.4, 1.0])
FINE = {"rtol": 1e-9, "atol": 1e-10}


def one(name, f, *shape, **options):
    """Their numbers are doubles; orders above the first are tested elsewhere, on smaller problems."""
    return entry(
        "scipy.integrate." + name, f, real(*shape), exact=False, single=False, device=False, order=1, **options
    )


ENTRIES = [
    one("quad", lambda w: integrate.quad(lambda x: np.tanh(w[0] * x), w[1], w[2])[0], 3),
    one("quad_vec", lambda w: integrate.quad_vec(lambda x: np.tanh(w * x), 0, w[0])[0], 3),
    one("fixed_quad", lambda w: integrate.fixed_quad(lambda x: np.tanh(w[0] * x), w[1], w[2])[0], 3),
    one("nquad", lambda w: integrate.nquad(lambda y, x: x * np.tanh(w[0] * y), [(w[1], 1), (0, w[2])])[0], 3),
    one("dblquad", lambda w: integrate.dblquad(lambda y, x: x * np.tanh(w[0] * y), 0, w[2], w[1], lambda x: x)[0], 3),
    one(
        "solve_ivp",
        lambda w: integrate.solve_ivp(lambda t, y: w[:2] * y[::-1], (0, 1), w[2:], t_eval=TIMES, **FINE).y,
        4,
    ),
    one("odeint", lambda w: integrate.odeint(lambda y, t: w[:2] * y[::-1], w[2:], TIMES), 4),
]
