"""Entries for `gradviz.rules.reductions` and `gradviz.rules.scans`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, positive, real

AXES = {
    "": {},
    " axis 0": {"axis": 0},
    " axis -1, kept": {"axis": -1, "keepdims": True},
    " two axes": {"axis": (2, 0)},
    " all kept": {"keepdims": True},
    " no axes": {"axis": ()},
}
mask = np.array([[[True], [False]], [[False], [True]], [[True], [True]]])
holes = np.where(np.arange(6).reshape(2, 3) % 4 == 1, np.nan, 0.0)
with_zeros = np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 0.0, 0.5, 2.0], [1.0, 2.0, 3.0, 4.0]])


def reduced(name, f, argument=real, **options):
    """A reduction in all its forms: over chosen axes, of a scalar, of nothing."""
    shape = (3, 2, 4)
    for form, chosen in AXES.items():
        yield entry(name + form, lambda a, chosen=chosen: f(a, **chosen), argument(*shape), **options)
    yield entry(name + " of a scalar", f, argument(), **options)


ENTRIES = [
    *reduced("sum", np.sum, is_complex=True),
    *reduced("mean", np.mean, is_complex=True),
    *reduced("var", np.var, is_complex=True),
    *reduced("prod", np.prod, is_complex=True),
    *reduced("max", np.max, apart, is_complex=True),
    *reduced("min", np.min, apart, is_complex=True),
    *(e for e in reduced("std", np.std, is_complex=True) if e.name not in ("std of a scalar", "std no axes")),
    *(e for e in reduced("ptp", np.ptp, apart, is_complex=True) if e.name != "ptp no axes"),
    *(
        entry(f"{f.__name__} of a scalar over axis 0", lambda a, f=f: f(a, axis=0), real(), device=False)
        for f in (np.sum, np.prod, np.max, np.nansum)
    ),
    entry("amax", np.amax, apart(2, 3), is_complex=True),
    entry("amin", np.amin, apart(2, 3), is_complex=True),
    *(
        entry(f"{f.__name__} of nothing", lambda a, f=f: f(a, axis=1), real(2, 0))
        for f in (np.sum, np.prod, np.cumsum, np.cumprod)
    ),
    entry("max of no rows", lambda a: np.max(a, axis=1), real(0, 3), is_complex=True),
    entry("mean of no rows", lambda a: np.mean(a, axis=1), real(0, 3), is_complex=True),
    # options
    entry("sum where", lambda a, m: np.sum(a, axis=1, where=m), real(3, 2, 4), mask, is_complex=True, exact=False),
    entry("mean where", lambda a, m: np.mean(a, axis=1, where=m), real(3, 2, 4), mask, is_complex=True, exact=False),
    entry("var where", lambda a, m: np.var(a, axis=(0, 1), where=m), real(3, 2, 4), mask, is_complex=True, exact=False),
    entry(
        "std where",
        lambda a, m: np.std(a, axis=(0, 1), where=m, ddof=1),
        real(3, 2, 4),
        mask,
        exact=False,
        is_complex=True,
    ),
    entry(
        "prod where",
        lambda a, m: np.prod(a, axis=1, where=m, initial=2.0),
        real(3, 2, 4),
        mask,
        is_complex=True,
        exact=False,
    ),
    entry("max where", lambda a, m: np.max(a, axis=1, where=m, initial=-9), apart(3, 2, 4), mask, is_complex=True),
    entry("sum initial", lambda a: np.sum(a, axis=0, initial=3.0), real(2, 3), is_complex=True, exact=False),
    entry("max initial", lambda a: np.max(a, axis=0, initial=0.5), apart(4, 3), is_complex=True),
    entry("max of nothing, initial", lambda a: np.max(a, axis=0, initial=0.5), real(0, 3), is_complex=True),
    entry(
        "sum in another dtype",
        lambda a: np.sum(a, dtype=np.float64),
        real(2, 3),
        single=False,
    ),
    entry("var ddof", lambda a: np.var(a, axis=0, ddof=1), real(4, 3), is_complex=True),
    entry("std correction", lambda a: np.std(a, axis=0, correction=1, keepdims=True), real(4, 3), is_complex=True),
    entry(
        "var about a centre",
        lambda a, m: np.var(a, axis=1, mean=m),
        real(2, 3),
        real(2, 1),
        exact=False,
        is_complex=True,
    ),
    entry(
        "std about a centre",
        lambda a, m: np.std(a, mean=m, ddof=1),
        real(2, 3),
        real(1, 1),
        exact=False,
        is_complex=True,
    ),
    entry("prod with zeros", lambda a, z: np.prod(a * z, axis=1), real(3, 4), with_zeros, is_complex=True),
    entry("average", np.average, real(2, 3), is_complex=True),
    entry(
        "average weighted",
        lambda a, w: np.average(a, axis=1, weights=w),
        real(2, 3),
        positive(3),
        exact=False,
        is_complex=True,
    ),
    entry(
        "average weighted over two axes",
        lambda a, w: np.average(a, (0, 2), w, keepdims=True),
        real(3, 2, 4),
        positive(3, 4),
        exact=False,
        is_complex=True,
    ),
    entry(
        "average returned",
        lambda a, w: np.average(a, weights=w, returned=True),
        real(2, 3),
        positive(2, 3),
        exact=False,
        is_complex=True,
    ),
    # without NaN
    *(
        entry(f.__name__, lambda a, h, f=f: f(a + h, axis=1), apart(2, 3), holes, exact=False, is_complex=True)
        for f in (
            np.nansum,
            np.nanmean,
            np.nanvar,
            np.nanstd,
            np.nanprod,
            np.nanmax,
            np.nanmin,
            np.nancumsum,
            np.nancumprod,
        )
    ),
    # scans
    entry("cumsum", lambda a: np.cumsum(a, axis=0), real(3, 4), is_complex=True),
    entry("cumsum flat", np.cumsum, real(3, 4), is_complex=True),
    entry("cumsum of a scalar", np.cumsum, real(), is_complex=True),
    entry("cumprod", lambda a: np.cumprod(a, axis=-1), real(3, 7), is_complex=True),
    entry("cumprod flat", np.cumprod, real(3, 2), is_complex=True),
    entry("cumprod of a scalar", np.cumprod, real(), is_complex=True),
    entry("cumprod with zeros", lambda a, z: np.cumprod(a * z, axis=1), real(3, 4), with_zeros, is_complex=True),
    entry("cumulative_sum", lambda a: np.cumulative_sum(a, axis=1, include_initial=True), real(2, 3), is_complex=True),
    entry(
        "cumulative_prod", lambda a: np.cumulative_prod(a, axis=0, include_initial=True), real(2, 3), is_complex=True
    ),
]
