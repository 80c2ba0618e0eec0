"""Does the clock add up: launches, waits, transfers, allocations and streams, as the model says?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gradviz.devices.protocol import LISTENER
from gradviz.devices.sim import PRESETS, SimDevice
from gradviz.devices.sim.clock import Clock

# Round numbers, so that sums can be done in the head.
ROUND = replace(
    PRESETS["a100"],
    bandwidth_bytes_per_s=1e9,
    link_bytes_per_s=1e9,
    staging_bytes_per_s=1e9,
    double_flops_per_s=1e9,
    vector_double_flops_per_s=1e9,
    single_flops_per_s=2e9,
    vector_single_flops_per_s=2e9,
    half_flops_per_s=4e9,
    ufunc_ns=10,
    reduction_ns=20,
    product_ns=30,
    solver_ns=40,
    fft_ns=50,
    view_ns=0,
    launch_ns=5,
    kernel_floor_ns=7,
    solver_column_ns=1000,
    sync_ns=3,
    download_ns=8,
    upload_ns=6,
    pool_hit_ns=0,
    malloc_ns=0,
    timed_event_ns=0,
    event_ns=0,
)


@dataclass
class Queue:
    ready_ns: int = 0
    null: bool = False
    blocking: bool = True


@pytest.fixture
def null() -> Queue:
    return Queue(null=True)


@pytest.fixture
def clock(null: Queue) -> Clock:
    return Clock(ROUND, null)


@pytest.fixture
def device() -> SimDevice:
    return SimDevice(ROUND)


def durations_ns(call) -> list[int]:
    """How long each kernel of a call ran."""

    class Listener:
        def __init__(self) -> None:
            self.found: list[int] = []

        def kernel(self, name, stream, start_ns, end_ns, nbytes):
            self.found.append(end_ns - start_ns)

        def sync(self, *_):
            pass

        transfer = alloc = sync

    listener = Listener()
    token = LISTENER.set(listener)
    try:
        call()
    finally:
        LISTENER.reset(token)
    return listener.found


def test_a_launch_costs_the_host_its_own_time_and_starts_when_it_has_arrived(clock: Clock, null: Queue) -> None:
    assert clock.launch(null, host_ns=10, device_ns=100) == (15, 115)
    assert clock.host_ns == 10
    assert clock.launch(null, host_ns=10, device_ns=100) == (115, 215)  # the stream is busy
    assert clock.host_ns == 20
    clock.spend(1000)
    assert clock.launch(null, host_ns=10, device_ns=100) == (1035, 1135)  # the stream was idle


def test_no_kernel_is_shorter_than_the_floor(clock: Clock, null: Queue) -> None:
    assert clock.launch(null, host_ns=0, device_ns=1) == (5, 12)


def test_a_wait_moves_the_host_to_the_stream(clock: Clock, null: Queue) -> None:
    clock.launch(null, 10, 100)
    assert clock.wait(null.ready_ns) == (10, 118)
    assert clock.wait(null.ready_ns) == (118, 121)  # nothing to wait for, but the call costs


def test_a_download_waits_moves_and_costs(clock: Clock, null: Queue) -> None:
    clock.launch(null, 10, 100)
    moved, stood = clock.download(null, 50)
    assert moved == (115, 115 + 8 + 50)
    assert stood == (10, 115 + 8 + 50 + 3)
    assert clock.host_ns == stood.end_ns


def test_an_upload_does_not_wait(clock: Clock, null: Queue) -> None:
    clock.launch(null, 10, 1000)
    assert clock.upload(null, 50) == (1015, 1065)
    assert clock.host_ns == 10 + 6 + 50


def test_an_upload_from_pageable_memory_waits(clock: Clock, null: Queue) -> None:
    clock.launch(null, 10, 1000)
    moved, stood = clock.upload_pageable(null, 50)
    assert moved == (1015, 1015 + 6 + 50)
    assert stood == (10, 1071)
    assert clock.host_ns == 1071


def test_the_drivers_allocator_waits_for_the_device(null: Queue, clock: Clock) -> None:
    clock.preset = replace(ROUND, malloc_ns=100)
    clock.launch(null, 10, 1000)
    assert clock.malloc() == (10, 1015)
    assert clock.host_ns == 1115


def test_the_default_stream_and_blocking_streams_wait_for_each_other(clock: Clock, null: Queue) -> None:
    a, b = Queue(), Queue()
    assert clock.launch(a, 0, 100) == (5, 105)
    assert clock.launch(b, 0, 100) == (5, 105)  # side by side
    assert clock.launch(null, 0, 100) == (105, 205)
    assert clock.launch(a, 0, 100) == (205, 305)


def test_non_blocking_streams_go_their_own_way(clock: Clock, null: Queue) -> None:
    free = Queue(blocking=False)
    clock.launch(null, 0, 100)
    assert clock.launch(free, 0, 1000) == (5, 1005)
    assert clock.launch(null, 0, 100) == (105, 205)
    assert clock.wait_for_all() == (0, 1008)


def test_a_stream_can_be_held(clock: Clock) -> None:
    a = Queue()
    clock.hold(a, 500)
    assert clock.launch(a, 0, 100) == (500, 600)


def test_bytes_and_flops_make_the_device_time(device: SimDevice) -> None:
    a, b = device.xp.ones(1000), device.xp.ones((100, 100))
    assert durations_ns(lambda: a + a) == [24_000]  # reads 8000 twice, writes 8000, at 1 byte a nanosecond
    assert durations_ns(lambda: b @ b) == [2_000_000]  # 2 · 100³ flops, at one a nanosecond


FLOPS = [
    (lambda a: a @ a, "float64", 2 * 64**3),
    (lambda a: a @ a, "float32", 64**3),
    (lambda a: a @ a, "float16", 64**3 / 2),
    (lambda a: a @ a, "complex128", 8 * 64**3),
    (lambda a: a @ a, "complex64", 4 * 64**3),
    (lambda a: np.einsum("ij,jk->ik", a, a), "float64", 2 * 64**3),
    (lambda a: np.tensordot(a, a, 1), "complex128", 8 * 64**3),
    (lambda a: np.fft.fft(a), "complex128", 2 * 16 * 64**2),  # bytes, more than 5 · 64² · log₂ 64
    (lambda a: np.linalg.cholesky(a), "float64", 64**3 / 3),
    (lambda a: np.linalg.inv(a), "float64", 2 * 64**3),
    (lambda a: np.linalg.solve(a, a), "float64", 64**3 * (2 / 3 + 2)),
    (lambda a: np.linalg.eigh(a), "float64", 9 * 64**3),
    (lambda a: np.linalg.svd(a), "float64", 21 * 64**3),
    (lambda a: np.linalg.qr(a), "float64", 64**3 * 8 / 3),
    (lambda a: np.linalg.slogdet(a), "complex128", 4 * 64**3 * 2 / 3),
    (lambda a: np.exp(a), "float64", 20 * 64**2),
]


@pytest.mark.parametrize(("call", "dtype", "device_ns"), FLOPS)
def test_what_functions_cost(call, dtype: str, device_ns: float) -> None:
    xp = SimDevice(replace(ROUND, solver_column_ns=0)).xp
    a = xp.eye(64, dtype=dtype)
    (found_ns,) = durations_ns(lambda: call(a))
    assert found_ns == pytest.approx(device_ns, abs=1)


def test_a_factorization_takes_a_step_for_each_column(device: SimDevice) -> None:
    a = device.xp.eye(4)
    assert durations_ns(lambda: np.linalg.cholesky(a)) == [4000]


@pytest.mark.parametrize(
    ("call", "host_ns"),
    [(np.exp, 10), (np.sum, 20), (np.add.reduce, 20), (lambda a: a @ a, 30), (np.linalg.inv, 40), (np.fft.fft, 50)],
)
def test_host_time_by_kind(device: SimDevice, call, host_ns: int) -> None:
    a = device.xp.ones((2, 2))
    call(a)  # the pool has a block now
    before = device.now_ns()
    call(a)
    assert device.now_ns() - before == host_ns


def test_layout_copies_are_kernels_of_their_own(device: SimDevice) -> None:
    xp = device.xp
    a, b = xp.ones((3, 4, 5)), xp.ones((4, 6))

    def kernels(call) -> list[str]:
        device.counts.reset()
        call()
        return [name for _, name in device.counts.log]

    assert kernels(lambda: np.einsum("abc,cd->abd", a, xp.ones((5, 2)))) == ["fill", "matmul"]
    assert kernels(lambda: np.einsum("abc,bd->acd", a, b)) == ["copy", "matmul"]
    assert kernels(lambda: np.tensordot(a, b, ([1], [0]))) == ["copy", "matmul"]
    assert kernels(lambda: b.T @ b) == ["matmul"]  # BLAS takes either order
    assert kernels(lambda: b[::2, ::2] @ b.T[::2][:3]) == ["copy", "copy", "matmul"]
    assert kernels(lambda: np.einsum("ab,b->a", b, xp.ones(6))) == ["fill", "matmul"]
    assert kernels(lambda: np.einsum("ab->a", b)) == ["sum"]


def test_streams_overlap_and_events_measure(device: SimDevice) -> None:
    xp = device.xp
    a, out = xp.ones(1000), xp.empty(1000)
    one, two = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    assert (one.name, two.name) == ("stream 1", "stream 2")
    assert xp.cuda.get_current_stream() is device.null_stream
    with one:
        start = one.record()
        np.add(a, a, out=out)
        stop = one.record()
        with two:
            assert xp.cuda.get_current_stream() is two
            np.add(a, a, out=out)
        assert xp.cuda.get_current_stream() is one
    assert 24_000 < one.ready_ns < 48_000
    assert two.ready_ns - one.ready_ns < 100  # side by side
    assert not one.done
    assert not stop.done
    one.synchronize()
    assert one.done
    assert stop.done
    assert xp.cuda.get_elapsed_time(start, stop) == pytest.approx(0.024, rel=0.01)
    two.wait_event(stop)
    assert isinstance(one, xp.cuda.Stream)
    assert one.is_non_blocking
    with pytest.raises(ValueError, match="disable_timing"):
        xp.cuda.get_elapsed_time(start, xp.cuda.Event(disable_timing=True))


def test_use_changes_the_stream_of_the_thread(device: SimDevice) -> None:
    mine = device.xp.cuda.Stream().use()
    assert device.xp.cuda.get_current_stream() is mine
    assert SimDevice(ROUND).xp.cuda.get_current_stream() is not mine
    device.null_stream.use()
    assert device.xp.cuda.get_current_stream() is device.null_stream


def test_device_synchronize_waits_for_all_streams(device: SimDevice) -> None:
    a = device.xp.ones(1000)
    with device.xp.cuda.Stream(non_blocking=True) as side:
        _ = a + a
    device.xp.cuda.Device(0).synchronize()
    assert device.now_ns() == side.ready_ns + ROUND.sync_ns


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_plausible(name: str) -> None:
    preset = PRESETS[name]
    assert preset.name == name
    assert preset.link_bytes_per_s < preset.bandwidth_bytes_per_s / 10
    assert preset.half_flops_per_s > preset.single_flops_per_s >= preset.double_flops_per_s
    assert preset.vector_double_flops_per_s <= preset.double_flops_per_s
    with pytest.raises(AttributeError):
        preset.sync_ns = 0  # type: ignore[misc]
