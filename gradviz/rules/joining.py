"""Derivatives of functions that put arrays together or take them apart along an axis."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.rule import Rule, composed
from gradviz.rules.shapes import positions

# ---- together


def concatenate_to_arrays(ct, starts, k, axis):
    return ct[(slice(None),) * (axis % ct.ndim) + (slice(starts[k], starts[k + 1]),)]


def stack_to_arrays(ct, k, axis):
    return ct[(slice(None),) * (axis % ct.ndim) + (k,)]


def _joined(arrays: Any, axis: int, starts: tuple[int, ...]) -> Any:
    return np.concatenate(arrays, axis)


_concatenate = Rule(_joined, name="concatenate", sequence="arrays", linear="joint")
_concatenate.pullback(concatenate_to_arrays)
_stack = Rule(np.stack, signature="arrays, axis=0", sequence="arrays", linear="joint")
_stack.pullback(stack_to_arrays)


@composed(np.concatenate)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    pieces = _pieces(arrays)
    if axis is None:
        pieces, axis = [np.ravel(piece) for piece in pieces], 0
    starts = tuple(accumulate((np.shape(piece)[axis] for piece in pieces), initial=0))
    joined = _concatenate(pieces, axis, starts)
    return joined if dtype is None else joined.astype(dtype)


@composed(np.stack)
def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    joined = _stack(_pieces(arrays), axis)
    return joined if dtype is None else joined.astype(dtype)


def _pieces(arrays: Iterable[Any]) -> list[Any]:
    return [gathered(item) for item in arrays]


def gathered(item: Any) -> Any:
    """An array of what may be nested lists with traced entries."""
    if hasattr(item, "dtype") or isinstance(item, (float, complex)):
        return item
    return np.stack(_pieces(item)) if isinstance(item, (list, tuple)) and _holds_traced(item) else np.asarray(item)


def _holds_traced(item: Any) -> bool:
    return isinstance(item, Array) or (isinstance(item, (list, tuple)) and any(map(_holds_traced, item)))


def _promoted(arrays: Any, promote: Any) -> list[Any]:
    return [promote(piece) for piece in _pieces(arrays)]


@composed(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return np.concatenate(_promoted(tup, np.atleast_2d), 0, dtype=dtype)


@composed(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    pieces = _promoted(tup, np.atleast_1d)
    return np.concatenate(pieces, 0 if pieces[0].ndim == 1 else 1, dtype=dtype)


@composed(np.dstack)
def dstack(tup: Any) -> Any:
    return np.concatenate(_promoted(tup, np.atleast_3d), 2)


@composed(np.column_stack)
def column_stack(tup: Any) -> Any:
    return np.concatenate(_promoted(tup, lambda piece: piece if np.ndim(piece) > 1 else np.reshape(piece, (-1, 1))), 1)


@composed(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([arr, values], axis)


@composed(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, _widest(arrays))

    def build(item: Any, level: int) -> Any:
        if level == depth:
            piece = gathered(item)
            return np.reshape(piece, (1,) * (ndim - np.ndim(piece)) + np.shape(piece))
        return np.concatenate([build(part, level + 1) for part in item], axis=ndim - depth + level)

    return build(arrays, 0)


def _depth(item: Any) -> int:
    return 1 + _depth(item[0]) if isinstance(item, list) else 0


def _widest(item: Any) -> int:
    return max(map(_widest, item)) if isinstance(item, list) else np.ndim(item)


# ---- apart


def _cut(ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    n = ary.shape[axis]
    if hasattr(indices_or_sections, "__len__"):
        bounds = [0, *(int(i) for i in indices_or_sections), n]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        bounds = list(accumulate([each + 1] * extra + [each] * (sections - extra), initial=0))
    lead = (slice(None),) * (axis % ary.ndim)
    return [ary[(*lead, slice(a, b))] for a, b in pairwise(bounds)]


@composed(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return _cut(ary, indices_or_sections, axis)


@composed(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _cut(ary, indices_or_sections, axis)


composed(np.vsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 0))
composed(np.hsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1))
composed(np.dsplit)(lambda ary, indices_or_sections: np.split(ary, indices_or_sections, 2))


@composed(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    lead = (slice(None),) * (axis % x.ndim)
    return tuple(x[(*lead, k)] for k in range(x.shape[axis]))


@composed(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    return arr[(slice(None),) * (axis % arr.ndim) + (np.delete(positions(arr.shape[axis], arr), obj),)]


@composed(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis %= arr.ndim
    n = arr.shape[axis]
    places = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    values = gathered(values)
    count = places.size
    if places.ndim == 0 and np.ndim(values):  # NumPy's rule: one place takes what a[:, place] = values would
        lead = (1,) * (arr.ndim - np.ndim(values))
        values = np.moveaxis(np.reshape(values, lead + np.shape(values)), 0, axis)
        count = np.shape(values)[axis]
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    both = np.concatenate([arr, np.broadcast_to(values, shape)], axis)
    order = np.insert(np.arange(n), obj, n + np.arange(count))
    return both[(slice(None),) * axis + (order,)]
