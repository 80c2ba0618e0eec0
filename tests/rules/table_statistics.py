"""Entries for `gradviz.rules.statistics`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import entry, positive, real

ENTRIES = [
<<<<<<< HEAD
=======
    entry("median odd", lambda a: np.median(a, axis=0), apart(3, 2)),
    entry("median even", lambda a: np.median(a, axis=0, keepdims=True), apart(4, 2)),
    entry("median of all", np.median, apart(2, 4)),
    entry("median of two axes", lambda a: np.median(a, axis=(0, 2)), apart(3, 2, 4)),
    entry("quantile", lambda a: np.quantile(a, 0.3, axis=1), apart(2, 5), exact=False),
    entry(
        "quantiles",
        lambda a: np.quantile(a, [0.0, 0.4, 1.0], axis=(0, 2), keepdims=True),
        apart(2, 3, 2),
        exact=False,
    ),
    *(
        entry(
            f"quantile {method}",
            lambda a, method=method: np.quantile(a, 0.37, method=method),
            apart(7),
            exact=False,
            single=False,
        )
        for method in ("inverted_cdf", "hazen", "weibull", "median_unbiased", "nearest", "midpoint", "higher")
    ),
    entry(
        "quantile of both", np.quantile, apart(7), real(3, low=0.1, high=0.9), exact=False, single=False, device=False
    ),
    entry("percentile", lambda a: np.percentile(a, 40), apart(2, 3), exact=False),
>>>>>>> 30d2210 (PyTorch's operator samples on NumPy twins; what they found: reductions of numbers over axis 0, products and decompositions of empty matrices, diff of nothing, quantiles in q)
    entry("cov", np.cov, real(3, 5), exact=False, is_complex=True, single=False),
    entry(
        "cov of two", lambda m, y: np.cov(m, y, rowvar=False, bias=True), real(5, 2), real(5), exact=False, single=False
    ),
    entry("cov weighted", lambda m, w: np.cov(m, aweights=w), real(2, 5), positive(5), exact=False, single=False),
    entry(
        "cov counted", lambda m, f: np.cov(m, fweights=f), real(2, 3), np.array([1, 2, 3]), exact=False, single=False
    ),
    entry("corrcoef", np.corrcoef, real(3, 5), exact=False, single=False),
]
