"""Machines with narrower vectors, or without libmvec: the same kernels, the same numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gradviz.plan.kernels import run_llvm
from gradviz.plan.kernels.kernel import Kernel
from gradviz.plan.kernels.table import TABLE
from gradviz.plan.kernels.vector_math import Library, host_library
from tests.plan.kernels.random_kernels import Draw
from tests.plan.kernels.test_functions import (
    LOOSE,
    OF_INPUTS,
    TAME_ONLY,
    ULPS,
    distances,
    kernel_of,
    result_of,
    run,
    samples,
)
from tests.plan.kernels.test_random_kernels import agree


class Machine:
    """The host with fewer means."""

    def __init__(self, vector_bytes: int, letters: str) -> None:
        host = host_library()
        sets = [s for s in host.instruction_sets if s[0] in letters]
        addresses = {name: a for name, a in host.addresses.items() if letters or not name.startswith("_ZGV")}
        self.math = Library(vector_bytes, sets, addresses)

    def compile_kernel(self, kernel: Kernel) -> run_llvm.Compiled:
        return run_llvm.compile_kernel(kernel, self.math)


MACHINES = [Machine(16, ""), Machine(32, ""), Machine(32, "db"), Machine(16, "b"), Machine(64, "d")]
NAMES = ["16 bytes, libm", "32 bytes, libm", "AVX2", "SSE4", "64 bytes by AVX2"]

FUNCTIONS = [
    (name, dtype)
    for name in (
        "sin",
        "exp",
        "log",
        "arctan2",
        "power",
        "hypot",
        "remainder",
        "logaddexp",
        "divide",
        "gammaln",
        "sqrt",
    )
    for dtype in ("f8", "f4", "c16", "c8")
    if (name, dtype[0]) in TABLE
]


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_random_kernels(machine: Machine) -> None:
    for seed in range(8):
        agree(Draw(random.Random(seed)).draw(), machine)


@pytest.mark.parametrize("machine", MACHINES[::2], ids=NAMES[::2])
@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_functions(machine: Machine, name: str, dtype: str) -> None:
    result, dtypes = result_of(name, dtype), [dtype] * TABLE[name, dtype[0]].inputs
    rng = np.random.default_rng(7)
    arrays = [samples(rng, dtype, 75, (name, dtype[0]) in TAME_ONLY) for _ in dtypes]
    found = run(machine, kernel_of(name, dtypes, result, (75,)), arrays, result)
    expected = run(run_llvm, kernel_of(name, dtypes, result, ()), arrays, result)  # libm, one by one
    assert np.all(distances(found, expected, arrays if name in OF_INPUTS else []) <= LOOSE.get(name, ULPS))
