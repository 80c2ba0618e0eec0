"""Arrays on a device while a program is captured: a copy on the host stands in for each, so that a program is the same on all devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.devices.find import device_of
from gradviz.devices.host import HOST
from gradviz.errors import CaptureError

ndarray = np.ndarray


def on_device(value: Any) -> bool:
    """Whether an array lives on a device."""
    return type(value) is not ndarray and device_of(value) is not HOST


def stand_in(array: Any) -> ndarray:
    """A copy on the host, with the same strides, so that what is a view of the one is a view of the other. Waits for the device."""
    found = array.get()
    if found.strides == array.strides or not found.size:
        return found
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    copy = np.ndarray(array.shape, array.dtype, np.empty(high - low + array.itemsize, np.uint8), -low, array.strides)
    copy[...] = found
    return copy


def place_on_device(array: Any) -> tuple[Any, ...]:
    """What two views have in common that are the same: whose memory it is, where in it they begin, and how they go on."""
    return id(device_of(array).owner(array)), array.data.ptr, array.shape, array.strides, array.dtype


def one_device(arrays: list[tuple[str, Any]]) -> Any:
    """The device that named arrays live on; None for the host.

    Raises
    ------
    CaptureError : they live on several
    """
    found: dict[Any, str] = {device_of(array): name for name, array in reversed(arrays)}
    if len(found) < 2:
        device = next(iter(found), HOST)
        return None if device is HOST else device
    (first, one), (second, other) = list(found.items())[:2]
    raise CaptureError(
        f"{one} lies on {first.name} and {other} on {second.name}: a plan runs on one device. Bring them there before the call."
    )
