"""Is everything caught that CuPy makes the host wait for, by its own doors, and are they put back?"""

from __future__ import annotations

import threading

import cupy
import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.cuda.doors import READS, doors, places
from gradviz.devices.protocol import listen
from gradviz.errors import ForbiddenError
from gradviz.record.events import Direction, Kind, Reason, Trigger
from tests.devices.cuda.host_memory import device


class Heard:
    """A listener that writes everything down."""

    def __init__(self):
        self.syncs, self.transfers, self.allocs, self.compilations = [], [], [], []

    def place(self):
        return -1

    def kernel(self, *args):
        raise AssertionError("nothing runs on a GPU here")

    def sync(self, trigger, stream, start_ns, end_ns, nbytes, value, place=None):
        assert start_ns <= end_ns
        Trigger[trigger.upper()]
        self.syncs.append((trigger, nbytes))

    def transfer(self, direction, reason, stream, start_ns, end_ns, nbytes):
        assert start_ns <= end_ns
        self.transfers.append((Direction[direction.upper()].name.lower(), Reason[reason.upper()].name.lower(), nbytes))

    def alloc(self, owner, nbytes, reserved_nbytes, from_pool, time_ns):
        self.allocs.append((owner, nbytes))

    def compiled(self, name, start_ns, end_ns):
        self.compilations.append(name)


@pytest.fixture
def heard():
    listener = Heard()
    with listen(listener):
        yield listener


@pytest.fixture
def a():
    return device(np.arange(1.0, 7.0).reshape(2, 3))


SCALARS = {
    "float": lambda x: float(x), "int": lambda x: int(x), "bool": lambda x: bool(x), "complex": lambda x: complex(x),
    "item": lambda x: x.item(),
}  # fmt: skip
WHOLES = {
    "get": lambda a: a.get(), "asnumpy": lambda a: cupy.asnumpy(a), "tolist": lambda a: a.tolist(), "repr": lambda a: repr(a),
    "str": lambda a: str(a), "tobytes": lambda a: a.tobytes(), "dumps": lambda a: a.dumps(),
}  # fmt: skip
TRIGGERS = {"asnumpy": "get", "repr": "print", "str": "print", "tobytes": "get", "dumps": "get"}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name, a, heard):
    assert SCALARS[name](a[0, 0]) == 1
    assert heard.syncs == [(name, 8)]
    assert heard.transfers == [("device_to_host", "scalar_read", 8)]


@pytest.mark.parametrize("name", WHOLES)
def test_whole_arrays(name, a, heard):
    WHOLES[name](a)
    trigger = TRIGGERS.get(name, name)
    assert heard.syncs == [(trigger, 48)]
    assert heard.transfers == [("device_to_host", "explicit" if trigger == "get" else "scalar_read", 48)]


def test_an_if_is_a_wait(a, heard):
    assert (1 if a[0, 0] else 2) == 1
    assert heard.syncs == [("bool", 8)]


def test_formats(a, heard):
    assert f"{a[0, 0]:.1f}" == "1.0"
    assert heard.syncs == [("print", 8)]


def test_nothing_is_copied_of_nothing(heard):
    cupy.ndarray((0, 3)).get()
    assert not heard.syncs
    assert not heard.transfers


def test_what_does_not_wait(a, heard):
    _ = a.shape, len(a), a.T, a[0], list(a), a.reshape(3, 2), np.broadcast_to(a, (2, 2, 3)), a.flags, a.data.ptr
    _ = cupy.may_share_memory(a, a[1:])
    assert not heard.syncs


def test_a_read_inside_a_function_that_must_know_a_size_is_a_shape(a, heard):
    array = a[0, 0]

    def answer(self, func, types, args, kwargs):
        return int(array)

    doors_of = {name: wrapper for owner, name, wrapper in places(cupy) if owner is cupy.ndarray}
    inside = doors_of["__array_function__"](answer)
    assert inside(a, np.nonzero, (), (), {}) == 1
    assert inside(a, np.sum, (), (), {}) == 1
    assert [trigger for trigger, _ in heard.syncs] == ["shape", "int"]


def test_a_read_inside_an_index_is_a_mask(a, heard):
    doors_of = {name: wrapper for owner, name, wrapper in places(cupy) if owner is cupy.ndarray}
    doors_of["__getitem__"](lambda self, index: int(self[0, 0]))(a, None)
    assert heard.syncs == [("mask", 8)]


def test_streams_and_events(monkeypatch, heard):
    stream = cupy.cuda.Stream.null
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        stream.synchronize()
    assert not heard.syncs  # it failed before it waited
    # the door of an event is that of a class whose instances need a driver, so an instance is made without one
    event = cupy.cuda.Event.__new__(cupy.cuda.Event)
    event.ptr = 0
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        event.synchronize()
    for _owner, name, wrapper in places(cupy):
        if name == "synchronize":
            wrapper(lambda self: None)(stream)
    assert heard.syncs == [("explicit", 0)] * 2


def test_the_device_announces_its_wait(heard):
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.cuda.Device(0).synchronize()
    (door,) = [vars(owner)[name] for owner, name, _ in places(cupy) if name == "_declare_synchronize"]
    assert door.__wrapped__.__module__ == "cupy._core.syncdetect"


