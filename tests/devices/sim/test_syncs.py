"""Does every door through which a value reaches the host count as a wait, and nothing else?"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from gradviz.devices.protocol import LISTENER
from gradviz.devices.sim import SimArray, simulate
from gradviz.record.events import Direction, Reason, Trigger


class Heard:
    """A listener that writes everything down."""

    def __init__(self) -> None:
        self.kernels, self.syncs, self.transfers, self.allocs = [], [], [], []

    def kernel(self, name, stream, start_ns, end_ns, nbytes):
        assert start_ns < end_ns
        self.kernels.append((name, stream, start_ns, end_ns, nbytes))

    def sync(self, trigger, stream, start_ns, end_ns, nbytes, value):
        assert start_ns <= end_ns
        Trigger[trigger.upper()]
        self.syncs.append((trigger, value))

    def transfer(self, direction, reason, stream, start_ns, end_ns, nbytes):
        assert start_ns <= end_ns
        Direction[direction.upper()]
        Reason[reason.upper()]
        self.transfers.append((direction, reason, nbytes))

    def alloc(self, owner, nbytes, reserved_nbytes, from_pool, time_ns):
        self.allocs.append((owner, nbytes, reserved_nbytes, from_pool))


@pytest.fixture
def xp():
    return simulate("a100", fresh=True)


@pytest.fixture
def heard():
    listener = Heard()
    token = LISTENER.set(listener)
    yield listener
    LISTENER.reset(token)


DOORS = {
    "bool": (lambda a: bool(a[0] > 0), "bool", 1),
    "if": (lambda a: 1 if a[0] > 0 else 2, "bool", 1),
    "in": (lambda a: 1.0 in a, "bool", 1),
    "int": (lambda a: int(a[0]), "int", 1),
    "float": (lambda a: float(a[0]), "float", 1),
    "complex": (lambda a: complex(a[0]), "complex", 1),
    "round": (lambda a: a[0].item().__round__(), "item", 1),
    "item": (lambda a: a.sum().item(), "item", 1),
    "item of many": (lambda a: a.item(2), "item", 1),
    "tolist": (lambda a: a.tolist(), "tolist", 1),
    "get": (lambda a: a.get(), "get", 1),
    "get slice": (lambda a: a[::2].get(), "get", 1),
    "device.get": (lambda a: a.device.get(a), "get", 1),
    "asnumpy": (lambda a: a.device.xp.asnumpy(a), "get", 1),
    "tobytes": (lambda a: a.tobytes(), "get", 1),
    "pickle": (pickle.dumps, "get", 1),
    "repr": (repr, "print", 1),
    "str": (str, "print", 1),
    "format": (lambda a: f"{a[0]:.3f}", "print", 1),
    "array_repr": (np.array_repr, "print", 1),
    "array2string": (lambda a: np.array2string(a, precision=2), "print", 1),
    "mask get": (lambda a: a[a > 0], "mask", 1),
    "mask set": (lambda a: a.__setitem__(a > 0, 1.0), "mask", 1),
    "mask at": (lambda a: np.add.at(a, a > 0, 1.0), "mask", 1),
    "nonzero": (lambda a: a.nonzero(), "shape", 1),
    "np.nonzero": (np.nonzero, "shape", 1),
    "argwhere": (np.argwhere, "shape", 1),
    "flatnonzero": (np.flatnonzero, "shape", 1),
    "where 1": (lambda a: np.where(a > 0), "shape", 1),
    "unique": (np.unique, "shape", 1),
    "extract": (lambda a: np.extract(a > 0, a), "shape", 1),
    "compress": (lambda a: np.compress(a > 0, a), "shape", 1),
    "trim_zeros": (np.trim_zeros, "shape", 1),
    "delete": (lambda a: np.delete(a, 0), "shape", 1),
    "repeat": (lambda a: np.repeat(a, np.asarray([1, 2, 0, 1], like=a)), "item", 2),
    "bincount": (lambda a: np.bincount(a.astype(int)), "int", 2),
    "average": (lambda a: np.average(a, weights=a), "bool", 1),
    "nanmax": (np.nanmax, "bool", 1),
    "cond": (lambda a: np.linalg.cond(a.reshape(2, 2)), "bool", 1),
    "put raise": (lambda a: np.put(a, np.asarray([0], like=a), 1.0, mode="raise"), "bool", 1),
    "array_equal": (lambda a: np.array_equal(a, a, equal_nan=True), "bool", 1),
    "arange": (lambda a: a.device.xp.arange(a[1]), "item", 1),
    "set": (lambda a: a.set(np.zeros(4)), "pageable", 1),
    "device": (lambda a: a.device.xp.cuda.Device().synchronize(), "explicit", 1),
    "runtime": (lambda a: a.device.xp.cuda.runtime.deviceSynchronize(), "explicit", 1),
    "stream": (lambda a: a.device.xp.cuda.get_current_stream().synchronize(), "explicit", 1),
    "event": (lambda a: a.device.xp.cuda.get_current_stream().record().synchronize(), "explicit", 1),
}


@pytest.mark.parametrize("door", DOORS)
def test_doors(door: str, xp, heard: Heard) -> None:
    a = xp.asarray([1.0, 3.0, 2.0, 5.0])
    xp.device.counts.reset()
    heard.syncs.clear()
    enter, trigger, times = DOORS[door]
    enter(a)
    assert xp.device.counts.sync == times
    asked_for = [(name, value) for name, value in heard.syncs if name != "allocation"]
    assert len(asked_for) == times
    assert asked_for[0][0] == trigger
    assert [kind for kind, _ in xp.device.counts.log].count("sync") == times


QUIET = {
    "elementwise": lambda a: np.exp(a) * 2 - a / a.max(),
    "reductions": lambda a: (a.sum(), np.mean(a), a.argmax(), np.max(a, axis=0), a.std(), np.linalg.norm(a)),
    "views": lambda a: (a[1], a[::2], a[None], a.T, a.reshape(2, 2), np.broadcast_to(a, (3, 4)), np.expand_dims(a, 0)),
    "about": lambda a: (
        a.shape,
        len(a),
        a.dtype,
        a.strides,
        a.flags,
        np.shape(a),
        np.result_type(a),
        a.data,
        np.may_share_memory(a, a),
    ),
    "iteration": list,
    "where": lambda a: np.where(a > 1, a, 0.0),
    "copyto": lambda a: np.copyto(a, 0.0, where=a > 1),
    "products": lambda a: (a @ a, np.dot(a, a), np.tensordot(a, a, 1), np.einsum("i,j->ij", a, a), np.vdot(a, a)),
    "sorting": lambda a: (np.sort(a), np.argsort(a), np.median(a)),
    "linalg": lambda a: (
        np.linalg.inv(a.reshape(2, 2)),
        np.linalg.svd(a.reshape(2, 2)),
        np.linalg.slogdet(a.reshape(2, 2)),
    ),
    "fft": np.fft.fft,
    "gather": lambda a: (a[a.argsort()], np.take(a, a.argsort()), np.take_along_axis(a, a.argsort(), 0)),
    "scatter": lambda a: (a.__setitem__(a.argsort(), 1.0), np.add.at(a, a.argsort(), a)),
    "comparison": lambda a: (np.allclose(a, a), np.array_equal(a, a), a == a),
    "scalars": lambda a: a.__setitem__(0, 3.0),
    "joining": lambda a: (np.concatenate([a, a]), np.stack([a, a]), np.split(a, 2), np.pad(a, 1), np.roll(a, 1)),
    "making": lambda a: (np.zeros(3, like=a), np.zeros_like(a), a.device.xp.arange(3), a.device.xp.random.random(3)),
    "copying": lambda a: (a.copy(), copy.copy(a), a.astype("f4")),
    "scans": lambda a: np.cumsum(a, dtype="f4"),
    "repeat": lambda a: np.repeat(a, 2),
    "empty": lambda a: a[:0].sum(),
}


@pytest.mark.parametrize("operation", QUIET)
def test_what_needs_no_wait(operation: str, xp, heard: Heard) -> None:
    a = xp.asarray([1.0, 3.0, 2.0, 5.0])
    xp.device.counts.reset()
    QUIET[operation](a)
    assert xp.device.counts.sync == 0, xp.device.counts.log
    assert xp.device.counts.h2d == 0, xp.device.counts.log
    assert not [name for name, _ in heard.syncs if name != "allocation"]


def test_reductions_and_single_entries_stay_on_the_device(xp) -> None:
    a = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    for value in (
        a.sum(),
        np.sum(a),
        a[0, 1],
        np.max(a),
        a.mean(),
        np.linalg.norm(a),
        np.einsum("ij->", a),
        a[0] @ a[1],
    ):
        assert isinstance(value, SimArray)
        assert value.shape == ()
    a[0, 1][...] = 7.0  # a full index is a view
    assert a.get()[0, 1] == 7.0


def test_the_listener_hears_what_was_read(xp, heard: Heard) -> None:
    a = xp.asarray([1.5, 2.5])
    assert float(a[0]) == 1.5
    assert a.tolist() == [1.5, 2.5]
    host = a.get()
    (_, first), (_, second), (_, third) = heard.syncs
    assert (first, second) == (1.5, [1.5, 2.5])
    assert third is host
    assert heard.transfers == [
        ("host_to_device", "explicit", 16),
        ("device_to_host", "scalar_read", 8),
        ("device_to_host", "explicit", 16),
        ("device_to_host", "explicit", 16),
    ]


def test_the_listener_hears_kernels_and_allocations(xp, heard: Heard) -> None:
    a = xp.zeros(100)
    b = np.exp(a + 1.0)
    np.sum(b)
    np.add.reduce(b)
    a[...] = 3.0
    a[...] = b
    _ = xp.ones((2, 2)) @ xp.eye(2)
    names = [name for name, *_ in heard.kernels]
    assert names == ["fill", "add", "exp", "sum", "sum", "fill", "copy", "fill", "eye", "matmul"]
    assert heard.kernels[1][-1] == 1600  # read 800, wrote 800
    assert {stream for _, stream, *_ in heard.kernels} == {"default stream"}
    owners = [owner for owner, *_ in heard.allocs]
    assert owners[:3] == [xp.device.owner(a), owners[1], xp.device.owner(b)]
    assert [nbytes for _, nbytes, *_ in heard.allocs][:4] == [800, 800, 800, 8]
    assert [reserved for *_, reserved, _ in heard.allocs][:4] == [1024, 1024, 1024, 512]
    assert [from_pool for *_, from_pool in heard.allocs][:2] == [False, False]


def test_kernels_are_in_order_and_apart(xp, heard: Heard) -> None:
    a = xp.ones(10)
    for _ in range(5):
        a = a * 2.0
    for (_, _, _, end, _), (_, _, start, _, _) in zip(heard.kernels, heard.kernels[1:], strict=False):
        assert end <= start


def test_nothing_is_said_when_nobody_listens(xp) -> None:
    assert LISTENER.get() is None
    a = xp.ones(3)
    float(a.sum())
    assert (xp.device.counts.launch, xp.device.counts.sync, xp.device.counts.h2d) == (2, 1, 0)
    assert list(xp.device.counts.log) == [("launch", "fill"), ("launch", "sum"), ("sync", "float")]
    xp.device.counts.reset()
    assert repr(xp.device.counts) == "Counts(launch=0, sync=0, h2d=0)"


UPLOADS = {
    "asarray": (lambda a: a.device.asarray(np.ones(3)), "explicit"),
    "asarray of a list": (lambda a: a.device.xp.asarray([1.0]), "explicit"),
    "index list": (lambda a: a[[0, 1]], "constant_upload"),
    "index array": (lambda a: a[np.array([0, 1])], "constant_upload"),
    "index in a tuple": (lambda a: a[None, [0, 1]], "constant_upload"),
    "write through an index list": (lambda a: a.__setitem__([0, 1], 1.0), "constant_upload"),
    "add.at": (lambda a: a.device.xp.add.at(a, [0, 1], 1.0), "constant_upload"),
    "take": (lambda a: np.take(a, [0, 1]), "constant_upload"),
    "set": (lambda a: a.set(np.zeros(4)), "explicit"),
}


@pytest.mark.parametrize("upload", UPLOADS)
def test_uploads_are_counted_each_time(upload: str, xp, heard: Heard) -> None:
    a = xp.asarray([1.0, 3.0, 2.0, 5.0])
    move, reason = UPLOADS[upload]
    for _ in range(2):
        xp.device.counts.reset()
        heard.transfers.clear()
        move(a)
        assert xp.device.counts.h2d == 1
        assert [kind[:2] for kind in heard.transfers] == [("host_to_device", reason)]


def test_host_values_through_an_index_are_uploaded_too(xp) -> None:
    a = xp.zeros(4)
    xp.device.counts.reset()
    a[xp.asarray([0, 1])] = np.array([5.0, 6.0])
    assert xp.device.counts.h2d == 2
    assert a.tolist() == [5.0, 6.0, 0.0, 0.0]


def test_scalars_travel_with_the_kernel(xp) -> None:
    a = xp.ones(3)
    xp.device.counts.reset()
    for scalar in (2, 2.5, 1j, True, np.float32(2), np.int64(3)):
        _ = a * scalar
        _ = scalar + a
    a[0] = 4.0
    a[1:] = np.float64(2.0)
    xp.asarray(3.0)
    xp.full(3, 2.0)
    assert xp.device.counts.h2d == 0


def test_device_arrays_in_lists_are_stacked_where_they_are(xp) -> None:
    a = xp.ones(2)
    xp.device.counts.reset()
    assert xp.array([[a[0], a[1]], [a[1], a[0]]]).shape == (2, 2)
    assert xp.asarray([a, a]).shape == (2, 2)
    assert (xp.device.counts.sync, xp.device.counts.h2d) == (0, 0)
