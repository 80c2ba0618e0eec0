"""Where a value lives, and who has that name: the devices there are."""

from __future__ import annotations

from typing import Any

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
    return value.device if value.__class__ is SimArray else HOST


def device(name: str) -> Device:
    """The device of that name.

    Parameters
    ----------
    name : ``"host"``, or ``"sim:a100"`` and the like

    Raises
    ------
    UnknownDeviceError
        if there is none; the message lists those there are
    """
    if name == HOST.name:
        return HOST
    if name.startswith("sim:"):
        return simulate(name).device
    known = ", ".join([HOST.name, *(f"sim:{preset}" for preset in PRESETS)])
    raise UnknownDeviceError(f"no device is called {name!r}; there are {known}")
