"""Functions that apply a function of the user's to parts of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.rule import composed
from gradviz.rules.reductions import axes_of


@composed(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    (axis,) = axes_of(axis, arr.ndim)
    rows = np.moveaxis(arr, axis, -1)
    if 0 in rows.shape[:-1]:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = [func1d(rows[where], *args, **kwargs) for where in np.ndindex(*rows.shape[:-1])]
    inner = np.shape(made[0])
    joined = np.reshape(np.stack(made), rows.shape[:-1] + inner)
    return np.moveaxis(joined, range(arr.ndim - 1, joined.ndim), range(axis, axis + len(inner)))


@composed(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    value = a
    for axis in axes_of(tuple(axes) if np.ndim(axes) else int(axes), a.ndim):
        made = func(value, axis)
        value = made if np.ndim(made) == value.ndim else np.expand_dims(made, axis)
        if value.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return value
