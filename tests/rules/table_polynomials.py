"""Entries for `gradviz.rules.polynomials`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, positive, real


def polynomial(name, f, *args, **options):
    return entry(name, f, *args, **{"exact": False, "single": False, "device": False, "is_complex": True, **options})


ENTRIES = [
    entry("polyval", np.polyval, real(4), real(2, 3), is_complex=True, exact=False),
    polynomial("polyadd", np.polyadd, real(4), real(2)),
    polynomial("polysub", np.polysub, real(2), real(4)),
    polynomial("polymul", lambda a, b: np.polymul(np.concatenate([[0.0], a]), b), real(3), real(2)),
    polynomial("polydiv", np.polydiv, real(5), positive(3), device=True),
    polynomial("polydiv by a number", np.polydiv, real(3), positive(1), device=True),
    polynomial("polydiv by a longer one", np.polydiv, real(2), positive(3), device=True),
    polynomial("polyder", np.polyder, real(5)),
    polynomial("polyder twice", lambda p: np.polyder(p, 2), real(5)),
    polynomial("polyint", np.polyint, real(3)),
    polynomial("polyint twice", lambda p, k: np.polyint(p, 2, k), real(3), real(2)),
    polynomial("polyint twice from one", lambda p, k: np.polyint(p, 2, k), real(3), real()),
    polynomial("roots", lambda p: np.roots(np.concatenate([[0.0, 1.0], p, [0.0]])), positive(3)),
    polynomial("poly", np.poly, real(4)),
    polynomial("poly of a matrix", np.poly, real(3, 3), rtol=1e-5),
    polynomial("poly of pairs", lambda z: np.poly(np.concatenate([z + 1j, z - 1j])), real(2)),
    polynomial("polyfit", lambda x, y: np.polyfit(x, y, 2), apart(6), real(6), device=True),
    polynomial(
        "polyfit weighted",
        lambda x, y, w: np.polyfit(x, y, 1, w=w),
        apart(5),
        real(5, 2),
        positive(5),
        device=True,
    ),
    polynomial(
        "polyfit with covariance",
        lambda x, y: np.polyfit(x, y, 1, cov=True),
        apart(5),
        real(5),
        device=True,
    ),
    polynomial(
        "polyfit with facts",
        lambda x, y: np.polyfit(x, y, 1, full=True)[:2],
        apart(5),
        real(5),
        device=True,
    ),
]
