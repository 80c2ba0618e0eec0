"""Derivatives of functions that order, pick or compare entries: sorting, order statistics, taking, differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.call import call_without_gradient
from gradviz.engine.cotangent import zeros
from gradviz.engine.rule import RULES, Like, composed, rule
from gradviz.errors import MissingRuleError
from gradviz.rules.reductions import NONE, axes_of, rows, unrows
from gradviz.rules.scans import part

# ---- order


def pick_to_a(ct, a_like, order, axis):
    return place(ct, order, axis, a_like.shape[axis])


def place_to_values(ct, order, axis):
    return pick(ct, order, axis)


def pick_along(a, order, axis):
    """Entries by their number along an axis, none of them twice."""
    return np.take_along_axis(a, order, axis)


def place_along(values, order, axis, length):
    """The entries back where `pick_along` took them, in zeros."""
    whole = zeros(Like((*values.shape[:axis], length, *values.shape[axis + 1 :]), values.dtype), values)
    np.put_along_axis(whole, order, values, axis)
    return whole


pick = rule(pick_along, pick_to_a, name="pick", linear="each")
place = rule(place_along, place_to_values, name="place", linear="each")


def flat(a: Any, axis: int | None) -> tuple[Any, int]:
    """The array and the axis that functions with ``axis=None`` work on."""
    if axis is None:
        return np.ravel(a), 0
    return a, axes_of(axis, np.ndim(a))[0]


def in_dtype(a: Any, dtype: Any) -> Any:
    return a if a.dtype == dtype else a.astype(dtype)


@composed(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    a, axis = flat(a, axis)
    return pick(a, np.argsort(a, axis=axis, kind="stable" if stable else kind), axis)


@composed(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    a, axis = flat(a, axis)
    return pick(a, np.argpartition(a, kth, axis=axis), axis)


def median_to_a(ct, a, axis):
    """Of an even number of entries, each of the middle two has half."""
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


@composed(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None):
    if weights is not None:
        raise MissingRuleError("np.quantile and np.percentile with weights= have no derivative in gradviz.")
    ordered, axes = sorted_rows(a, axis)
    ordered = in_dtype(ordered, np.result_type(a.dtype, q if isinstance(q, int | float) else np.asarray(q)))
    length = ordered.shape[-1]
    shape = reduced_shape(a, axes, keepdims)
    last = ordered[..., -1]
    places = np.quantile(np.arange(length, dtype=float), q, method=method)  # where among the sorted entries each is

    def at(place: float) -> Any:
        low = int(place)
        part, value = float(place - low), ordered[..., low]
        value = value if part == 0 else value * (1 - part) + ordered[..., low + 1] * part
        return np.reshape(np.where(np.isnan(last), last, value), shape)

    found = [at(place) for place in np.ravel(places)]
    return np.reshape(np.stack(found), np.shape(places) + shape) if np.ndim(places) else found[0]


@composed(np.percentile)
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None
):
    return quantile(
        a,
        q / 100 if isinstance(q, int | float) else np.true_divide(q, 100),
        axis,
        None,
        False,
        method,
        keepdims,
        weights=weights,
    )


# ---- picking


def beside(a: Any, index: Any) -> Any:
    """An index made on the host, where ``a`` is: a device gets it once, not again in every pullback."""
    return np.asarray(index, like=bottom(a))


@composed(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    a, axis = flat(a, axis)
    if isinstance(indices, list | tuple):
        indices = beside(a, indices)
    if mode == "wrap":
        indices = np.remainder(indices, a.shape[axis])
    elif mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    return a[(slice(None),) * axis + (indices,)]


def along(shape: Sequence[int], indices: Any, axis: int) -> tuple[Any, ...]:
    """The index that takes ``indices`` along one axis and every position of the others."""
    index = []
    for i, n in enumerate(shape):
        ones = [1] * len(shape)
        ones[i] = n
        index.append(indices if i == axis else np.reshape(np.arange(n, like=indices), ones))
    return tuple(index)


@composed(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    arr, axis = flat(arr, axis)
    indices = bottom(indices)
    if axis == 0 and np.ndim(indices) != np.ndim(arr):
        indices = np.ravel(indices)
    return arr[along(arr.shape, indices, axis)]


@composed(np.compress)
def compress(condition, a, axis=None, out=None):
    a, axis = flat(a, axis)
    return a[(slice(None),) * axis + (beside(a, np.flatnonzero(bottom(condition))),)]


@composed(np.extract)
def extract(condition, arr):
    return np.ravel(arr)[beside(arr, np.flatnonzero(bottom(condition)))]


@composed(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("np.select takes as many conditions as choices, and at least one")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = np.where(condition, choice, result)
    return result


@composed(np.choose)
def choose(a, choices, out=None, mode="raise"):
    number, count = bottom(a), len(choices)
    if mode == "wrap":
        number = number % count
    elif mode == "clip":
        number = np.clip(number, 0, count - 1)
    elif np.any(number < 0) or np.any(number >= count):
        raise ValueError("invalid entry in choice array")
    result = choices[count - 1]
    for k in range(count - 2, -1, -1):
        result = np.where(number == k, choices[k], result)
    return result if count > 1 else np.broadcast_to(result, np.broadcast_shapes(np.shape(number), np.shape(result)))


@composed(np.piecewise)
def piecewise(x, condlist, funclist, *args: Any, **kw: Any):
    if np.isscalar(condlist) or (np.ndim(condlist[0]) == 0 and np.ndim(x) != 0):
        condlist = [condlist]
    conditions = [np.asarray(bottom(condition), dtype=bool) for condition in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    elif len(funclist) != len(conditions):
        raise ValueError(f"{len(conditions)} conditions take as many functions, or one more, not {len(funclist)}")
    result = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        chosen = x[condition]
        if chosen.size:
            result[condition] = function(chosen, *args, **kw) if callable(function) else function
    return result


# ---- differences


def as_piece(value: Any, a: Any, axis: int) -> Any:
    """``value`` as a piece that can be joined to ``a``: a scalar becomes a slice of length 1."""
    if np.ndim(value):
        return value
    return np.full_like(
        a[part(axis, 0, 1)], value, dtype=value.dtype if hasattr(value, "dtype") else np.dtype(type(value))
    )


@composed(np.diff)
def diff(a, n=1, axis=-1, prepend=NONE, append=NONE):
    (axis,) = axes_of(axis, np.ndim(a))
    parts = [as_piece(piece, a, axis) for piece in (prepend, a, append) if piece is not NONE]
    a = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        a = a[part(axis, 1)] - a[part(axis, 0, -1)]
    return a


@composed(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    ary = np.ravel(ary)
    pieces = [as_piece(piece, ary, 0) for piece in (to_begin, diff(ary), to_end) if piece is not None]
    return np.concatenate([in_dtype(np.ravel(piece), ary.dtype) for piece in pieces])


@composed(np.gradient)
def gradient(f, *varargs: Any, axis=None, edge_order=1):
    axes = axes_of(axis, np.ndim(f))
    spacings = (
        [1.0] * len(axes)
        if not varargs
        else list(varargs) * len(axes)
        if len(varargs) == 1 and np.ndim(varargs[0]) == 0
        else list(varargs)
    )
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    made = [slopes_along(f, spacing, i, edge_order) for spacing, i in zip(spacings, axes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def slopes_along(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    if f.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, edge_order + 1 elements are required."
        )
    rise = f[part(axis, 1)] - f[part(axis, 0, -1)]
    if np.ndim(spacing):
        steps = np.reshape(diff(spacing), [-1 if i == axis else 1 for i in range(f.ndim)])
        before, after = steps[part(axis, 0, -1)], steps[part(axis, 1)]
        share = before / (before + after)
        at_first, at_last = share[part(axis, 0, 1)], 1 - share[part(axis, -1)]
    else:
        steps, share, at_first, at_last = spacing, 0.5, 0.5, 0.5
    slopes = rise / steps
    inside = (1 - share) * slopes[part(axis, 0, -1)] + share * slopes[part(axis, 1)]
    first, last = slopes[part(axis, 0, 1)], slopes[part(axis, -1)]
    if edge_order == 2:
        first = first + (first - slopes[part(axis, 1, 2)]) * at_first
        last = last + (last - slopes[part(axis, -2, -1)]) * at_last
    return in_dtype(np.concatenate([first, inside, last], axis=axis), f.dtype)


@composed(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    (axis,) = axes_of(axis, np.ndim(y))
    if x is None:
        widths = dx
    elif np.ndim(x) == 1:
        widths = np.reshape(diff(x), [-1 if i == axis else 1 for i in range(np.ndim(y))])
    else:
        widths = diff(x, axis=axis)
    return np.sum(widths * (y[part(axis, 1)] + y[part(axis, 0, -1)]) / 2.0, axis=axis)


@composed(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    at = np.clip(np.searchsorted(bottom(xp), bottom(x), side="right") - 1, 0, len(xp) - 2)
    value = fp[at] + (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at]) * (x - xp[at])
    if period is not None:
        return value
    value = np.where(x < xp[0], fp[0] if left is None else left, value)
    return np.where(x > xp[-1], fp[-1] if right is None else right, value)


def unwrap_to_p(ct):
    return ct


def unwrapped(p, discont=None, axis=-1, *, period=2 * np.pi):
    return np.unwrap(p, discont, axis, period=period)


RULES[np.unwrap] = rule(unwrapped, unwrap_to_p, name="unwrap")


@composed(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    counts = call_without_gradient(np.bincount, (x, None, minlength), {})
    if weights is None:
        return counts
    sums = np.zeros(counts.shape, float, like=weights)
    np.add.at(sums, x, weights)
    return sums
