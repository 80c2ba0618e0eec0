"""Entries for `gradviz.rules.statistics`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import entry, positive, real

ENTRIES = [
    entry("cov", np.cov, real(3, 5), exact=False, is_complex=True, single=False),
    entry(
        "cov of two",
        lambda m, y: np.cov(m, y, rowvar=False, bias=True),
        real(5, 2),
        real(5),
        exact=False,
        single=False,
        is_complex=True,
    ),
    entry("cov weighted", lambda m, w: np.cov(m, aweights=w), real(2, 5), positive(5), exact=False, single=False),
    entry(
        "cov counted",
        lambda m, f: np.cov(m, fweights=f),
        real(2, 3),
        np.array([1, 2, 3]),
        exact=False,
        single=False,
        is_complex=True,
    ),
    entry("corrcoef", np.corrcoef, real(3, 5), exact=False, single=False, is_complex=True),
]
