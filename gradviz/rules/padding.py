"""Derivatives of `numpy.pad` in all its modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import bottom, constant
from gradviz.engine.call import nested
from gradviz.engine.rule import Rule, composed
from gradviz.rules.joining import gathered
from gradviz.rules.shapes import positions

Widths = list[tuple[int, int]]


def _zeros_around(array: Any, pad_width: Any) -> Any:
    return np.pad(array, pad_width)


def pad_to_array(ct, array_like, pad_width):
    return ct[tuple(slice(before, before + n) for (before, _), n in zip(pad_width, array_like.shape, strict=True))]


_pad = Rule(_zeros_around, name="pad", linear="each")
_pad.pullback(pad_to_array)


@composed(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Zeros, copied entries and statistics; other constants and ramps are added to that."""
    if not array.ndim:
        return np.copy(array)
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _by_function(np.copy(_pad(array, widths)), widths, mode, options)
    if mode in ("constant", "empty"):
        values = options.get("constant_values", 0)
        if nested((values,)):
            return _between_constants(array, widths, values)
        made = _pad(array, widths)
        zero = type(values) in (int, float) and values == 0
        return made if zero else made + _around_zeros(array, widths, mode, options)
    for axis, width in enumerate(widths):
        if any(width):
            array = _along(array, axis, width, mode, options)
    return array


def _by_function(padded: Any, widths: Widths, fill: Callable[..., object], options: dict[str, Any]) -> Any:
    """``fill`` writes into the ends of each vector, one axis after the other."""
    for axis, width in enumerate(widths):
        vectors = np.moveaxis(padded, axis, -1)
        for where in np.ndindex(*vectors.shape[:-1]):
            fill(vectors[where], width, axis, options)
    return padded


def _between_constants(array: Any, widths: Widths, values: Any) -> Any:
    """Traced constants, one axis after the other."""
    values = np.astype(gathered(values), array.dtype)
    for axis, width in enumerate(widths):
        ends = zip(_of_axis(values, array.ndim, axis), width, strict=True)
        shapes = [(*array.shape[:axis], count, *array.shape[axis + 1 :]) for count in width]
        before, after = (np.broadcast_to(value, shape) for (value, _), shape in zip(ends, shapes, strict=True))
        array = np.concatenate([before, array, after], axis)
    return array


def _widths(pad_width: Any, ndim: int) -> Widths:
    if isinstance(pad_width, dict):
        given = {axis % ndim: width for axis, width in pad_width.items()}
        return [tuple(int(w) for w in np.broadcast_to(given.get(axis, 0), 2)) for axis in range(ndim)]  # type: ignore[misc]
    return [(int(a), int(b)) for a, b in np.broadcast_to(np.asarray(pad_width), (ndim, 2))]


def _around_zeros(array: Any, widths: Widths, mode: Any, options: dict[str, Any]) -> Any:
    """What padding gives where the array is zero: the constants."""
    return constant(np.pad(np.zeros_like(bottom(array)), widths, mode, **options))


def _along(array: Any, axis: int, width: tuple[int, int], mode: Any, options: dict[str, Any]) -> Any:
    n = array.shape[axis]
    lead = (slice(None),) * axis
    even = options.get("reflect_type", "even") == "even"
    if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and even):
        return array[(*lead, np.pad(positions(n, array), [width], mode))]
    if mode in ("maximum", "minimum", "mean", "median"):
        return _statistics(array, axis, width, mode, options.get("stat_length"))
    if mode not in ("reflect", "symmetric", "linear_ramp"):
        raise ValueError(f"mode '{mode}' is not supported")
    others: Any = {name: value for name, value in options.items() if name == "reflect_type"}
    one = positions(n, array)
    each = np.equal(np.expand_dims(one, 1), one)
    # Padding along one axis is linear, but for constants: its matrix is what it makes of the unit vectors.
    matrix = np.pad(each.astype(array.dtype), [width, (0, 0)], mode, **others)
    made = np.moveaxis(np.tensordot(matrix, array, (1, axis)), 0, axis)
    if mode != "linear_ramp":
        return made
    shape = [1] * array.ndim
    shape[axis] = -1
    for value, side in zip(_of_axis(options.get("end_values", 0), array.ndim, axis), ((1, 0), (0, 1)), strict=True):
        ramp = np.pad(np.zeros_like(one, array.dtype), [width], mode, end_values=side)
        made = made + np.reshape(ramp, shape) * value
    return np.astype(made, array.dtype, copy=False)


def _of_axis(value: Any, ndim: int, axis: int) -> tuple[Any, Any]:
    """What is meant for both ends of one axis."""
    if nested((value,)):
        before, after = np.broadcast_to(gathered(value), (ndim, 2))[axis]
    else:
        before, after = np.broadcast_to(np.asarray(value), (ndim, 2))[axis].tolist()
    return before, after


def _statistics(array: Any, axis: int, width: tuple[int, int], mode: str, length: Any) -> Any:
    statistic = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}[mode]
    n = array.shape[axis]
    lengths = (n, n) if length is None else tuple(min(int(m), n) for m in _of_axis(length, array.ndim, axis))
    lead = (slice(None),) * axis
    ends = []
    for part, count in zip((slice(0, lengths[0]), slice(n - lengths[1], n)), width, strict=True):
        value = statistic(array[(*lead, part)], axis=axis, keepdims=True)
        ends.append(np.broadcast_to(value, (*array.shape[:axis], count, *array.shape[axis + 1 :])))
    return np.concatenate([ends[0], array, ends[1]], axis)
