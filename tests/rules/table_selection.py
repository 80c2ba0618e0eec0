"""Entries for `gradviz.rules.selection` and `gradviz.rules.writes`."""

from __future__ import annotations

import numpy as np

import gradviz.numpy as gnp
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


def chosen(a, b):
    return gnp.vectorize(lambda x, y: x * y if x > 0 else y)(a, b)


def outer_and_square(a, b):
    return gnp.vectorize(lambda v, w: (np.outer(v, w), v @ v), signature="(n),(m)->(n,m),()")(a, b)


ENTRIES = [
    # order
    entry("sort", np.sort, apart(3, 4), is_complex=True),
    entry("sort axis 0", lambda a: np.sort(a, axis=0), apart(3, 4), is_complex=True),
    entry("sort flat", lambda a: np.sort(a, axis=None), apart(3, 4), is_complex=True),
    entry("sort stable", lambda a: np.sort(a, stable=True), apart(3, 4), is_complex=True),
    entry("sort complex", np.sort, apart(5), is_complex=True),
    entry(
        "partition",
        lambda a: np.partition(a, 2, axis=0),
        apart(5, 2),
        exact=False,
        is_complex=True,
        complex_device=False,
    ),
    # picking
    entry("take", lambda a: np.take(a, [0, 2, 2], axis=1), real(2, 3), is_complex=True),
    entry("take flat", lambda a, i: np.take(a, i), real(2, 3), np.array([[0, 5], [5, 1]]), is_complex=True),
    entry("take one", lambda a: np.take(a, 1, axis=0), real(2, 3), is_complex=True),
    entry("take wrapping", lambda a: np.take(a, [5, -4], axis=1, mode="wrap"), real(2, 3), is_complex=True),
    entry("take clipping", lambda a: np.take(a, [5, -4], axis=1, mode="clip"), real(2, 3), is_complex=True),
    entry("take_along_axis", lambda a, i: np.take_along_axis(a, i, 1), real(2, 3), order, is_complex=True),
    entry(
        "take_along_axis flat",
        lambda a, i: np.take_along_axis(a, i, None),
        real(2, 3),
        np.array([0, 5, 5]),
        is_complex=True,
    ),
    entry("compress", lambda a: np.compress([True, False, True], a, axis=1), real(2, 3), is_complex=True),
    entry("compress flat", lambda a: np.compress([False, True, True, False], a), real(2, 3), is_complex=True),
    entry("extract", np.extract, mask, real(2, 3), is_complex=True),
    entry(
        "select",
        lambda a, b: np.select([a > 1, a > 0], [a * b, b], default=3.0),
        real(2, 3),
        real(2, 3),
        is_complex=True,
    ),
    entry("choose", lambda i, a, b: np.choose(i, [a, b]), np.array([0, 1, 1]), real(2, 3), real(3), is_complex=True),
    entry(
        "choose wrapping",
        lambda i, a, b: np.choose(i, [a, b], mode="wrap"),
        np.array([2, 1, -1]),
        real(2, 3),
        real(3),
        is_complex=True,
    ),
    entry(
        "piecewise",
        lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: v**2, np.sin, lambda v: 3 * v]),
        real(3, 4),
        exact=False,
        device=False,
        is_complex=True,
    ),
    entry("unique", lambda a: np.unique(np.concatenate([a, a]), return_counts=True), real(4), is_complex=True),
    entry(
        "unique along an axis",
        lambda a: np.unique(a[[0, 1, 0]], axis=0, return_index=True),
        apart(2, 3),
        device=False,
        is_complex=True,
    ),
    entry(
        "unique_values",
        lambda a: np.sort(np.unique_values(np.stack([a, a]))),
        apart(2, 3),
        device=False,
        is_complex=True,
    ),
    *(
        entry(f.__name__, lambda a, f=f: tuple(f(np.stack([a, a]))), apart(2, 3), device=False, is_complex=True)
        for f in (np.unique_all, np.unique_counts, np.unique_inverse)
    ),
    entry("union1d", lambda a, b: np.union1d(np.concatenate([a, b]), b), apart(3), real(2), is_complex=True),
    entry("setdiff1d", lambda a, b: np.setdiff1d(np.concatenate([a, b]), b), apart(3), real(2), is_complex=True),
    entry("setxor1d", lambda a, b: np.setxor1d(np.concatenate([a, b]), b), apart(3), real(2), is_complex=True),
    entry("sort_complex", np.sort_complex, apart(5), is_complex=True, single=False),
    entry("trim_zeros", lambda a: np.trim_zeros(np.pad(a, (2, 1))), real(4), is_complex=True),
    entry(
        "trim_zeros in front",
        lambda a: np.trim_zeros(np.pad(a, ((1, 2), (0, 1))), "f", axis=0),
        real(2, 3),
        device=False,
        is_complex=True,
    ),
    entry("trim_zeros behind", lambda a: np.trim_zeros(np.pad(a, 1), "b"), real(2, 3), device=False, is_complex=True),
    # functions of the user's
    entry(
        "apply_along_axis",
        lambda a: np.apply_along_axis(lambda v: np.outer(v, v[:2]), 1, a),
        real(2, 3, 2),
        exact=False,
        is_complex=True,
    ),
    entry(
        "apply_along_axis to a number",
        lambda a, b: np.apply_along_axis(lambda v, w: np.sum(v * w), 0, a, b),
        real(3, 2),
        real(3),
        exact=False,
        is_complex=True,
    ),
    entry(
        "apply_over_axes", lambda a: np.apply_over_axes(np.sum, a, (0, -1)), real(2, 3, 2), is_complex=True, exact=False
    ),
    entry("vectorize", chosen, real(2, 3), real(3), exact=False),
    entry("vectorize rows", outer_and_square, real(2, 3), real(2), exact=False, is_complex=True),
    # writes
    written("copyto", lambda a, b: np.copyto(a, b), real(2, 3), real(3), is_complex=True),
    written("copyto where", lambda a, b, m: np.copyto(a, b, where=m), real(2, 3), real(3), mask, is_complex=True),
    written("put", lambda a, b: np.put(a, [0, -1, 3], b), real(2, 3), real(2), is_complex=True),
    written("put clipping", lambda a, b: np.put(a, [9, 1], b, mode="clip"), real(2, 3), real(2), is_complex=True),
    written("place", lambda a, b, m: np.place(a, m, b), real(2, 3), real(3), mask, is_complex=True),
    written("putmask", lambda a, b, m: np.putmask(a, m, b), real(2, 3), real(4), mask, is_complex=True),
    written("fill_diagonal", np.fill_diagonal, real(4, 3), real(), is_complex=True),
    written(
        "fill_diagonal wrapping", lambda a, b: np.fill_diagonal(a, b, wrap=True), real(5, 2), real(2), is_complex=True
    ),
    written("fill_diagonal of a cube", np.fill_diagonal, real(3, 3, 3), real(), is_complex=True),
    written(
        "put_along_axis",
        lambda a, b, i: np.put_along_axis(a, i, b, 1),
        real(2, 3),
        real(2, 1),
        np.array([[2], [0]]),
        is_complex=True,
    ),
]
