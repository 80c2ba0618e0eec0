"""Is the simulated GPU what CuPy's wheels are? The same contracts are held against those in ``tests/devices/cuda``."""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.sim import simulate
from tests.devices.contracts import CONTRACTS, DIFFERENCES


@pytest.fixture
def arrays():
    xp = simulate("a100", fresh=True)
    return xp.asarray(np.zeros((2, 3))), xp.asarray(np.zeros((2, 3), complex)), xp


def test_spread_views_are_not_written_to(arrays):
    def written(x):
        y = np.broadcast_to(x, (2, 2, 3))
        y[0] = 0.0
        return np.sum(y)

    with pytest.raises(gv.errors.WriteError, match="read-only"):
        gv.grad(written)(arrays[0])


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts(name, arrays):
    assert CONTRACTS[name](*arrays)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(name, arrays):
    ask, here, *_ = DIFFERENCES[name]
    assert ask(*arrays) == here
