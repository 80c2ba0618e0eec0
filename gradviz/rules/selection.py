"""Derivatives of functions that pick entries: by order, by number, by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.cotangent import zeros
from gradviz.engine.rule import Like, composed, rule
from gradviz.rules.reductions import axes_of

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
    if type(whole) is np.ndarray:
        np.put_along_axis(whole, order, values, axis)
    else:  # CuPy 13 has no such function
        whole[along(whole.shape, order, axis)] = values
    return whole


pick = rule(pick_along, pick_to_a, name="pick", linear="each")
place = rule(place_along, place_to_values, name="place", linear="each")


def flat(a: Any, axis: int | None) -> tuple[Any, int]:
    """The array and the axis that functions with ``axis=None`` work on."""
    if axis is None:
        return np.ravel(a), 0
    return a, axes_of(axis, np.ndim(a))[0]


@composed(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    a, axis = flat(a, axis)
    return pick(a, np.argsort(a, axis=axis, kind="stable" if stable else kind), axis)


@composed(np.sort_complex)
def sort_complex(a):
    ordered = np.sort(a)
    return ordered if ordered.dtype.kind == "c" else np.astype(ordered, np.result_type(ordered.dtype, complex))


@composed(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    a, axis = flat(a, axis)
    return pick(a, np.argpartition(a, kth, axis=axis), axis)


# ---- picking


def beside(a: Any, index: Any) -> Any:
    """An index made on the host, where ``a`` is: a device gets it once, not again in every pullback."""
    a = bottom(a)
    return np.asarray(index, like=a) if hasattr(a, "__array_function__") else np.asarray(index)  # numbers have none


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


@composed(np.trim_zeros)
def trim_zeros(filt, trim: Any = "fb", axis=None):
    plain = bottom(filt)
    options = {} if axis is None else {"axis": axis}  # CuPy has no axis
    kept = np.trim_zeros(plain, trim, **options).shape
    in_front = "f" in trim.lower()
    starts = [
        n - m if in_front else 0 for n, m in zip(plain.shape, np.trim_zeros(plain, "f", **options).shape, strict=True)
    ]
    return filt[tuple(slice(start, start + n) for start, n in zip(starts, kept, strict=True))]


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
    number, count = np.asarray(a) if isinstance(a, list | tuple) else bottom(a), len(choices)
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
    plain = [bottom(condition) for condition in condlist]
    conditions = [np.astype(c, bool) if hasattr(c, "dtype") else np.asarray(c, bool) for c in plain]
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
