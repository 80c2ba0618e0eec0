"""Sizes, threads, jobs and sums: how a compiled kernel is called."""

from __future__ import annotations

import os

import numpy as np
import pytest

from gradviz.plan.kernels import run_blocks, run_llvm
from gradviz.plan.kernels.kernel import (
    Compute,
    Constant,
    Keep,
    Kernel,
    Load,
    Loop,
    Parameter,
    Recall,
    Reduce,
    Scratch,
    Store,
)


def addresses(*arrays: np.ndarray) -> list[int]:
    return [a.ctypes.data for a in arrays]


def squares(dtype: str, looping: bool = False) -> Kernel:
    """``y = x * x`` and the sum of ``y``, with a loop of one iteration around the product if ``looping``."""
    size = np.dtype(dtype).itemsize
    product = Compute(1, "multiply", (0, 0), dtype)
    body = (
        (Loop(0, 1, ((5, 0, 1),), (product,)), Store(1, 5), Reduce(2, "add", 5))
        if looping
        else (product, Store(1, 1), Reduce(2, "add", 1))
    )
    return Kernel(
        (100,), (Parameter(dtype, (size,)), Parameter(dtype, (size,)), Parameter(dtype, (0,))), (), (Load(0, 0), *body)
    )


@pytest.mark.parametrize("looping", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "b1", "i4"])
def test_every_rest_of_a_block(dtype: str, looping: bool) -> None:
    compiled = run_llvm.compile_kernel(squares(dtype, looping))
    rng = np.random.default_rng(0)
    for n in range(71):
        x = rng.integers(0, 4, n + 8).astype(dtype)
        y, total = np.ones(n + 8, dtype), np.ones((), dtype)
        compiled.run(addresses(x, y, total), n)
        np.testing.assert_array_equal(y[:n], x[:n] * x[:n])
        np.testing.assert_array_equal(y[n:], 1)
        assert total == (x[:n] * x[:n]).sum(dtype=dtype)


