"""CUDA C run on the host and NumPy agree on kernels drawn at random, and on sums that are cut into many chunks."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gradviz.plan.cuda.emit import emit
from gradviz.plan.cuda.passes import plan
from gradviz.plan.kernels.kernel import Kernel, Load, Parameter, Reduce
from tests.plan.cuda.host_gpu import Engine
from tests.plan.kernels.random_kernels import Draw
from tests.plan.kernels.test_random_kernels import agree

SEEDS = range(120)


def test_cuda_and_numpy_agree() -> None:
    drawn = [Draw(random.Random(seed), aligned=True).draw() for seed in SEEDS]
    engine = Engine({d.kernel for d in drawn})
    for seed, d in zip(SEEDS, drawn, strict=True):
        try:
            agree(d, engine)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {d.kernel}") from error


SUMS = [(dtype, shape, kept) for dtype in ("f8", "f4", "c16") for shape, kept in (
    ((200_000,), ()), ((300, 70), (0,)), ((40_000, 5), (1,)), ((64, 33, 40), (1,)), ((30, 40, 50), (0, 2)), ((3, 2000), ()),
)]  # fmt: skip


def kernel_of(dtype: str, shape: tuple[int, ...], kept: tuple[int, ...]) -> Kernel:
    strides = np.empty(shape, dtype).strides
    out = np.empty([shape[a] for a in kept], dtype).strides
    moved = [0] * len(shape)
    for a, s in zip(kept, out, strict=True):
        moved[a] = s
    return Kernel(
        shape, (Parameter(dtype, strides), Parameter(dtype, tuple(moved))), (), (Load(0, 0), Reduce(1, "add", 0))
    )


@pytest.fixture(scope="module")
def sums() -> Engine:
    return Engine({kernel_of(*case) for case in SUMS})


@pytest.mark.parametrize(("dtype", "shape", "kept"), SUMS)
def test_sums(sums: Engine, dtype: str, shape: tuple[int, ...], kept: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    out = np.empty([shape[a] for a in kept], dtype)
    sums.compile_kernel(kernel_of(dtype, shape, kept)).run([x.ctypes.data, out.ctypes.data], shape[0])
    want = x.astype("c16" if dtype[0] == "c" else "f8").sum(tuple(a for a in range(len(shape)) if a not in kept))
    scale = np.abs(x).sum() / max(out.size, 1)
    np.testing.assert_allclose(out, want, rtol=0, atol=scale * (1e-6 if dtype == "f4" else 1e-14))


def test_a_long_sum_is_cut_and_a_short_one_is_not() -> None:
    for shape, count in (((1000,), 1), ((10_000_000,), 2)):
        kernel = kernel_of("f8", shape, ())
        source = emit(kernel, "k")
        made = plan(kernel, source.passes, source.names, [shape[0]], 256)
        assert len(made.launches) == count
        assert (made.launches[0].chunks > 1) == (count == 2)
