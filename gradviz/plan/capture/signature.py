"""What a call must have in common with another to run the same plan: the kinds of its arguments, and the values of the fixed ones."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gradviz.devices.find import device_of
from gradviz.errors import CaptureError
from gradviz.plan.capture.devices import on_device

ndarray = np.ndarray
STATIC = (
    int,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    type,
    np.dtype,
    enum.Enum,
    types.FunctionType,
    types.BuiltinFunctionType,
    np.ufunc,
)

FIXED = frozenset({int, bool, str})


def is_input(leaf: Any) -> bool:
    """Whether an argument is a number or an array, which may be another at each call."""
    kind = type(leaf)
    if kind is ndarray or kind is float or kind is complex or isinstance(leaf, (np.number, np.bool_)):
        return True
    return not isinstance(leaf, STATIC) and on_device(leaf)


def kind_of(leaf: Any) -> Hashable:
    """What calls that run the same plan have in common in one argument."""
    kind = type(leaf)
    if kind is ndarray:
        return layout(leaf)
    if is_input(leaf):
        return (device_of(leaf), *layout(leaf)) if on_device(leaf) else kind
    return (kind, leaf) if isinstance(leaf, STATIC) else (kind, id(leaf))


def layout(array: Any) -> tuple[Any, ...]:
    """Shape, dtype and layout class of an array."""
    flags = array.flags
    return array.shape, array.dtype, flags.c_contiguous, flags.f_contiguous


def quick_key(args: Sequence[Any], structure: Any = None) -> Any:
    """The same for arguments without containers, in as few steps as possible; None for others.

    Strides take the place of the layout class: more is told apart, and the same plan found again.
    """
    key: list[Any] = [structure]
    for arg in args:
        kind = type(arg)
        if kind is ndarray:
            key += (arg.shape, arg.strides, arg.dtype)
        elif kind is float or kind is complex:
            key.append(kind)
        elif kind in FIXED:
            key += (kind, arg)
        elif on_device(arg):
            key += (device_of(arg), arg.shape, arg.strides, arg.dtype)
        else:
            return None
    return tuple(key)


def check(leaf: Any, name: Callable[[], str]) -> None:
    """Refuse what can be neither an input nor fixed."""
    if isinstance(leaf, (np.random.Generator, np.random.RandomState)):
        raise CaptureError(
            f"{name()} is a source of random numbers: a plan would repeat the numbers that were drawn when it was captured. Draw them "
            f"before the call and pass them as an array."
        )
    if isinstance(leaf, ndarray) and (type(leaf) is not ndarray or leaf.dtype.kind not in "biufc"):
        what = type(leaf).__name__ if type(leaf) is not ndarray else f"array of dtype {leaf.dtype}"
        raise CaptureError(
            f"{name()} is of type {what}: plans compute with plain arrays of numbers. Pass np.asarray(x, float)."
        )
