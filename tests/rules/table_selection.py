"""Entries for `gradviz.rules.selection` and `gradviz.rules.writes`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, real

order = np.array([[2, 0, 2], [1, 1, 0]])
mask = np.array([[True, False, True], [False, True, True]])


def written(name, write, *args, **options):
    """A function that writes into its first argument, applied to a copy."""

    def f(a, *rest):
        copied = a * 1.0
        write(copied, *rest)
        return copied

    return entry(name, f, *args, **options)


ENTRIES = [
    # order
    entry("sort", np.sort, apart(3, 4)),
    entry("sort axis 0", lambda a: np.sort(a, axis=0), apart(3, 4)),
    entry("sort flat", lambda a: np.sort(a, axis=None), apart(3, 4)),
    entry("sort stable", lambda a: np.sort(a, stable=True), apart(3, 4)),
    entry("sort complex", np.sort, apart(5), is_complex=True),
    entry("partition", lambda a: np.partition(a, 2, axis=0), apart(5, 2), exact=False),
    entry("median odd", lambda a: np.median(a, axis=0), apart(3, 2)),
    entry("median even", lambda a: np.median(a, axis=0, keepdims=True), apart(4, 2)),
    entry("median of all", np.median, apart(2, 4)),
    entry("median of two axes", lambda a: np.median(a, axis=(0, 2)), apart(3, 2, 4)),
    entry("quantile", lambda a: np.quantile(a, 0.3, axis=1), apart(2, 5), exact=False, device=False),
    entry("quantiles", lambda a: np.quantile(a, [0.0, 0.4, 1.0], axis=(0, 2), keepdims=True), apart(2, 3, 2), exact=False, device=False),
    *(
        entry(f"quantile {method}", lambda a, method=method: np.quantile(a, 0.37, method=method), apart(7), exact=False, single=False, device=False)
        for method in ("inverted_cdf", "hazen", "weibull", "median_unbiased", "nearest", "midpoint", "higher")
    ),
    entry("percentile", lambda a: np.percentile(a, 40), apart(2, 3), exact=False, device=False),
    # picking
    entry("take", lambda a: np.take(a, [0, 2, 2], axis=1), real(2, 3), is_complex=True),
    entry("take flat", lambda a, i: np.take(a, i), real(2, 3), np.array([[0, 5], [5, 1]])),
    entry("take one", lambda a: np.take(a, 1, axis=0), real(2, 3)),
    entry("take wrapping", lambda a: np.take(a, [5, -4], axis=1, mode="wrap"), real(2, 3)),
    entry("take clipping", lambda a: np.take(a, [5, -4], axis=1, mode="clip"), real(2, 3)),
    entry("take_along_axis", lambda a: np.take_along_axis(a, order, 1), real(2, 3), is_complex=True, device=False),
    entry("take_along_axis flat", lambda a: np.take_along_axis(a, np.array([0, 5, 5]), None), real(2, 3), device=False),
    entry("compress", lambda a: np.compress([True, False, True], a, axis=1), real(2, 3), device=False),
    entry("compress flat", lambda a: np.compress([False, True, True, False], a), real(2, 3), device=False),
    entry("extract", lambda a: np.extract(mask, a), real(2, 3), device=False),
    entry("select", lambda a, b: np.select([a > 1, a > 0], [a * b, b], default=3.0), real(2, 3), real(2, 3)),
    entry("choose", lambda a, b: np.choose(np.array([0, 1, 1]), [a, b]), real(2, 3), real(3), device=False),
    entry("choose wrapping", lambda a, b: np.choose(np.array([2, 1, -1]), [a, b], mode="wrap"), real(2, 3), real(3), device=False),
    entry("piecewise", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: v**2, np.sin, lambda v: 3 * v]), real(3, 4), device=False, exact=False),
    # differences
    entry("diff", np.diff, real(2, 5), is_complex=True),
    entry("diff twice", lambda a: np.diff(a, n=2, axis=0), real(5, 2)),
    entry("diff with ends", lambda a, b: np.diff(a, axis=0, prepend=0.0, append=b), real(3, 2), real(2, 2), device=False),
    entry("ediff1d", lambda a: np.ediff1d(a, to_begin=1.0, to_end=a[0]), real(2, 3), device=False),
    entry("gradient", np.gradient, real(4, 3), exact=False, device=False),
    entry("gradient at three points", lambda a: np.gradient(a, 0.5, edge_order=2), real(3), exact=False, device=False),
    entry("gradient uneven", lambda a, x: np.gradient(a, x + np.arange(0, 20, 4), axis=0, edge_order=2), real(5, 2), real(5), exact=False, device=False),
    entry("trapezoid", np.trapezoid, real(2, 5), exact=False),
    entry("trapezoid over x", lambda y, x: np.trapezoid(y, x, axis=0), real(5, 2), real(5), exact=False),
    entry("interp", lambda x, y: np.interp(x, np.array([-1.0, 0.0, 0.5, 1.5]), y), real(6), real(4), exact=False, single=False, device=False),
    entry("interp with ends", lambda x, y: np.interp(x, np.array([-1.0, 0.0, 1.5]), y, -2.0, y[0]), real(6), real(3), exact=False, single=False, device=False),
    entry("interp over a period", lambda x, y: np.interp(x, np.array([0.1, 0.9, 0.5]), y, period=1.3), real(6), real(3), exact=False, single=False, device=False),
    entry("unwrap", lambda p: np.unwrap(5 * p), real(2, 6), device=False),
    entry("bincount", lambda w: np.bincount(np.array([0, 2, 2, 1]), w), real(4), single=False, device=False),
    # writes
    written("copyto", lambda a, b: np.copyto(a, b), real(2, 3), real(3), is_complex=True),
    written("copyto where", lambda a, b: np.copyto(a, b, where=mask), real(2, 3), real(3), device=False),
    written("put", lambda a, b: np.put(a, [0, -1, 3], b), real(2, 3), real(2), device=False),
    written("put clipping", lambda a, b: np.put(a, [9, 1], b, mode="clip"), real(2, 3), real(2), device=False),
    written("place", lambda a, b: np.place(a, mask, b), real(2, 3), real(3), device=False),
    written("putmask", lambda a, b: np.putmask(a, mask, b), real(2, 3), real(4), device=False),
    written("fill_diagonal", np.fill_diagonal, real(4, 3), real(), device=False),
    written("fill_diagonal wrapping", lambda a, b: np.fill_diagonal(a, b, wrap=True), real(5, 2), real(2), device=False),
    written("fill_diagonal of a cube", np.fill_diagonal, real(3, 3, 3), real(), device=False),
    written("put_along_axis", lambda a, b: np.put_along_axis(a, np.array([[2], [0]]), b, 1), real(2, 3), real(2, 1), device=False),
    written("add.at", lambda a, b: np.add.at(a, (np.array([0, 1, 0]), np.array([2, 2, 2])), b), real(2, 3), real(3), is_complex=True, device=False),
    written("add.at a slice", lambda a, b: np.add.at(a, (slice(None), 1), b), real(2, 3), real(2)),
    written("subtract.at", lambda a, b: np.subtract.at(a, [0, 0], b), real(2, 3), real(3)),
]
