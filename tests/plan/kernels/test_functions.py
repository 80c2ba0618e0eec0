"""Every function that kernels can hold, on every dtype: machine code beside NumPy, awkward points included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradviz.plan.kernels import run_blocks, run_llvm
from gradviz.plan.kernels.kernel import Compute, Constant, Kernel, Load, Parameter, Store
from gradviz.plan.kernels.table import TABLE

DTYPES = {"f": ("f8", "f4"), "c": ("c16", "c8"), "i": ("i8", "i4", "i1"), "u": ("u8", "u1"), "b": ("b1",)}
CASES = [(name, dtype) for (name, kind) in sorted(TABLE) for dtype in DTYPES[kind]]
ULPS = 4.0
SEED = 0
# Where two correct results may lie further apart: sums that cancel, whose error is relative to the inputs, and functions that SciPy
# computes less exactly than libm. In ulps of the larger of the result and the largest input.
LOOSE: dict[Any, float] = {
    "erfc": 10.0,
    "gammaln": 20.0,
    "gamma": 10.0,
    "power": 8.0,
    "tan": 8.0,
    "log": 8.0,
    ("power", "c"): 64.0,
}
OF_INPUTS = {"logaddexp", "logaddexp2", "gammaln"}
# SciPy's gammaln differs from C's at its poles, NumPy's complex product at infinities depends on its length
TAME_ONLY = {("gammaln", "f"), ("square", "c"), ("multiply", "c"), ("power", "c"), ("divide", "c")}
AWKWARD = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    0.5,
    -0.5,
    2.0,
    -2.0,
    1e-310,
    1e-40,
    5.0,
    710.0,
    89.0,
    -745.2,
    1e18,
    1e300,
)


def samples(rng: np.random.Generator, dtype: str, n: int, tame: bool) -> np.ndarray:
    kind = dtype[0]
    if kind == "b":
        return rng.random(n) < 0.5
    if kind in "iu":
        limits = np.iinfo(dtype)
        ordinary = rng.integers(0 if kind == "u" else -9, 10, n).astype(dtype)
        ordinary[: n // 8] = limits.max
        ordinary[n // 8 : n // 6] = limits.min
        return rng.permutation(ordinary)
    if kind == "c":
        z = np.empty(n, dtype)
        z.real, z.imag = (
            samples(rng, f"f{int(dtype[1:]) // 2}", n, tame),
            samples(rng, f"f{int(dtype[1:]) // 2}", n, tame),
        )
        return z
    ordinary = rng.uniform(0.1, 3, n) if tame else rng.uniform(-3, 3, n)
    if not tame:
        ordinary[: n // 2] = rng.choice(AWKWARD, n // 2)
    with np.errstate(over="ignore"):
        return rng.permutation(ordinary).astype(dtype)


def kernel_of(name: str, dtypes: list[str], result: str, grid: tuple[int, ...]) -> Kernel:
    count = len(dtypes)
    parameters = tuple(Parameter(d, (np.dtype(d).itemsize,) * len(grid)) for d in (*dtypes, result))
    loads = tuple(Load(i, i) for i in range(count))
    return Kernel(
        grid, parameters, (), (*loads, Compute(count, name, tuple(range(count)), result), Store(count, count))
    )


def run(engine: object, kernel: Kernel, arrays: list[np.ndarray], result: str) -> np.ndarray:
    n = arrays[0].size
    out = np.zeros(n, result)
    if kernel.grid:
        engine.compile_kernel(kernel).run([a.ctypes.data for a in (*arrays, out)], n)
        return out
    call = engine.compile_kernel(kernel).bind()
    for i in range(n):
        call.set_addresses(0, [a.ctypes.data + i * a.itemsize for a in (*arrays, out)])
        call()
    return out


def distances(found: np.ndarray, expected: np.ndarray, inputs: list[np.ndarray]) -> np.ndarray:
    """How far apart two results are, in ulps; infinite where one is NaN and the other is not."""
    if expected.dtype.kind not in "fc":
        return np.where(found == expected, 0.0, np.inf)
    with np.errstate(all="ignore"):
        if expected.dtype.kind == "c":
            size = np.abs(expected)
            apart = np.abs(found - expected) / np.spacing(size)
            same = _same(found.real, expected.real) & _same(found.imag, expected.imag)
            # one part overflowed: the other is compared by itself
            alone = ~np.isfinite(size)
            parts = [np.where(_same(a, b), 0, np.abs(a - b) / np.spacing(np.abs(b)))
                     for a, b in ((found.real, expected.real), (found.imag, expected.imag))]  # fmt: skip
            apart = np.where(alone, np.maximum(*parts), apart)
        else:
            size = np.maximum.reduce([np.abs(expected), *(np.abs(x) for x in inputs)])
            apart = np.abs(found - expected) / np.spacing(size)
            same = _same(found, expected)
        apart[np.isnan(apart)] = np.inf
        apart[same] = 0
        return apart


def _same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x == y) | (np.isnan(x) & np.isnan(y))


def result_of(name: str, dtype: str) -> str:
    return {"same": dtype, "bool": "b1", "part": {"c16": "f8", "c8": "f4"}.get(dtype, dtype)}[
        TABLE[name, dtype[0]].result
    ]


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda v: v)
def test_machine_code_agrees_with_numpy(name: str, dtype: str) -> None:
    entry, result = TABLE[name, dtype[0]], result_of(name, dtype)
    dtypes = [dtype] * entry.inputs
    assert run_llvm.supported(name, dtypes, result)
    rng = np.random.default_rng(SEED + sum(dtype.encode()))
    arrays = [samples(rng, dtype, 203, (name, dtype[0]) in TAME_ONLY) for _ in dtypes]
    expected = run(run_blocks, kernel_of(name, dtypes, result, (203,)), arrays, result)
    found = run(run_llvm, kernel_of(name, dtypes, result, (203,)), arrays, result)
    apart = distances(found, expected, arrays if name in OF_INPUTS else [])
    limit = LOOSE.get((name, dtype[0]), LOOSE.get(name, ULPS))
    wrong = [(*(x[i] for x in arrays), found[i], expected[i]) for i in np.flatnonzero(~(apart <= limit))[:5]]
    assert not wrong, f"inputs, found, expected: {wrong}"
    single = run(run_llvm, kernel_of(name, dtypes, result, ()), [a[:60] for a in arrays], result)
    apart = distances(single, expected[:60], [a[:60] for a in arrays] if name in OF_INPUTS else [])
    assert np.all(apart <= limit), "as a number by itself"


@pytest.mark.parametrize("source", ["f8", "f4", "c16", "c8", "i8", "i4", "i1", "u8", "u2", "b1"])
@pytest.mark.parametrize("target", ["f8", "f4", "c16", "c8", "i8", "i4", "i1", "u8", "u2", "b1"])
def test_casts_agree_with_numpy(source: str, target: str) -> None:
    rng = np.random.default_rng(1)
    x = samples(rng, source, 50, tame=source[0] in "fc" and target[0] in "iu")
    kernel = kernel_of("cast", [source], target, (50,))
    np.testing.assert_array_equal(run(run_llvm, kernel, [x], target), run(run_blocks, kernel, [x], target))


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -1.0, -2.0, 2.5, 7.0])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_powers_by_products_agree_with_numpy(exponent: float, dtype: str) -> None:
    x = samples(np.random.default_rng(2), dtype, 200, tame=False)
    size = np.dtype(dtype).itemsize
    body = (Load(0, 0), Constant(1, dtype, exponent), Compute(2, "power", (0, 1), dtype), Store(1, 2))
    kernel = Kernel((200,), (Parameter(dtype, (size,)), Parameter(dtype, (size,))), (), body)
    with np.errstate(all="ignore"):
        expected = np.power(x, np.dtype(dtype).type(exponent))
    assert np.all(distances(run(run_llvm, kernel, [x], dtype), expected, []) <= ULPS)


def test_what_has_no_machine_code_is_not_supported() -> None:
    assert not run_llvm.supported("sin", ["i8"], "f8")
    assert not run_llvm.supported("sin", ["f8"], "f4")
    assert not run_llvm.supported("add", ["f8", "f4"], "f8")
    assert not run_llvm.supported("add", ["f2", "f2"], "f2")
    assert not run_llvm.supported("frexp", ["f8"], "f8")
    assert not run_llvm.supported("where", ["f8", "f8", "f8"], "f8")
    assert run_llvm.supported("where", ["b1", "c8", "c8"], "c8")
    assert run_llvm.supported("less", ["f8", "f8"], "b1")
    assert run_llvm.supported("absolute", ["c16"], "f8")
    kernel = kernel_of("frexp", ["f8"], "f8", (3,))
    with pytest.raises(NotImplementedError, match="frexp of f8"):
        run_llvm.compile_kernel(kernel)
