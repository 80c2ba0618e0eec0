"""Entries for `gradviz.rules.histograms`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, positive, real


def bins(name, f, *args, **options):
    return entry(name, f, *args, **{"exact": False, "device": False, "single": False, **options})


X, Y = np.array([0.1, 0.9, 1.0, 0.5, 0.3, 2.0, np.nan]), np.array([1.0, 0.2, 0.7, 0.7, 0.1, 0.4, 0.3])

ENTRIES = [
    entry("bincount", np.bincount, np.array([0, 2, 2, 1]), real(4), single=False),
    bins(
        "histogram of weights",
        lambda w: np.histogram(X, [0.0, 0.5, 0.8, 1.0], weights=w),
        real(7),
        is_complex=True,
        single=True,
    ),
    bins("histogram of weights in a range", lambda w: np.histogram(X, 4, (0, 1), weights=w), real(7)),
    bins("histogram density of weights", lambda w: np.histogram(X, 4, (0, 2), density=True, weights=w), positive(7)),
    bins(
        "histogram over the data",
        lambda x, w: np.histogram(x, 3, weights=w, density=True),
        apart(2, 5),
        positive(2, 5),
        device=True,
    ),
    bins("histogram of counts", lambda x: np.histogram(x, 3, density=True), apart(6), device=True),
    bins(
        "histogram between edges",
        lambda x, e: np.histogram(x, np.array([-3.0, 0, 3]) + 0.1 * e, density=True),
        apart(6),
        real(3),
    ),
    bins(
        "histogram in a range", lambda x, r: np.histogram(x, 3, (r[0] - 3, r[0] + 3), density=True), apart(6), real(1)
    ),
    bins("histogram_bin_edges", lambda x: np.histogram_bin_edges(x, "sturges"), apart(6)),
    bins("histogram_bin_edges of equals", lambda x: np.histogram_bin_edges(x[:1], 2), real(1)),
    bins("histogram2d", lambda w: np.histogram2d(X[:6], Y[:6], [2, 3], [(0, 1), (0, 1)], weights=w), real(6)),
    bins(
        "histogram2d on edges",
        lambda w: np.histogram2d(X[:6], Y[:6], [0.0, 0.5, 2.0], density=True, weights=w),
        positive(6),
    ),
    bins("histogramdd", lambda s, w: np.histogramdd(s, (2, 3, 2), density=True, weights=w), apart(7, 3), positive(7)),
    bins(
        "histogramdd of columns", lambda x, y: np.histogramdd((x, y), 3, density=True), apart(7), apart(7), device=True
    ),
]
