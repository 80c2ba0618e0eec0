"""Is memory known by a number of its own, watched until it dies, and are uploads into it seen?"""

from __future__ import annotations

import ctypes
import gc

import cupy
import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.cuda.allocations import classes
from gradviz.devices.find import device, device_of
from gradviz.devices.protocol import listen
from tests.devices.cuda import host_memory
from tests.devices.cuda.test_doors import Heard


@pytest.fixture
def heard():
    listener = Heard()
    with listen(listener):
        yield listener


def test_every_allocation_is_told_with_its_size(heard):
    a = cupy.ndarray((2, 3))
    b = cupy.ndarray(5, np.float32)
    assert [nbytes for _, nbytes in heard.allocs] == [48, 20]
    assert [a.data.mem, b.data.mem] == [owner for owner, _ in heard.allocs]


def test_numbers_are_never_used_again(heard):
    serials = [cupy.ndarray(3).data.mem.serial for _ in range(5)]
    assert len(set(serials)) == 5


def test_views_share_the_number_and_stay_watched(heard):
    a = cupy.ndarray((2, 3))
    for view in (a[1:], a.T, a.ravel(), a[0], a[::-1], cupy.broadcast_to(a, (4, 2, 3)), a.real):
        assert view.data.mem.serial == a.data.mem.serial
        assert isinstance(view.data, classes(cupy)[1])


def test_memory_lives_as_long_as_its_last_view():
    with gv.profile() as p:
        a = host_memory.device(np.zeros((2, 3)))
        gv.grad(np.sum)(a)
        view = a[1:]
        del a
        gc.collect()
        alive = p.trace.buffers["free_ns"] < 0
        assert alive.sum() == 1
        del view
        gc.collect()
        np.sum(np.ones(2))
    assert (p.trace.buffers["free_ns"] >= 0).all()


def test_nothing_is_allocated_for_nothing(heard):
    cupy.ndarray((0, 3))
    assert not heard.allocs


def test_an_upload_is_seen_where_it_lands(heard, monkeypatch):
    """CuPy's compiled code asks the pointer to copy, so that a subclass is asked."""
    _, Pointer, _ = classes(cupy)
    copied = []
    a = cupy.ndarray(3)
    source = np.arange(3.0)
    with pytest.raises(
        cupy.cuda.runtime.CUDARuntimeError
    ):  # copy_from dispatches to copy_from_host, which needs the driver
        a.data.copy_from(ctypes.c_void_p(source.ctypes.data), source.nbytes)
    monkeypatch.setattr(Pointer, "copy_from_host", lambda self, mem, size: copied.append(size))
    monkeypatch.setattr(Pointer, "copy_from_host_async", lambda self, mem, size, stream=None: copied.append(-size))
    a.data.copy_from(source.ctypes.data, source.nbytes)
    a[1:].data.copy_from_async(source.ctypes.data, 8)
    assert copied == [24, -8]


def test_uploads_are_told(heard):
    from gradviz.devices.cuda.allocations import uploading
    from gradviz.devices.cuda.passing import PASSING

    uploading(cupy, lambda mem, size: None, 0, 24)
    PASSING.indexing = True
    uploading(cupy, lambda mem, size, stream: None, 0, 8, cupy.cuda.Stream.null)
    PASSING.indexing = False
    with PASSING.alone():
        uploading(cupy, lambda mem, size: None, 0, 24)
    assert heard.transfers == [("host_to_device", "explicit", 24), ("host_to_device", "constant_upload", 8)]


def test_an_allocator_set_meanwhile_is_kept():
    mine = lambda size: host_memory.allocate(size)  # noqa: E731
    with listen(Heard()):
        cupy.cuda.set_allocator(mine)
    assert cupy.cuda.memory.get_allocator() is mine


def test_allocators_for_a_while_are_watched_too(heard):
    asked = []

    def allocate(size):
        asked.append(size)
        return host_memory.allocate(size)

    with cupy.cuda.using_allocator(allocate):
        cupy.ndarray(3)
    assert asked == [24]
    assert [nbytes for _, nbytes in heard.allocs] == [24]


def test_a_profile_inside_an_allocator_for_a_while():
    with cupy.cuda.using_allocator(host_memory.allocate):
        listener = Heard()
        with listen(listener):
            cupy.ndarray(3)
        assert cupy.cuda.memory.get_allocator() is host_memory.allocate
    assert [nbytes for _, nbytes in listener.allocs] == [24]
    assert cupy.cuda.memory.get_allocator() is host_memory.allocate


def test_a_miss_of_the_pool_is_told(heard):
    """CuPy's pool calls the hooks of the thread when it asks the driver; it needs one, so this allocator does as it does."""
    hooks = cupy.cuda.memory_hook.get_memory_hooks

    def allocate(size):
        for hook in hooks().values() if size > 100 else ():
            hook.alloc_preprocess(device_id=0, mem_size=512)
            hook.alloc_postprocess(device_id=0, mem_size=512, mem_ptr=1)
        return host_memory.allocate(size)

    with cupy.cuda.using_allocator(allocate):
        cupy.ndarray(100)
        cupy.ndarray(3)
    assert heard.syncs == [("allocation", 800)]
    assert not hooks()


def test_devices():
    a = host_memory.device(np.zeros(3))
    there = device_of(a)
    assert there is device("cuda") is device("cuda:0")
    assert (there.name, there.simulated, there.stopwatch()) == ("cuda:0", False, None)
    assert (there.total_nbytes, there.bandwidth_bytes_per_s) == (0, 0)  # no driver to ask
    assert there.owner(a[1:]) is a
    assert there.owner(a) is a
    np.testing.assert_array_equal(there.get(a), np.zeros(3))
    assert isinstance(a, there.array_types)
