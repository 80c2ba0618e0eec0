"""Do CuPy's wheels still do what gradviz counts on, and differ from the simulated GPU only where that is known?"""

from __future__ import annotations

import cupy
import numpy as np
import pytest

from tests.devices.contracts import CONTRACTS, DIFFERENCES


@pytest.fixture
def arrays():
    return cupy.ndarray((2, 3)), cupy.ndarray((2, 3), complex), cupy


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts(name, arrays):
    assert CONTRACTS[name](*arrays)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(name, arrays):
    ask, _, in_13, in_14 = DIFFERENCES[name]
    assert ask(*arrays) == (in_13 if cupy.__version__.startswith("13.") else in_14)


def test_two_imports_of_one_memory_look_apart():
    """Why buffers are told apart by our own numbers, not by CuPy's question."""
    a = cupy.ndarray(4)
    pointer, size = a.data.ptr, a.nbytes
    imported = [
        cupy.ndarray(2, float, cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(start, size, a, 0), 0))
        for start in (pointer, pointer + 8)
    ]
    assert not cupy.may_share_memory(*imported)
    assert cupy.may_share_memory(a, a[1:])


def test_as_strided_forgets_the_owner():
    a = cupy.ndarray(4)
    assert cupy.lib.stride_tricks.as_strided(a, (2, 2), (8, 8)).base is None
    assert np.shape(a) == (4,)
