"""Functions that write into a traced array: `np.copyto`, `np.put`, `np.place`, `np.fill_diagonal`, `np.add.at`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom, constant
from gradviz.engine.call import nested, stacked
from gradviz.engine.cotangent import add_at, fit, lifted
from gradviz.engine.mutate import assign
from gradviz.engine.rule import RULES, composed, rule
from gradviz.errors import ConversionError
from gradviz.rules.selection import along, beside, flat


def writable(array: Any, name: str) -> None:
    if not isinstance(array, Array):
        raise ConversionError(
            f"np.{name} cannot put a traced value into a plain array: its gradient would be lost. Make the array with "
            "gradviz.numpy.zeros(...), np.zeros_like(x) or x.copy()."
        )


def joined(values: Any) -> Any:
    """Values to be written; a list of traced ones as an array."""
    return stacked(values) if type(values) in (list, tuple) and nested(values) else values


def repeated(values: Any, numbers: Any) -> Any:
    """The values with these numbers, begun anew when they run out."""
    if np.ndim(values) == 0:
        return values
    values = np.ravel(values)
    return values[numbers % values.size]


@composed(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    writable(dst, "copyto")
    assign(dst, Ellipsis, src if where is True else np.where(where, src, dst))


@composed(np.put)
def put(a, ind, v, mode="raise"):
    writable(a, "put")
    v = joined(v)
    if not np.size(v):
        return
    places = beside(a, np.ravel(bottom(ind)))
    if mode == "wrap":
        places = places % a.size
    elif mode == "clip":
        places = np.clip(places, 0, a.size - 1)
    elif np.any(places < -a.size) or np.any(places >= a.size):
        raise IndexError(f"np.put: an index is out of bounds for an array of {a.size} entries")
    else:
        places = np.where(places < 0, places + a.size, places)
    if places.size and not a.shape:
        assign(a, (), repeated(v, np.arange(places.size, like=bottom(a)))[-1] if np.ndim(v) else v)
    elif places.size:
        assign(a, np.unravel_index(places, a.shape), repeated(v, np.arange(places.size, like=bottom(a))))


@composed(np.place)
def place(arr, mask, vals):
    writable(arr, "place")
    mask = np.reshape(bottom(mask), arr.shape)
    vals = joined(vals)
    if not np.size(vals):
        if np.any(mask):
            raise ValueError("Cannot insert from an empty array!")
        return
    values = repeated(vals, np.reshape(np.cumsum(mask), arr.shape) - 1)
    assign(arr, Ellipsis, np.where(mask, values, arr))


@composed(np.putmask)
def putmask(a, mask, values):
    writable(a, "putmask")
    values = joined(values)
    if not np.size(values):
        return
    mask = np.reshape(bottom(mask), a.shape)
    values = repeated(values, np.reshape(np.arange(a.size, like=bottom(a)), a.shape))
    assign(a, Ellipsis, np.where(mask, values, a))


@composed(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    writable(a, "fill_diagonal")
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError("array must be at least 2-d, and all dimensions of input must be of equal length beyond 2-d")
    if a.ndim == 2:
        stop = a.size if wrap else min(a.shape[0], a.shape[1]) * (a.shape[1] + 1)
        places = np.arange(0, min(stop, a.size), a.shape[1] + 1)
        index: tuple[Any, ...] = (places // a.shape[1], places % a.shape[1])
    else:
        index = (np.arange(a.shape[0]),) * a.ndim
    assign(a, tuple(beside(a, i) for i in index), repeated(joined(val), beside(a, np.arange(len(index[0])))))


@composed(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    writable(arr, "put_along_axis")
    target, axis = flat(arr, axis)
    assign(target, along(target.shape, bottom(indices), axis), values)


def add_at_to_a(ct):
    return ct


def add_at_to_value(ct, index, value_like):
    return fit(ct[index], value_like)


def added_at(a, index, value):
    a = a.copy()
    if isinstance(value, Array) and not isinstance(a, Array):
        a = constant(a)
    a = lifted(a, value, index)
    add_at(a, index, value)
    return a


RULES[np.add.at] = rule(added_at, add_at_to_a, add_at_to_value, name="add.at", linear="joint", constant=("index",))