def test_get_announces_itself_once(a, heard):
    """CuPy's own ``get`` declares a wait as well; it must not count twice."""
    own = next(wrapper for owner, name, wrapper in places(cupy) if name == "get")
    declare = next(wrapper for owner, name, wrapper in places(cupy) if name == "_declare_synchronize")(lambda: None)

    def theirs(self, stream=None, order="C", out=None, blocking=True):
        declare()
        return np.zeros(self.shape)

    own(theirs)(a)
    assert heard.syncs == [("get", 48)]


def test_a_copy_into_pinned_memory_need_not_wait(a, heard):
    a.get(out=np.zeros((2, 3)), blocking=False)
    assert [what for what, *_ in heard.transfers] == ["device_to_host"]
    assert not heard.syncs
    a.get(blocking=False)  # into new memory, which is pageable
    assert heard.syncs == [("get", 48)]


def test_set_waits(a, heard):
    (door,) = [wrapper for owner, name, wrapper in places(cupy) if name == "set"]
    door(lambda self, arr, stream: None)(a, np.zeros((2, 3)))
    assert heard.transfers == [("host_to_device", "explicit", 48)]
    assert heard.syncs == [("pageable", 48)]


def test_the_compiler(heard):
    with pytest.raises(Exception):  # noqa: B017, PT011 - which error comes depends on what of the toolkit is there
        cupy.RawKernel('extern "C" __global__ void f() {}', "f").compile()
    (door,) = [wrapper for owner, name, wrapper in places(cupy) if name == "_compile_module_with_cache"]
    heard.compilations.clear()
    door(lambda source: source)("source")
    assert heard.compilations == ["kernel"]


def test_every_door_is_where_cupy_looks():
    """Each is an attribute that CuPy has, and one that Python may replace."""
    for owner, name, wrapper in places(cupy):
        assert callable(getattr(owner, name)), name
        assert callable(wrapper(getattr(owner, name)))
    assert {name for _, name, _ in places(cupy)} >= {*READS, "get", "set", "synchronize", "_declare_synchronize"}


def snapshot():
    return [(owner, name, vars(owner).get(name)) for owner, name, _ in places(cupy)], cupy.cuda.memory.get_allocator()


@pytest.mark.parametrize("fails", [False, True])
def test_all_is_put_back(fails):
    before = snapshot()
    try:
        with listen(Heard()), listen(Heard()):
            assert snapshot() != before
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert snapshot() == before
    assert not doors._replaced


def test_what_others_put_over_a_door_stays():
    own = cupy.ndarray.set
    with listen(Heard()):
        ours = cupy.ndarray.set
        cupy.ndarray.set = theirs = lambda self, *args: ours(self, *args)
    assert cupy.ndarray.set is theirs
    cupy.ndarray.set = own


def test_nobody_listens_nothing_is_replaced(a):
    assert "__float__" not in vars(cupy.ndarray)
    gv.grad(lambda x: np.sum(x * x))(a)
    assert "__float__" not in vars(cupy.ndarray)


def test_each_thread_tells_its_own_listener(a):
    mine, theirs = Heard(), Heard()

    def read():
        with listen(theirs):
            float(a[0, 0])

    with listen(mine):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        assert not mine.syncs
        float(a[0, 0])
        float(a[0, 1])
    assert (len(mine.syncs), len(theirs.syncs)) == (2, 1)


def test_a_thread_that_starts_while_a_profile_is_open_is_recorded(a):
    with gv.profile() as p:
        thread = threading.Thread(target=lambda: float(a[0, 0]))
        thread.start()
        thread.join()
    assert p.trace.syncs["trigger"].tolist() == [Trigger.FLOAT]


def reads_in_its_pullback():
    @gv.rule
    def double(x):
        return x * 2.0

    @double.pullback
    def double_to_x(ct, x):
        float(np.sum(ct))
        return ct * 2.0

    return lambda x: np.sum(double(x))


def test_a_wait_stands_in_its_pullback_at_the_users_line(a):
    with gv.profile() as p:
        gv.grad(reads_in_its_pullback())(a)
    trace = p.trace
    (event,) = trace.syncs["event"]
    assert trace.name(trace.events["parent"][event]) == "double › x"
    assert trace.text(trace.sites["text_str"][trace.events["site"][event]]) == "return lambda x: np.sum(double(x))"
    assert trace.syncs["on_device"].tolist() == [1]
    assert not trace.meta["simulated"]
    assert trace.meta["devices"] == ["cuda:0"]


def test_waits_can_be_forbidden(a):
    gradient = gv.grad(reads_in_its_pullback())
    with gv.forbid("host_sync", inside="pullback"):
        float(a[0, 0])
        with pytest.raises(ForbiddenError, match=r"host_sync \(float\).*test_doors.py:\d+, in a pullback"):
            gradient(a)
    with gv.forbid("host_sync", level="disallow"):
        a.get()
        with pytest.raises(ForbiddenError):
            float(a[0, 0])


def test_a_gradient_without_waits_has_none(a):
    with gv.profile() as p, gv.forbid("host_sync"), gv.forbid("transfer"):
        gv.grad(lambda x: np.sum(np.sin(x) * np.einsum("ij,kj->ik", x, x)[0, 0]))(a)
    assert not len(p.trace.syncs["event"])
    assert (p.trace.events["kind"] == Kind.PULLBACK).sum() > 4
