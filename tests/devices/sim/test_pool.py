"""Does the pool account as CuPy's does: best fit, 512-byte blocks, one arena per stream, free when the owner dies?"""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from gradviz.devices.protocol import LISTENER
from gradviz.devices.sim import PRESETS, SimDevice
from gradviz.errors import DeviceMemoryError, UnsupportedOnDeviceError


@pytest.fixture
def device() -> SimDevice:
    return SimDevice(replace(PRESETS["a100"], total_nbytes=1 << 20))


@pytest.fixture
def pool(device: SimDevice):
    return device.xp.get_default_memory_pool()


def test_sizes_are_rounded_up_to_blocks(device: SimDevice, pool) -> None:
    a = device.xp.empty(1, np.int8)
    b = device.xp.empty(513, np.int8)
    assert pool.used_bytes() == pool.total_bytes() == 512 + 1024
    assert device.owner(a).reserved_nbytes == 512
    assert device.owner(b).nbytes == 513


def test_memory_lives_as_long_as_the_last_array_on_it(device: SimDevice, pool) -> None:
    a = device.xp.zeros(100)
    view = a[10:].reshape(9, 10).T
    alive = weakref.ref(device.owner(a))
    del a
    assert pool.used_bytes() == 1024
    del view
    assert alive() is None
    assert (pool.used_bytes(), pool.free_bytes(), pool.n_free_blocks()) == (0, 1024, 1)


def test_temporaries_go_back_at_once(device: SimDevice, pool) -> None:
    a = device.xp.ones(64)
    for _ in range(10):
        _ = a * 2.0 + 1.0
    assert pool.total_bytes() <= 5 * 512


def test_a_free_block_is_used_again_at_the_same_address(device: SimDevice) -> None:
    a = device.xp.empty(64)
    pointer = a.data.ptr
    del a
    assert device.xp.empty(64).data.ptr == pointer


def test_the_smallest_block_that_fits_is_taken_and_split(device: SimDevice, pool) -> None:
    large, small = device.xp.empty(4096, np.int8), device.xp.empty(1024, np.int8)
    addresses = large.data.ptr, small.data.ptr
    del large, small
    a = device.xp.empty(600, np.int8)  # 1024 fits
    assert a.data.ptr == addresses[1]
    b = device.xp.empty(600, np.int8)  # only 4096 is left: split
    assert b.data.ptr == addresses[0]
    assert pool.n_free_blocks() == 1
    assert pool.free_bytes() == 3072
    c = device.xp.empty(3072, np.int8)
    assert c.data.ptr == addresses[0] + 1024
    assert pool.free_bytes() == 0


def test_split_blocks_are_merged_again(device: SimDevice, pool) -> None:
    whole = device.xp.empty(4096, np.int8)
    del whole
    parts = [device.xp.empty(1024, np.int8) for _ in range(4)]
    assert pool.total_bytes() == 4096
    for order in (2, 0, 1, 0):
        parts.pop(order)
    assert pool.n_free_blocks() == 1
    assert pool.free_bytes() == 4096
    assert device.xp.empty(4096, np.int8).nbytes == pool.total_bytes()


def test_only_whole_blocks_go_back_to_the_device(device: SimDevice, pool) -> None:
    block = device.xp.empty(2048, np.int8)
    del block
    part = device.xp.empty(512, np.int8)
    pool.free_all_blocks()
    assert pool.total_bytes() == 2048  # the free rest belongs to a block in use
    del part
    pool.free_all_blocks()
    assert (pool.total_bytes(), device.card.used_nbytes) == (0, 0)


def test_each_stream_has_its_arena(device: SimDevice, pool) -> None:
    a = device.xp.empty(64)
    del a
    with device.xp.cuda.Stream() as stream:
        b = device.xp.empty(64)
        assert pool.total_bytes() == 1024
        del b
    pool.free_all_blocks(stream)
    assert pool.total_bytes() == 512


def test_empty_arrays_take_nothing(device: SimDevice, pool) -> None:
    a, b = device.xp.empty(0), device.xp.empty((0, 3))
    assert pool.used_bytes() == 0
    assert device.owner(a) is not device.owner(b)
    assert weakref.ref(device.owner(a))() is not None


def test_a_hit_is_cheap_and_a_miss_is_not(device: SimDevice) -> None:
    preset = device.preset
    device.xp.empty(64)
    assert device.now_ns() == preset.malloc_ns
    device.xp.empty(64)
    assert device.now_ns() == preset.malloc_ns + preset.pool_hit_ns


