"""Machine code and NumPy agree on kernels drawn at random."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.plan.kernels import run_blocks, run_llvm
from tests.plan.kernels.random_kernels import Draw, Drawn

EXACT = {"f4": 1e-4, "c8": 1e-4, "f8": 1e-11, "c16": 1e-11}


def outcome(drawn: Drawn, engine: object, threads: int) -> list[np.ndarray]:
    """All bytes of all parameters after the kernel ran on copies of them."""
    jobs = [(size, [m.copy() for m in memories]) for size, memories in drawn.jobs]
    call = engine.compile_kernel(drawn.kernel).bind([size for size, _ in jobs], threads)
    for j, (_, memories) in enumerate(jobs):
        call.set_addresses(j, [m.address for m in memories])
    call()
    call()  # a second run finds its scratch and partial results used
    return [m for _, memories in jobs for m in memories]


def agree(drawn: Drawn, engine: object = run_llvm) -> None:
    expected = outcome(drawn, run_blocks, 1)
    for threads in (1, 2):
        found = outcome(drawn, engine, threads)
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            parameter = drawn.kernel.parameters[i % len(drawn.kernel.parameters)]
            size, start = np.dtype(parameter.dtype).itemsize, x.origin % np.dtype(parameter.dtype).itemsize
            usable = (len(x.data) - start) // size * size
            a, b = (v.data[start : start + usable].view(parameter.dtype) for v in (x, y))
            tolerance = EXACT.get(parameter.dtype, 0)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"parameter {i}")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_machine_code_and_numpy_agree(seed: int) -> None:
    agree(Draw(random.Random(seed)).draw())
