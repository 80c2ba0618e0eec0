"""How does an array come to be on a simulated GPU: by a kernel there, or by an upload."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim.array import SimArray
from gradviz.devices.sim.operands import check

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice


def asarray(device: SimDevice, /, a: Any, dtype: Any = None, order: Any = None, **_: Any) -> SimArray:
    """The array itself if it is here and fits, else a copy; host data is uploaded."""
    return array(device, a, dtype, copy=None, order=order or "K")


def array(
    device: SimDevice,
    /,
    obj: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: Any = "K",
    ndmin: int = 0,
    **_: Any,
) -> SimArray:
    """An array on the device from an array there, from device arrays in lists, or from host data."""
    if obj.__class__ is SimArray:
        check(device, "array", obj)
        result = _fitting(obj, dtype, copy, order)
    elif isinstance(obj, (list, tuple)) and _holds_device_array(obj):
        parts = [array(device, part, None, None) if isinstance(part, (list, tuple)) else part for part in obj]
        result = device.call(np.stack, (parts,), {} if dtype is None else {"dtype": dtype})
    else:
        result = _uploaded(device, np.array(obj, dtype, order=order))
    missing = ndmin - result.ndim
    return result if missing <= 0 else result[(None,) * missing]


def _fitting(a: SimArray, dtype: Any, copy: bool | None, order: Any) -> SimArray:
    flags = a._host.flags
    ordered = (order != "C" or flags.c_contiguous) and (order != "F" or flags.f_contiguous)
    if dtype is not None and np.dtype(dtype) != a.dtype:
        return a.astype(dtype, order=order)
    return a.copy(order) if copy or not ordered else a


def _holds_device_array(parts: Any) -> bool:
    return any(
        part.__class__ is SimArray or (isinstance(part, (list, tuple)) and _holds_device_array(part)) for part in parts
    )


def _uploaded(device: SimDevice, host: np.ndarray) -> SimArray:
    result = device.new(host)
    if host.ndim:
        device.upload(host.nbytes, "explicit", "asarray")
    else:  # a scalar travels as an argument of the kernel
        device.launch("fill", host.nbytes, device.preset.ufunc_ns)
    return result


def ascontiguousarray(device: SimDevice, a: Any, dtype: Any = None) -> SimArray:
    """The array itself if it is contiguous, else a copy."""
    return array(device, a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(device: SimDevice, a: Any, dtype: Any = None) -> SimArray:
    """The array itself if it is in Fortran order, else a copy."""
    return array(device, a, dtype, copy=None, order="F", ndmin=1)


def empty(device: SimDevice, /, shape: Any, dtype: Any = float, order: Any = "C", **_: Any) -> SimArray:
    """Memory as it is; no kernel."""
    return device.new(np.empty(shape, dtype, order))


def zeros(device: SimDevice, /, shape: Any, dtype: Any = float, order: Any = "C", **_: Any) -> SimArray:
    """Memory set to zero."""
    return filled(device, np.zeros(shape, dtype, order))


def ones(device: SimDevice, /, shape: Any, dtype: Any = None, order: Any = "C", **_: Any) -> SimArray:
    """Memory filled with ones."""
    return filled(device, np.ones(shape, dtype, order))


def full(device: SimDevice, /, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **_: Any) -> SimArray:
    """Memory filled with a scalar, of the host or of the device."""
    if fill_value.__class__ is SimArray:
        result = empty(device, shape, dtype or fill_value.dtype, order)
        result[...] = fill_value
        return result
    return filled(device, np.full(shape, fill_value, dtype, order))


def filled(device: SimDevice, host: np.ndarray, kernel: str = "fill") -> SimArray:
    """Values that a kernel makes from a few scalars."""
    result = device.new(host)
    device.launch(kernel, host.nbytes, device.preset.ufunc_ns)
    return result


def _by(func: Callable[..., np.ndarray]) -> Callable[..., SimArray]:
    def make(device: SimDevice, /, *args: Any, **kwargs: Any) -> SimArray:
        kwargs.pop("device", None)
        on_host = [part.item() if part.__class__ is SimArray else part for part in args]  # CuPy waits here too
        return filled(device, func(*on_host, **kwargs), func.__name__)

    make.__doc__ = f"As `numpy.{func.__name__}`, made by a kernel."
    return make


CREATION: dict[str, Callable[..., SimArray]] = {
    "array": array,
    "asanyarray": asarray,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "asfortranarray": asfortranarray,
    "empty": empty,
    "full": full,
    "ones": ones,
    "zeros": zeros,
    **{func.__name__: _by(func) for func in (np.arange, np.eye, np.identity, np.tri)},
}
