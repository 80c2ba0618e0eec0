"""Entries for `gradviz.rules.samples`."""

from __future__ import annotations

import numpy as np

import gradviz.numpy as gnp
from tests.rules.check import entry, positive, real

ENTRIES = [
    # differences
    entry("diff", np.diff, real(2, 5), is_complex=True),
    entry("diff of nothing", lambda a: np.diff(a, n=0, prepend=0.0), real(2, 5), is_complex=True),
    entry("diff twice", lambda a: np.diff(a, n=2, axis=0), real(5, 2), is_complex=True),
    entry(
        "diff with ends",
        lambda a, b: np.diff(a, axis=0, prepend=0.0, append=b),
        real(3, 2),
        real(2, 2),
        is_complex=True,
    ),
    entry("ediff1d", lambda a: np.ediff1d(a, to_begin=1.0, to_end=a[0]), real(2, 3), is_complex=True),
    entry("gradient", np.gradient, real(4, 3), exact=False, is_complex=True),
    entry(
        "gradient at three points", lambda a: np.gradient(a, 0.5, edge_order=2), real(3), exact=False, is_complex=True
    ),
    entry(
        "gradient uneven",
        lambda a, x, apart: np.gradient(a, x + apart, axis=0, edge_order=2),
        real(5, 2),
        real(5),
        np.arange(0.0, 20, 4),
        exact=False,
        is_complex=True,
    ),
    entry("trapezoid", np.trapezoid, real(2, 5), exact=False, is_complex=True),
    entry(
        "trapezoid over x", lambda y, x: np.trapezoid(y, x, axis=0), real(5, 2), real(5), exact=False, is_complex=True
    ),
    entry("interp", np.interp, real(6), np.array([-1.0, 0.0, 0.5, 1.5]), real(4), exact=False, single=False),
    entry(
        "interp with ends",
        lambda x, xp, y: np.interp(x, xp, y, -2.0, y[0]),
        real(6),
        np.array([-1.0, 0.0, 1.5]),
        real(3),
        exact=False,
        single=False,
    ),
    entry(
        "interp over a period",
        lambda x, xp, y: np.interp(x, xp, y, period=1.3),
        real(6),
        np.array([0.1, 0.9, 0.5]),
        real(3),
        exact=False,
        single=False,
    ),
    entry("kaiser", lambda beta: gnp.kaiser(5, beta), positive(), exact=False, single=False, device=False),
    entry(
        "interp to traced ends",
        lambda x, a, b: gnp.interp(x, np.array([-0.1, 0.1]), np.ones(2), a, b),
        real(6),
        real(),
        real(),
        exact=False,
        single=False,
        device=False,
    ),
    entry("unwrap", lambda p: np.unwrap(5 * p), real(2, 6)),
    entry("unwrap a period", lambda p, t: np.unwrap(5 * p, axis=0, period=t), real(6, 2), positive(), exact=False),
    *(
        entry(
            f"{f.__name__} {mode} {m} {n}",
            lambda a, v, f=f, mode=mode: f(a, v, mode),
            real(m),
            real(n),
            is_complex=True,
            exact=False,
        )
        for f in (np.convolve, np.correlate)
        for mode in ("full", "same", "valid")
        for m, n in ((5, 3), (3, 4))
    ),
]
