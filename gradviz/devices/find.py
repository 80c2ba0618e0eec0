"""Where a value lives, and who has that name: the devices there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.devices.cuda import cuda_device, device_of_array
from gradviz.devices.host import HOST
from gradviz.devices.protocol import Device
from gradviz.devices.sim import PRESETS, SimArray, simulate
from gradviz.errors import UnknownDeviceError


def device_of(value: Any) -> Device:
    """The device of an array; Python's own numbers live on the host.

    Examples
    --------
    >>> device_of(3.0).name
    'host'
    >>> device_of(simulate("a100").ones(3)).name
    'sim:a100'
    """
    return value.device if value.__class__ is SimArray else device_of_array(value) or HOST


def namespace(array: Any) -> Any:
    """The module that has the functions for an array: NumPy, CuPy, or that of a simulated GPU.

    Examples
    --------
    >>> xp = simulate("a100")
    >>> namespace(xp.ones(3)) is xp, namespace(np.ones(3)) is np
    (True, True)
    """
    if array.__class__ is SimArray:
        return array.device.xp
    found = device_of_array(array)
    return np if found is None else found.cupy


def device(name: str) -> Device:
    """The device of that name.

    Parameters
    ----------
    name : ``"host"`` (which NumPy calls ``"cpu"``); ``"cuda"`` or ``"cuda:1"``, a GPU; ``"sim:a100"`` and the like, a simulated one

    Raises
    ------
    UnknownDeviceError
        if there is none; the message lists those there are
    MissingPackageError
        if it is a GPU, and CuPy is not installed
    """
    if name in (HOST.name, "cpu"):
        return HOST
    if name.startswith("sim:"):
        return simulate(name).device
    kind, _, number = name.partition(":")
    if kind == "cuda" and (number.isdecimal() or name == "cuda"):
        return cuda_device(int(number or 0))
    known = ", ".join([HOST.name, "cuda", *(f"sim:{preset}" for preset in PRESETS)])
    raise UnknownDeviceError(f"no device is called {name!r}; there are {known}")
