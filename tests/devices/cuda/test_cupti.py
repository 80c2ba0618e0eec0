"""Is what CUPTI tells laid beside what the doors saw, and are its records what we take them for?

Listening needs a driver; what CUPTI really tells is checked by ``tests/gpu``. CuPy 13's environment has no CUPTI, CuPy 14's has.
"""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import gradviz as gv
from gradviz.devices.cuda.cupti import KINDS, Cupti, join, read
from gradviz.devices.cuda.passing import PASSING, Passing
from gradviz.errors import DeviceError, MissingPackageError
from gradviz.report.recording import OPEN

CUPTI = find_spec("cupti")


if CUPTI is None:

    def test_without_the_package():
        with pytest.raises(MissingPackageError, match=r"gradviz\[cupti\]"), gv.profile(cupti=True):
            pass
        assert not OPEN


if CUPTI is not None:
    from cupti import cupti

    def activity(kind, **about):
        """A record as CUPTI gives it, of attributes that its own classes have."""
        classes = {
            "SYNCHRONIZATION": cupti.ActivitySynchronization2, "MEMCPY": cupti.ActivityMemcpy6,
            "CONCURRENT_KERNEL": cupti.ActivityKernel13, "EXTERNAL_CORRELATION": cupti.ActivityExternalCorrelation,
            "RUNTIME": cupti.ActivityAPI,
        }  # fmt: skip
        for name in about:
            assert hasattr(classes[kind], name), f"{classes[kind].__name__} has no {name}"
        return SimpleNamespace(kind=getattr(cupti.ActivityKind, kind), **about)

    def waited(correlation, kind="STREAM_SYNCHRONIZE"):
        kind = getattr(cupti.ActivitySynchronizationType, kind)
        return activity("SYNCHRONIZATION", type=int(kind), correlation_id=correlation, start=100, end=250, stream_id=7)

    def copied(correlation, copy="DTOH", source="DEVICE", target="PAGEABLE"):
        return activity(
            "MEMCPY", copy_kind=int(getattr(cupti.ActivityMemcpyKind, copy)), bytes=8, correlation_id=correlation, start=10, end=20,
            stream_id=7, src_kind=int(getattr(cupti.ActivityMemoryKind, source)), dst_kind=int(getattr(cupti.ActivityMemoryKind, target)),
        )  # fmt: skip

    def pushed(correlation, kind, number):
        kind = getattr(cupti.ExternalCorrelationKind, kind)
        return activity("EXTERNAL_CORRELATION", external_kind=int(kind), external_id=number, correlation_id=correlation)

    def kernel(correlation):
        return activity("CONCURRENT_KERNEL", name="cupy_add", correlation_id=correlation, start=30, end=90, stream_id=7)

    def test_no_driver_is_said_and_nothing_is_left_open():
        with pytest.raises(DeviceError, match=r"CUPTI cannot listen here.*driver"), gv.profile(cupti=True):
            pass
        assert not OPEN
        assert Passing.marks is None

    def test_all_kinds_are_there():
        for kind in KINDS:
            assert hasattr(cupti.ActivityKind, kind)
        for name in (
            "activity_enable", "activity_disable", "activity_flush_all", "activity_register_callbacks", "get_timestamp",
            "activity_push_external_correlation_id", "activity_pop_external_correlation_id",
        ):  # fmt: skip
            assert callable(getattr(cupti, name))

    def test_a_wait_behind_the_doors_is_hidden():
        told = [
            pushed(1, "CUSTOM0", 41), pushed(1, "CUSTOM1", 1), waited(1),  # a door, in the call numbered 40
            pushed(2, "CUSTOM0", 41), waited(2),  # a library, in the same call
            waited(3), waited(4, "STREAM_WAIT_EVENT"), kernel(5), activity("RUNTIME", correlation_id=5),
        ]  # fmt: skip
        joined = join(*read(told, cupti, offset_ns=1000))
        waits = [(one.place, one.by_door) for one in joined if one.record.waits]
        assert waits == [(40, True), (40, False), (-1, False)]
        assert [one.record.start_ns for one in joined if one.record.what == "kernel"] == [1030]

    def test_copies_wait_where_memory_is_not_pinned():
        told = [
            copied(1),
            copied(2, target="PINNED"),
            copied(3, "HTOD", "PAGEABLE", "DEVICE"),
            copied(4, "DTOD", "DEVICE", "DEVICE"),
        ]
        records, _, _ = read(told, cupti, 0)
        assert [record.waits for record in records] == [True, False, True, False]
        assert [record.name for record in records] == ["dtoh", "dtoh", "htod", "dtod"]

    def test_the_listener_hears_kernels_and_hidden_waits(monkeypatch):
        heard = []
        listener = SimpleNamespace(
            kernel=lambda *what: heard.append(("kernel", what[0], what[-1])),
            sync=lambda *what: heard.append((what[0], what[2], what[-1])),
            place=lambda: 12,
        )
        pushes = []
        for name, done in {
            "activity_flush_all": lambda flag: None,
            "activity_disable": lambda kind: None,
            "activity_push_external_correlation_id": lambda kind, number: pushes.append((int(kind), number)),
            "activity_pop_external_correlation_id": lambda kind: pushes.append((int(kind), None)),
        }.items():
            monkeypatch.setattr(cupti, name, done)
        truth = Cupti(listener)
        Passing.marks = (truth._push_pass, truth._pop_pass)
        begun = truth.begin(listener, "sin")
        with PASSING.alone():
            pass
        truth.end(begun)
        one, two = int(cupti.ExternalCorrelationKind.CUSTOM0), int(cupti.ExternalCorrelationKind.CUSTOM1)
        assert pushes == [(one, 13), (two, 1), (two, None), (one, None)]
        truth._activities += [pushed(1, "CUSTOM0", 13), pushed(1, "CUSTOM1", 1), waited(1), waited(2), kernel(3)]
        truth.stop()
        assert heard == [("hidden", 100, -1), ("kernel", "cupy_add", -1)]
        assert Passing.marks is None
