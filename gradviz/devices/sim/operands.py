"""Which arguments live on the device, and which should but do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim.array import SimArray
from gradviz.errors import HostArrayError, OtherDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice


def unwrap(device: SimDevice, name: str, value: Any, met: list[SimArray]) -> Any:
    """An argument with host arrays in place of device arrays, which are added to ``met``; NumPy arrays are refused."""
    if value.__class__ is SimArray:
        check(device, name, value)
        met.append(value)
        return value._host
    if isinstance(value, np.ndarray):
        raise host_array(name, value, device)
    if isinstance(value, (list, tuple)):
        parts = [unwrap(device, name, part, met) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def check(device: SimDevice, name: str, array: SimArray) -> None:
    """Refuse an array of another device."""
    if array.device is not device:
        raise OtherDeviceError(
            f"Array device must be same as the current device: {name} got arrays on {device.name} and on another "
            f"device, {array.device.name}. Move one of them: xp.asarray(array.get())."
        )


def host_array(name: str, array: np.ndarray, device: SimDevice, place: str = "an argument") -> HostArrayError:
    """The error for a NumPy array among device arrays."""
    return HostArrayError(
        f"Unsupported type {type(array)}: {place} of {name} is a NumPy array of shape {array.shape} on the host, but "
        f"others live on {device.name}. Move it once, outside the loop: xp.asarray(array); or bring the others to the "
        "host with .get()."
    )
