"""Do scalar read-backs in a pullback cost on the simulated GPU what people reported of real ones?

TensorOperations.jl#235: ten contractions ``abc,cd->abd`` of complex128 with D = 32 took 370 ms with the cotangents of α
and β read back, 92 ms without: a factor of 4.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.devices.sim import Namespace, simulate

D, CONTRACTIONS = 32, 10


def gradient(As: list, Bs: list, reads: bool) -> list[tuple]:
    """Cotangents of all ``A`` and ``B`` for ``real(vdot(C, C))`` summed over ``C = A·B``."""
    Cs = [np.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)]
    grads = []
    for A, B, C in zip(As, Bs, Cs, strict=True):
        ct = 2.0 * C
        if reads:
            complex(np.vdot(np.einsum("abc,cd->abd", A, B), ct))  # the cotangent of α
            complex(np.vdot(C, ct))  # the cotangent of β
        grads.append((np.einsum("abd,cd->abc", ct, np.conj(B)), np.einsum("abc,abd->cd", np.conj(A), ct)))
    return grads


def measured(xp: Namespace, reads: bool) -> tuple[int, int]:
    """Simulated nanoseconds and waits of one gradient, once the pool has all that it needs."""
    rng = np.random.default_rng(0)

    def random(*shape: int):
        return xp.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))

    As, Bs = [random(D, D, D) for _ in range(CONTRACTIONS)], [random(D, D) for _ in range(CONTRACTIONS)]
    gradient(As, Bs, reads)
    xp.cuda.Device().synchronize()
    xp.device.counts.reset()
    start_ns = xp.device.now_ns()
    gradient(As, Bs, reads)
    waits = xp.device.counts.sync
    xp.cuda.Device().synchronize()
    return xp.device.now_ns() - start_ns, waits


def test_reading_scalars_back_makes_a_gradient_several_times_as_long() -> None:
    slow_ns, slow_waits = measured(simulate("a100", fresh=True), reads=True)
    fast_ns, fast_waits = measured(simulate("a100", fresh=True), reads=False)
    assert (slow_waits, fast_waits) == (2 * CONTRACTIONS, 0)
    assert 2.5 < slow_ns / fast_ns < 6


@pytest.mark.alone
def test_an_operation_on_a_small_array_is_quick() -> None:
    from time import perf_counter

    xp = simulate("a100", fresh=True)
    x, m = xp.ones(4), xp.ones((3, 3))
    operations = [
        lambda: x + x,
        lambda: np.exp(x),
        lambda: x.sum(),
        lambda: x[1:3],
        lambda: np.where(x, x, 0.0),
        lambda: np.zeros_like(x),
        lambda: m @ m,
        lambda: np.einsum("ij,jk->ik", m, m),
        lambda: x.reshape(2, 2),
    ]
    for operate in operations:
        operate()
    best = []
    for operate in operations:
        times = []
        for _ in range(5):
            start = perf_counter()
            for _ in range(100):
                operate()
            times.append((perf_counter() - start) / 100)
        best.append(min(times))
    assert sorted(best)[len(best) // 2] < 150e-6  # 8 µs on a quiet machine