def test_a_miss_waits_for_the_device_and_says_so() -> None:
    device = SimDevice(PRESETS["a100"])
    waits = []

    class Listener:
        def kernel(self, *_):
            pass

        transfer = alloc = kernel

        def sync(self, trigger, stream, start_ns, end_ns, nbytes, value):
            waits.append((trigger, end_ns - start_ns))

    token = LISTENER.set(Listener())
    try:
        a = device.xp.ones(1 << 22)
        busy_until = device.null_stream.ready_ns
        b = device.xp.empty(1 << 23)
    finally:
        LISTENER.reset(token)
    assert [trigger for trigger, _ in waits] == ["allocation"]
    assert waits[0][1] > 0
    assert device.now_ns() == busy_until + device.preset.malloc_ns
    assert device.counts.sync == 0  # nobody asked to wait
    assert a.nbytes < b.nbytes


def test_out_of_memory(device: SimDevice, pool) -> None:
    a = device.xp.empty(700_000, np.int8)
    with pytest.raises(
        DeviceMemoryError,
        match=r"Out of memory allocating 700,416 bytes \(allocated so far: 700,416 bytes, limit set to: 1,048,576 by",
    ):
        device.xp.empty(700_000, np.int8)
    with pytest.raises(MemoryError):
        device.xp.empty(700_000, np.int8)
    del a
    b = device.xp.empty(1_000_000, np.int8)  # makes room first
    assert pool.used_bytes() >= b.nbytes


def test_out_of_memory_collects_cycles_first(device: SimDevice) -> None:
    class Holder:
        pass

    gc.disable()
    try:
        holder = Holder()
        holder.me, holder.array = holder, device.xp.empty(700_000, np.int8)
        del holder
        assert device.xp.empty(900_000, np.int8).nbytes == 900_000
    finally:
        gc.enable()


def test_limits(device: SimDevice, pool) -> None:
    pool.set_limit(size=1024)
    assert pool.get_limit() == 1024
    keep = device.xp.empty(1024, np.int8)
    with pytest.raises(DeviceMemoryError, match="limit set to: 1,024"):
        device.xp.empty(1, np.int8)
    pool.set_limit(fraction=0.5)
    assert pool.get_limit() == 1 << 19
    pool.set_limit()
    assert pool.get_limit() == 0
    assert keep.nbytes == 1024
    with pytest.raises(ValueError, match="out of range"):
        pool.set_limit(fraction=2)
    with pytest.raises(ValueError, match="one time"):
        pool.set_limit(size=1, fraction=0.1)


def test_another_pool_for_a_while(device: SimDevice, pool) -> None:
    mine = device.xp.cuda.MemoryPool()
    with device.xp.cuda.using_allocator(mine.malloc):
        a = device.xp.empty(64)
    b = device.xp.empty(64)
    assert (mine.used_bytes(), pool.used_bytes()) == (512, 512)
    assert a.data.mem.pool is mine
    assert b.data.mem.pool is pool
    pointer = mine.malloc(100)
    assert int(pointer) == pointer.mem.ptr
    device.xp.cuda.set_allocator(mine.malloc)
    assert device.pool is mine
    device.xp.cuda.set_allocator()
    assert device.pool is pool
    with pytest.raises(UnsupportedOnDeviceError, match="pools only"):
        device.xp.cuda.set_allocator(lambda size: size)


def test_the_device_tells_its_memory(device: SimDevice) -> None:
    a = device.xp.empty(100_000, np.int8)
    free, total = device.xp.cuda.Device().mem_info
    assert total == 1 << 20
    assert total - free == device.card.used_nbytes >= a.nbytes
    assert device.xp.cuda.runtime.memGetInfo() == (free, total)


def test_the_listener_learns_of_each_allocation(device: SimDevice) -> None:
    born, dead = [], []

    class Listener:
        def alloc(self, owner, nbytes, reserved_nbytes, from_pool, time_ns):
            born.append((nbytes, reserved_nbytes, from_pool))
            weakref.finalize(owner, dead.append, nbytes)

        def kernel(self, *_):
            pass

        sync = transfer = kernel

    token = LISTENER.set(Listener())
    try:
        a = device.xp.zeros(10)
        b = a + 1.0
        del a
        assert dead == [80]
        c = b * 2.0
        del b, c
    finally:
        LISTENER.reset(token)
    assert born == [(80, 512, False), (80, 512, False), (80, 512, True)]
    assert dead == [80, 80, 80]
