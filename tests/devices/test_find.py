"""Is the device of a value found, and a device by its name?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.devices.find import device, device_of
from gradviz.devices.host import HOST
from gradviz.devices.sim import PRESETS, simulate
from gradviz.errors import UnknownDeviceError


@pytest.mark.parametrize("value", [np.ones(3), np.float64(1), 1.0, 2, 1j, True, [1, 2], None])
def test_values_of_the_host(value) -> None:
    assert device_of(value) is HOST


def test_arrays_of_a_simulated_device() -> None:
    for xp in (simulate("a100"), simulate("v100", fresh=True)):
        assert device_of(xp.ones(3)[1:]) is xp.device


def test_names() -> None:
    assert device("host") is HOST
    for preset in PRESETS:
        assert device(f"sim:{preset}") is simulate(preset).device
        assert device(f"sim:{preset}").name == f"sim:{preset}"


@pytest.mark.parametrize("name", ["", "gpu", "cuda:x", "cuda:", "sim:", "sim:pdp11", "a100"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(UnknownDeviceError, match="a100"):
        device(name)
