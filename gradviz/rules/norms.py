"""Derivatives of norms of vectors and matrices, of every order. At zero the gradient of a norm is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import bottom, constant
from gradviz.engine.rule import Rule, composed


def _spread(reduced: Any, axis: Any, keepdims: bool) -> Any:
    return reduced if axis is None or keepdims or reduced.shape == () else np.expand_dims(reduced, axis)


def _euclidean(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.linalg.norm(x, axis=axis, keepdims=keepdims)


def euclidean_to_x(ct, x, out, axis, keepdims):
    return _spread(ct / np.where(out == 0, 1, out), axis, keepdims) * x


def _power(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    return np.linalg.norm(x, order, axis, keepdims)


def power_to_x(ct, x, out, order, axis, keepdims):
    out, size = _spread(np.where(out == 0, 1, out), axis, keepdims), np.abs(x)
    size = np.where(size == 0, 1, size)
    return _spread(ct, axis, keepdims) * (size / out) ** (order - 1) * (x / size)


_euclid = Rule(_euclidean, name="norm")
_euclid.pullback(euclidean_to_x)
_norm_of_order = Rule(_power, name="norm")
_norm_of_order.pullback(power_to_x)


def vector(x: Any, order: Any, axis: Any, keepdims: bool) -> Any:
    """The norm of vectors along one axis."""
    if order is None or order == 2:
        return _euclid(x, axis, keepdims)
    if order == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if order == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if order == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if order == 0:
        return constant(np.linalg.norm(bottom(x), 0, axis, keepdims))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    return _norm_of_order(x, order, axis, keepdims)


def matrix(x: Any, order: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """The norm of matrices in two axes."""
    rows, columns = (axis % x.ndim for axis in axes)
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if order in (None, "fro", "f"):
        return _euclid(x, (rows, columns), keepdims)
    if order in (1, -1, np.inf, -np.inf):
        summed, kept = (rows, columns) if abs(order) == 1 else (columns, rows)
        best = np.max if order > 0 else np.min
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        made = best(sums, axis=kept, keepdims=True)
    elif order in (2, -2, "nuc"):
        s = np.linalg.svdvals(np.moveaxis(x, (rows, columns), (-2, -1)))
        made = {2: np.max, -2: np.min, "nuc": np.sum}[order](s, axis=-1)
        return np.expand_dims(made, (rows, columns)) if keepdims else made
    else:
        raise ValueError(f"Invalid norm order {order!r} for matrices.")
    return made if keepdims else np.squeeze(made, (rows, columns))


@composed(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        if ord is None:
            return (
                _euclid(np.ravel(x), None, False)
                if not keepdims
                else np.reshape(_euclid(np.ravel(x), None, False), (1,) * x.ndim)
            )
        axis = tuple(range(x.ndim))
    axes = tuple(axis) if hasattr(axis, "__len__") else (axis,)
    if len(axes) == 1:
        return vector(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return matrix(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@composed(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return matrix(x, ord, (-2, -1), keepdims)


@composed(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if hasattr(axis, "__len__") else (axis,)
    if len(axes) == 1:
        return vector(x, ord, axes[0], keepdims)
    axes = tuple(k % x.ndim for k in axes)
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = x if axes == last else np.moveaxis(x, axes, last)
    made = vector(np.reshape(moved, (*moved.shape[: x.ndim - len(axes)], -1)), ord, -1, False)
    return np.expand_dims(made, axes) if keepdims else made