@pytest.mark.parametrize("function", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_reductions_of_nothing_are_neutral(function: str, dtype: str) -> None:
    size = np.dtype(dtype).itemsize
    kernel = Kernel((5,), (Parameter(dtype, (size,)), Parameter(dtype, (0,))), (), (Load(0, 0), Reduce(1, function, 0)))
    total = np.full((), 7, dtype)
    run_llvm.compile_kernel(kernel).run(addresses(np.empty(0, dtype), total), 0)
    assert total == {"add": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}[function]


def test_nan_wins_a_maximum() -> None:
    kernel = Kernel((5,), (Parameter("f8", (8,)), Parameter("f8", (0,))), (), (Load(0, 0), Reduce(1, "maximum", 0)))
    x, most = np.arange(100_000.0), np.empty(())
    compiled = run_llvm.compile_kernel(kernel)
    compiled.run(addresses(x, most), x.size, 2)
    assert most == 99_999
    x[12_345] = np.nan
    compiled.run(addresses(x, most), x.size, 2)
    assert np.isnan(most)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_sums_do_not_depend_on_threads_and_are_exact_to_a_few_ulps(dtype: str) -> None:
    n = 1_000_003
    x = np.random.default_rng(3).uniform(0, 1, n).astype(dtype)
    compiled = run_llvm.compile_kernel(squares(dtype))
    y, sums = np.empty_like(x), []
    for count in (1, 2, 3):
        total = np.empty((), dtype)
        compiled.run(addresses(x, y, total), n, count)
        sums.append(total[()])
    assert sums[0] == sums[1] == sums[2]
    exact = np.sum(x.astype(np.clongdouble if dtype[0] == "c" else np.longdouble) ** 2)
    assert abs(sums[0] - exact) < 20 * np.finfo(dtype).eps * abs(exact)


@pytest.mark.parametrize("strides", [(0, 8), (8, 0), (0, 0), (800, 8), (-800, -8)])
@pytest.mark.parametrize("rows", [3, 70, 5000])
def test_sums_along_axes(strides: tuple[int, int], rows: int) -> None:
    kernel = Kernel(
        (rows, 100), (Parameter("f8", (800, 8)), Parameter("f8", strides)), (), (Load(0, 0), Reduce(1, "add", 0))
    )
    x = np.random.default_rng(4).standard_normal((rows, 100))
    out = np.full((rows if strides[0] else 1, 100 if strides[1] else 1), np.nan)
    start = out.ctypes.data + (out.nbytes - 8 if strides[0] < 0 else 0)
    expected = x.sum(axis=tuple(a for a in range(2) if not strides[a]), keepdims=True)
    if strides[0] < 0:
        expected = expected[::-1, ::-1]
    for count in (1, 2):
        run_llvm.compile_kernel(kernel).run([x.ctypes.data, start], rows, count)
        np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


def adam() -> Kernel:
    """One step in place: m = 0.9 m + 0.1 g, p = p - rate m."""
    moving = tuple(Parameter("f4", (4,)) for _ in range(3))
    body = (
        Load(0, 0), Load(1, 1), Load(2, 2), Load(3, 3), Constant(4, "f4", 0.9), Constant(5, "f4", 0.1),
        Compute(6, "multiply", (1, 4), "f4"), Compute(7, "multiply", (2, 5), "f4"), Compute(8, "add", (6, 7), "f4"),
        Compute(9, "multiply", (3, 8), "f4"), Compute(10, "subtract", (0, 9), "f4"), Store(0, 10), Store(1, 8),
    )  # fmt: skip
    return Kernel((50,), (*moving, Parameter("f4", (0,))), (), body)


@pytest.mark.parametrize("engine", [run_llvm, run_blocks])
@pytest.mark.parametrize("count", [1, 2])
def test_many_jobs_are_one_call(engine: object, count: int) -> None:
    rng = np.random.default_rng(5)
    sizes = [int(n) for n in rng.integers(1, 2000, 300)]
    states = [[rng.random(n, dtype=np.float32) for _ in range(3)] for n in sizes]
    before = [[a.copy() for a in state] for state in states]
    rate = np.array(0.5, np.float32)
    call = engine.compile_kernel(adam()).bind(sizes, count)
    for j, state in enumerate(states):
        call.set_addresses(j, addresses(*state, rate))
    call()
    for (p, m, g), (p0, m0, g0) in zip(states, before, strict=True):
        m1 = np.float32(0.9) * m0 + np.float32(0.1) * g0
        np.testing.assert_allclose(m, m1, rtol=1e-6)
        np.testing.assert_allclose(p, p0 - np.float32(0.5) * m1, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(g, g0)


@pytest.mark.parametrize(
    "sizes", [[400_000, 5, 7], [5, 7, 400_000], [90_000, 200_000, 0, 33, 90_000], [1] * 9, [150_000] * 3]
)
@pytest.mark.parametrize("reducing", [True, False])
def test_long_and_short_jobs_are_shared_out(sizes: list[int], reducing: bool) -> None:
    kernel = squares("f8")
    if not reducing:
        kernel = kernel._replace(parameters=kernel.parameters[:2], body=kernel.body[:-1])
    rng = np.random.default_rng(6)
    for count in (1, 2, 3):
        jobs = [(rng.random(n), np.full(n + 1, -1.0), np.full((), np.nan)) for n in sizes]
        call = run_llvm.compile_kernel(kernel).bind(sizes, count)
        for j, job in enumerate(jobs):
            call.set_addresses(j, addresses(*job[: len(kernel.parameters)]))
        call()
        for x, y, total in jobs:
            np.testing.assert_array_equal(y[:-1], x * x)
            assert y[-1] == -1
            assert not reducing or abs(total - (x * x).sum()) <= 1e-12 * x.size


@pytest.mark.parametrize("n", [1, 5, 100, 3000])
def test_a_chain_and_its_gradient(n: int) -> None:
    """1000 times y = 0.9999 sin(y) + 1e-6 there, and the product of the slopes back."""
    forward = (
        Keep(0, 10, 0, ((0, 1),)), Compute(11, "sin", (10,), "f8"), Compute(12, "multiply", (11, 1), "f8"),
        Compute(13, "add", (12, 2), "f8"),
    )  # fmt: skip
    backward = (
        Recall(21, 0, 999, ((1, -1),)), Compute(22, "cos", (21,), "f8"), Compute(23, "multiply", (22, 1), "f8"),
        Compute(24, "multiply", (20, 23), "f8"),
    )  # fmt: skip
    body = (
        Load(0, 0), Constant(1, "f8", 0.9999), Constant(2, "f8", 1e-6), Constant(3, "f8", 1.0),
        Loop(0, 1000, ((10, 0, 13),), forward), Loop(1, 1000, ((20, 3, 24),), backward), Store(1, 20), Reduce(2, "add", 10),
    )  # fmt: skip
    grid, moving, still = ((n,), (8,), (0,)) if n > 1 else ((), (), ())
    kernel = Kernel(
        grid, (Parameter("f8", moving), Parameter("f8", moving), Parameter("f8", still)), (Scratch("f8", 1000),), body
    )
    x = np.random.default_rng(n).uniform(0.2, 1.2, n)
    y, g = x.copy(), np.ones(n)
    for _ in range(1000):
        g *= 0.9999 * np.cos(y)
        y = 0.9999 * np.sin(y) + 1e-6
    slope, total = np.empty(n), np.empty(())
    run_llvm.compile_kernel(kernel).run(addresses(x, slope, total), n, 2)
    np.testing.assert_allclose(slope, g, rtol=1e-10)
    np.testing.assert_allclose(total, y.sum(), rtol=1e-11)


def test_a_kernel_is_compiled_once() -> None:
    first = run_llvm.compile_kernel(adam())
    assert run_llvm.compile_kernel(adam()._replace(grid=(77,))) is first
    assert first.compile_ns > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_survive_a_fork() -> None:
    """A child starts threads of its own."""
    x = np.random.default_rng(3).uniform(0, 1, 1_000_003)
    y, total = np.empty_like(x), np.empty(())
    compiled = run_llvm.compile_kernel(squares("f8"))
    compiled.run(addresses(x, y, total), x.size, 2)
    want, total[()] = float(total), 0
    child = os.fork()
    if child == 0:
        compiled.run(addresses(x, y, total), x.size, 2)
        os._exit(0 if total == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    compiled.run(addresses(x, y, total), x.size, 2)
    assert total == want
