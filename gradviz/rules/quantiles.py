"""Derivatives of order statistics: medians, quantiles and percentiles.

A quantile is a value between two sorted entries. NumPy itself is asked where: the quantile of 0, 1, ..., n - 1 is the place among n
sorted entries, by every method, beside NaN, and with weights. That place is constant in the entries, and moves with ``q``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom
from gradviz.engine.rule import composed, rule
from gradviz.rules.reductions import NONE, axes_of, plain, rows, unrows, weights_like
from gradviz.rules.selection import place
from gradviz.rules.statistics import in_dtype

# ---- medians


def median_to_a(ct, out, a, axis):
    """Of an even number of entries, each of the middle two has half."""
    ct = np.where(np.isnan(out), 0, ct)
    axes = axes_of(axis, np.ndim(a))
    joined = rows(a, axes)
    length = joined.shape[-1]
    low, high = (length - 1) // 2, length // 2
    order = np.argpartition(joined, (low, high), axis=-1)[..., low : high + 1]
    share = np.reshape(ct / (high - low + 1), (*joined.shape[:-1], 1))
    return unrows(place(np.broadcast_to(share, order.shape), order, joined.ndim - 1, length), axes, a.shape)


middle = rule(
    lambda a, axis=None, keepdims=False: np.median(a, axis=axis, keepdims=keepdims), median_to_a, name="median"
)


@composed(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return middle(a, axis, keepdims)


def sorted_rows(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The named axes joined at the end and sorted, NaN last; and the shape of a result that keeps its dimensions."""
    axes = axes_of(axis, np.ndim(a))
    return np.sort(rows(np.asanyarray(a) if not hasattr(a, "shape") else a, axes)), axes


def reduced_shape(a: Any, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(np.shape(a)) if keepdims or i not in axes)


@composed(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    ordered, axes = sorted_rows(a, axis)
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    pair = [np.take_along_axis(ordered, k, axis=-1) for k in ((count - 1) // 2, count // 2)]
    return np.reshape((pair[0] + pair[1]) / 2, reduced_shape(a, axes, keepdims is not NONE and keepdims))


# ---- quantiles

# how fast the place among n sorted entries moves with q; by the other methods it jumps
RATE = {
    "linear": lambda n: n - 1, "weibull": lambda n: n + 1, "hazen": lambda n: n, "interpolated_inverted_cdf": lambda n: n,
    "median_unbiased": lambda n: n + 1 / 3, "normal_unbiased": lambda n: n + 1 / 4,
}  # fmt: skip


def quantile_of(a: Any, q: Any, axis: Any, method: Any, keepdims: Any, weights: Any, skip_nan: bool) -> Any:
    """All quantile functions."""
    ordered, axes = sorted_rows(a, axis)
    one = None if weights is None else np.ones(1)
    ordered = in_dtype(ordered, np.quantile(np.zeros(1, ordered.dtype), bottom(q), method=method, weights=one).dtype)
    if weights is not None:
        weights = rows(weights_like(a, bottom(weights), axis), axes)
        weights = np.take_along_axis(weights, np.argsort(rows(bottom(a), axes), axis=-1), axis=-1)
    places = places_among(bottom(ordered), bottom(q), method, weights, skip_nan)
    moves = moves_of(places, q, method, ordered, skip_nan)
    shape = reduced_shape(a, axes, plain(keepdims))
    found = [
        np.reshape(between(ordered, places[j], None if moves is None else moves[j], skip_nan), shape)
        for j in np.ndindex(np.shape(q))
    ]
    if not np.ndim(q):
        return found[0]
    return np.reshape(np.stack(found), np.shape(q) + shape) if found else np.zeros(np.shape(q) + shape, ordered.dtype)


def places_among(ordered: Any, q: Any, method: Any, weights: Any, skip_nan: bool) -> Any:
    """Of shape ``q.shape`` if they are the same for all rows, else ``q.shape + rows``."""
    ranks = np.arange(ordered.shape[-1], dtype=float)
    if not skip_nan and weights is None:
        return np.asarray(np.quantile(ranks, q, method=method))
    ranks = np.broadcast_to(ranks, ordered.shape)
    if not skip_nan:
        return np.asarray(np.quantile(ranks, q, axis=-1, method=method, weights=weights))
    ranks = np.where(np.isnan(ordered), np.nan, ranks)
    return np.nan_to_num(np.nanquantile(ranks, q, axis=-1, method=method, weights=weights))


def moves_of(places: Any, q: Any, method: Any, ordered: Any, skip_nan: bool) -> Any:
    """Zeros, that vary with ``q`` as the places do; None if they do not."""
    if not isinstance(q, Array) or method not in RATE:
        return None
    count = np.sum(~np.isnan(bottom(ordered)), axis=-1) if skip_nan else ordered.shape[-1]
    free = (places > 0) & (places < count - 1) if method != "linear" else True
    zero = q - bottom(q)
    return np.reshape(zero, zero.shape + (1,) * (places.ndim - zero.ndim)) * np.where(free, RATE[method](count), 0.0)


def between(ordered: Any, place: Any, move: Any, skip_nan: bool) -> Any:
    """The value at one place for all rows, or at one for each."""
    length, last = ordered.shape[-1], ordered[..., -1]
    low = np.floor(place).astype(int)
    if move is not None:
        low = np.minimum(low, max(length - 2, 0))
    part = place - low
    high = np.minimum(low + 1, length - 1) if move is not None else np.where(part > 0, low + 1, low)
    value = entry(ordered, low)
    if move is not None or np.any(part):
        part = part.astype(ordered.dtype) if move is None else in_dtype(part + move, ordered.dtype)
        value = value * (1 - part) + entry(ordered, high) * part
    return value if skip_nan else np.where(np.isnan(last), np.nan, value)


def entry(ordered: Any, k: Any) -> Any:
    """The entry with one number in all rows, or with a number for each row."""
    return ordered[..., int(k)] if not np.ndim(k) else np.take_along_axis(ordered, k[..., None], axis=-1)[..., 0]


@composed(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None):
    return quantile_of(a, q, axis, method, keepdims, weights, False)


@composed(np.percentile)
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None
):
    return quantile_of(a, hundredths(q), axis, method, keepdims, weights, False)


@composed(np.nanquantile)
def nanquantile(
    a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=NONE, *, weights=None
):
    return quantile_of(a, q, axis, method, keepdims, weights, True)


@composed(np.nanpercentile)
def nanpercentile(
    a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=NONE, *, weights=None
):
    return quantile_of(a, hundredths(q), axis, method, keepdims, weights, True)


def hundredths(q: Any) -> Any:
    return q / 100 if isinstance(q, int | float) else np.true_divide(q, 100)
