"""What the Array API standard asks of an array beyond NumPy's protocols: its namespace, and the way to another device."""

from __future__ import annotations

import sys
from typing import Any

from gradviz.engine.array import Array, strip
from gradviz.errors import DeviceError
from gradviz.numpy.creation import asarray

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self: Array, /, *, api_version: str | None = None) -> Any:
    """The module that holds the functions for this array: `gradviz.numpy`.

    Raises
    ------
    ValueError : a version of the standard was asked for that NumPy does not follow
    """
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"version {api_version!r} of the Array API is not supported; these are: {', '.join(VERSIONS)}")
    return sys.modules["gradviz.numpy"]


def to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    """The array on another device: itself where it is there already, else a copy.

    Raises
    ------
    DeviceError : the array is traced, and the derivative would have to follow it from one device to the other
    """
    here = self.device
    if device == here or device == getattr(here, "name", here) or (device == "host" and here == "cpu"):
        return self
    if self.tape is not None:
        raise DeviceError(
            f"A traced array cannot move from {here} to {device}: derivatives are taken on one device. Move the inputs before the "
            "gradient is taken, or gv.stop_gradient(x)."
        )
    return asarray(strip(self, 0), device=device)


Array.__array_namespace__ = array_namespace  # type: ignore[attr-defined]
Array.to_device = to_device  # type: ignore[attr-defined]
