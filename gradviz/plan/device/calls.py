"""Calls of NumPy's functions as a device can do them: the same function, by NumPy's protocols, where the device has it.

A program is captured on the host, in NumPy's words. A few of those mean nothing to a device, and have a form of their own here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.cotangent import add_at_on_device
from gradviz.engine.entering import entering
from gradviz.errors import ImplicitTransferError
from gradviz.plan.program.operation import add_at, in_kind_of, put_seen, python_number

REFUSALS = (
    TypeError,
    NotImplementedError,
    AttributeError,
    ImplicitTransferError,
)  # CuPy has no such function, or not so
INSTEAD: dict[Any, Callable[..., Any]] = {
    np.maximum.reduce: np.max, np.minimum.reduce: np.min, np.logical_and.reduce: np.all, np.logical_or.reduce: np.any,
}  # fmt: skip
instead = entering(INSTEAD)


def on_device(function: Any) -> Callable[..., Any]:
    """The form of a function that arrays of a device take."""
    form: Any = INSTEAD.get(function, function)
    return form


@instead(np.astype)
def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    return x.astype(dtype, copy=copy)


@instead(in_kind_of)
def of_kind(value: Any, array: bool, dtype: Any) -> Any:
    del array
    return (value.real if value.dtype.kind == "c" and dtype.kind != "c" else value).astype(dtype)


@instead(python_number)
def without_axes(value: Any, kind: type) -> Any:
    return value.astype(np.dtype(kind))


@instead(add_at)
def scattered(array: Any, index: Any, value: Any, ufunc: Any = np.add) -> Any:
    array = array.copy()
    scatter(array, index, value, ufunc)
    return array


def scatter(array: Any, index: Any, value: Any, ufunc: Any) -> None:
    """``ufunc.at(array, index, value)``."""
    if ufunc is np.add:
        add_at_on_device(array, index, value)
    else:
        ufunc.at(array, index, value)


@instead(put_seen)
def seen_written(array: Any, value: Any, view: Callable[..., Any], *rest: Any, **options: Any) -> Any:
    made = array.copy()
    view(made, *rest, **options)[...] = value
    return made
