"""Arrays to write into: NumPy's creation functions, whose results can take traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import FOREIGN, Array, bottom, constant
from gradviz.transforms.trees import flatten


def _creating(function: Callable[..., Any]) -> Callable[..., Array]:
    @functools.wraps(function)
    def create(*args: Any, device: Any = None, **kwargs: Any) -> Array:
        made = function(*args, **kwargs)
        return made if isinstance(made, Array) else constant(made if device is None else _on(device).asarray(made))

    create.__doc__ = f"``numpy.{function.__name__}``, as an array that traced values can be written into."
    return create


def _on(device: Any) -> Any:
    from gradviz.devices.find import device as find_device

    return find_device(device) if isinstance(device, str) else device


zeros, ones, empty, full = (_creating(f) for f in (np.zeros, np.ones, np.empty, np.full))
zeros_like, ones_like, empty_like, full_like = (
    _creating(f) for f in (np.zeros_like, np.ones_like, np.empty_like, np.full_like)
)
arange, linspace, eye, identity = (_creating(f) for f in (np.arange, np.linspace, np.eye, np.identity))


def asarray(obj: Any, dtype: Any = None, copy: bool | None = None, device: Any = None) -> Any:
    """An `Array` of ``obj``: an array, a number, or nested lists of numbers and traced values (which are stacked).

    Memory of a plain array is shared with it until the result is first written to.
    """
    made: Any
    if isinstance(obj, (list, tuple)) and any(isinstance(leaf, Array) for leaf in flatten(obj)[0]):
        made = np.stack([asarray(item) for item in obj])
        return made if dtype is None else made.astype(dtype)
    if isinstance(obj, Array):
        made = obj if dtype is None or obj.dtype == np.dtype(dtype) else obj.astype(dtype)  # type: ignore[call-overload]
        return np.copy(made) if copy and made is obj else made
    if hasattr(bottom(obj), "device") and not isinstance(obj, (np.ndarray, np.generic)):
        device_array: Any = obj
        value: Any = obj if dtype is None else device_array.astype(dtype)
    else:
        value = np.asarray(obj, dtype)
    if device is not None:
        value = _on(device).asarray(value)
    return constant(value.copy()) if copy else constant(value, FOREIGN if value is obj or np.ndim(obj) else -1)


def array(obj: Any, dtype: Any = None, copy: bool = True) -> Array:
    """An `Array` in memory of its own. See `asarray`."""
    return asarray(obj, dtype, copy=copy)


def copy(a: Any) -> Array:
    """A copy that can be written to."""
    return asarray(a, copy=True)
