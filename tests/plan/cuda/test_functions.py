"""Every function that kernels can hold, on every dtype, as CUDA C: beside NumPy, awkward points included."""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.plan.kernels import run_blocks
from gradviz.plan.kernels.kernel import Compute, Constant, Kernel, Load, Parameter, Store
from gradviz.plan.kernels.table import TABLE
from tests.plan.cuda.host_gpu import Engine
from tests.plan.kernels.test_functions import (
    CASES,
    LOOSE,
    OF_INPUTS,
    SEED,
    TAME_ONLY,
    ULPS,
    distances,
    kernel_of,
    result_of,
    run,
    samples,
)

DTYPES = ("f8", "f4", "c16", "c8", "i8", "i4", "i1", "u8", "u2", "b1")
EXPONENTS = (0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -1.0, -2.0, 2.5, 7.0)
SINGLE_COMPLEX = 64.0  # ulps: computed in single precision, as CuPy does


def kernel_for(name: str, dtype: str) -> Kernel:
    return kernel_of(name, [dtype] * TABLE[name, dtype[0]].inputs, result_of(name, dtype), (203,))


def power_of(exponent: float, dtype: str) -> Kernel:
    size = np.dtype(dtype).itemsize
    body = (Load(0, 0), Constant(1, dtype, exponent), Compute(2, "power", (0, 1), dtype), Store(1, 2))
    return Kernel((200,), (Parameter(dtype, (size,)), Parameter(dtype, (size,))), (), body)


@pytest.fixture(scope="module")
def engine() -> Engine:
    kernels = {kernel_for(*case) for case in CASES}
    kernels |= {kernel_of("cast", [a], b, (50,)) for a in DTYPES for b in DTYPES}
    return Engine(kernels | {power_of(e, dtype) for e in EXPONENTS for dtype in ("f8", "f4")})


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda v: v)
def test_cuda_agrees_with_numpy(engine: Engine, name: str, dtype: str) -> None:
    kernel, result = kernel_for(name, dtype), result_of(name, dtype)
    rng = np.random.default_rng(SEED + sum(dtype.encode()))
    arrays = [samples(rng, dtype, 203, (name, dtype[0]) in TAME_ONLY) for _ in range(TABLE[name, dtype[0]].inputs)]
    expected = run(run_blocks, kernel, arrays, result)
    found = run(engine, kernel, arrays, result)
    apart = distances(found, expected, arrays if name in OF_INPUTS else [])
    limit = LOOSE.get((name, dtype[0]), LOOSE.get(name, ULPS))
    if dtype == "c8" and TABLE[name, "c"].calls:
        limit = max(limit, SINGLE_COMPLEX)
    wrong = [(*(x[i] for x in arrays), found[i], expected[i]) for i in np.flatnonzero(~(apart <= limit))[:5]]
    assert not wrong, f"inputs, found, expected: {wrong}"


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_casts_agree_with_numpy(engine: Engine, source: str, target: str) -> None:
    x = samples(np.random.default_rng(1), source, 50, tame=source[0] in "fc" and target[0] in "iu")
    kernel = kernel_of("cast", [source], target, (50,))
    np.testing.assert_array_equal(run(engine, kernel, [x], target), run(run_blocks, kernel, [x], target))


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_powers_by_products_agree_with_numpy(engine: Engine, exponent: float, dtype: str) -> None:
    x = samples(np.random.default_rng(2), dtype, 200, tame=False)
    with np.errstate(all="ignore"):
        expected = np.power(x, np.dtype(dtype).type(exponent))
    assert np.all(distances(run(engine, power_of(exponent, dtype), [x], dtype), expected, []) <= ULPS)
