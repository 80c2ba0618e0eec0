"""Entries for `gradviz.rules.quantiles`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, real

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear",
    "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
)  # fmt: skip
MOVING = ("linear", "hazen", "weibull", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased")
holes = np.where(np.arange(12).reshape(3, 4) % 5 == 1, np.nan, 0.0)


def quantiles(name, f, *args, **options):
    return entry(name, f, *args, **{"exact": False, "device": False, **options})


ENTRIES = [
    entry("median odd", lambda a: np.median(a, axis=0), apart(3, 2), is_complex=True),
    entry("median even", lambda a: np.median(a, axis=0, keepdims=True), apart(4, 2), is_complex=True),
    entry("median of all", np.median, apart(2, 4), is_complex=True),
    entry("median of two axes", lambda a: np.median(a, axis=(0, 2)), apart(3, 2, 4), is_complex=True),
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
            lambda a, method=method: np.quantile(a, [0.0, 0.37, 0.8], method=method),
            apart(7),
            exact=False,
            single=False,
        )
        for method in METHODS
    ),
    entry("percentile", lambda a: np.percentile(a, 40), apart(2, 3), exact=False),
    *(
        quantiles(
            f"quantile {method} in q",
            lambda a, q, method=method: np.quantile(a, q, method=method),
            apart(6),
            real(2, low=0.2, high=0.8),
            single=False,
        )
        for method in MOVING
    ),
    quantiles(
        "percentile in q", lambda q: np.percentile(np.arange(5.0) ** 2, q), real(2, low=10, high=90), single=False
    ),
    quantiles(
        "quantile weighted",
        lambda a, w: np.quantile(a, [0.2, 0.6], axis=1, weights=w, method="inverted_cdf"),
        apart(2, 5),
        np.arange(1.0, 6),
    ),
    quantiles(
        "percentile weighted",
        lambda a, w: np.percentile(a, 70, weights=w, method="inverted_cdf", keepdims=True),
        apart(2, 3),
        np.arange(6.0).reshape(2, 3),
    ),
    quantiles("nanmedian", lambda a, h: np.nanmedian(a + h, axis=1), apart(3, 4), holes, device=True, is_complex=True),
    quantiles(
        "nanmedian of all",
        lambda a, h: np.nanmedian(a + h, keepdims=True),
        apart(3, 4),
        holes,
        device=True,
        is_complex=True,
    ),
    quantiles(
        "nanquantile", lambda a, h: np.nanquantile(a + h, [0.1, 0.5, 1.0], axis=1, keepdims=True), apart(3, 4), holes
    ),
    quantiles(
        "nanquantile of all", lambda a, h: np.nanquantile(a + h, 0.35, method="hazen"), apart(3, 4), holes, single=False
    ),
    quantiles(
        "nanquantile in q",
        lambda a, q, h: np.nanquantile(a + h, q, axis=0),
        apart(3, 4),
        real(2, low=0.2, high=0.8),
        holes,
        single=False,
    ),
    quantiles("nanpercentile", lambda a, h: np.nanpercentile(a + h, 30, axis=(0, 1)), apart(3, 4), holes),
]
