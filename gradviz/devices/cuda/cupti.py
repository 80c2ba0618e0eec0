"""What did the GPU really do: NVIDIA's own record of every wait, copy and kernel, laid beside what the doors saw.

CUPTI numbers each call of the driver. While a door is passed, and while a call or pullback runs, our own number is pushed on a stack of
CUPTI's, which writes down both. So each record is found to belong to a door, to a place in the program, to both, or to neither; a wait
that belongs to no door is *hidden*: a library made it by itself. Optional (``pip install gradviz[cupti]``), for Linux and CUDA 13;
it costs more than the doors, and only one program at a time may listen to a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import count
from time import perf_counter_ns
from typing import Any, NamedTuple

from gradviz.devices.cuda.passing import Passing
from gradviz.devices.protocol import Listener
from gradviz.errors import DeviceError, MissingPackageError

BUFFER_NBYTES = 8 << 20
KINDS = ("SYNCHRONIZATION", "MEMCPY", "CONCURRENT_KERNEL", "EXTERNAL_CORRELATION", "RUNTIME", "DRIVER")


class Record(NamedTuple):
    """One thing that happened, by the host's clock.

    Attributes
    ----------
    what : ``"sync"``, ``"copy"`` or ``"kernel"``
    correlation : CUPTI's number of the driver call
    waits : the host stood meanwhile
    """

    what: str
    name: str
    correlation: int
    start_ns: int
    end_ns: int
    stream: int
    nbytes: int
    waits: bool


class Joined(NamedTuple):
    """A record, the place in the program that it belongs to (-1: none), and whether a door saw it."""

    record: Record
    place: int
    by_door: bool


def join(records: Iterable[Record], places: dict[int, int], doors: set[int]) -> list[Joined]:
    """Which record belongs where.

    Parameters
    ----------
    places : correlation -> place
    doors : the correlations of calls that a door was open around
    """
    return [Joined(r, places.get(r.correlation, -1), r.correlation in doors) for r in records]


class Cupti:
    """Listens to CUPTI, for one listener of ours.

    Raises
    ------
    MissingPackageError
        if ``cupti-python`` is not installed
    DeviceError
        if CUPTI cannot listen here: no driver, one that is older than CUPTI, or somebody else listens already
    """

    def __init__(self, listener: Listener) -> None:
        try:
            self._cupti = import_module("cupti.cupti")
        except ImportError as error:
            raise MissingPackageError(
                "Device-side truth needs CUPTI: pip install 'gradviz[cupti]'. Without it waits are seen at CuPy's doors."
            ) from error
        self._listener = listener
        self._activities: list[Any] = []
        self._offset_ns = 0
        self._passes = count(1)

    def start(self) -> None:
        """Listen from now on."""
        cupti = self._cupti
        try:
            self._offset_ns = min(_offset_ns(cupti.get_timestamp) for _ in range(5))
            cupti.activity_register_callbacks(lambda: (BUFFER_NBYTES, 0), self._activities.extend)
            for kind in KINDS:
                cupti.activity_enable(getattr(cupti.ActivityKind, kind))
        except RuntimeError as error:  # cuptiError and NotSupportedError are
            raise DeviceError(
                f"CUPTI cannot listen here: {error}. It needs a driver that is not older than itself, and that no other profiler "
                "listens. Without it waits are seen at CuPy's doors."
            ) from error
        Passing.marks = (self._push_pass, self._pop_pass)

    def stop(self) -> list[Joined]:
        """Listen no more, tell the listener of kernels and hidden waits, and give everything. Nothing waits for the device."""
        cupti = self._cupti
        Passing.marks = None
        cupti.activity_flush_all(1)
        for kind in KINDS:
            cupti.activity_disable(getattr(cupti.ActivityKind, kind))
        records, places, doors = read(self._activities, cupti, self._offset_ns)
        joined = join(records, places, doors)
        for record, place, by_door in joined:
            queue = f"CUDA stream {record.stream}"
            if record.what == "kernel":
                self._listener.kernel(record.name, queue, record.start_ns, record.end_ns, 0, place)
            elif record.waits and not by_door:
                self._listener.sync("hidden", queue, record.start_ns, record.end_ns, record.nbytes, None, place)
        return joined

    def begin(self, listener: Listener, name: str) -> int:
        """A call or a pullback begins: what the driver does meanwhile belongs to it. So this is a `Stopwatch`."""
        place = listener.place()
        self._cupti.activity_push_external_correlation_id(self._cupti.ExternalCorrelationKind.CUSTOM0, place + 1)
        return place

    def end(self, begun: Any) -> None:
        """It has ended."""
        self._cupti.activity_pop_external_correlation_id(self._cupti.ExternalCorrelationKind.CUSTOM0)

    def _push_pass(self) -> None:
        kind = self._cupti.ExternalCorrelationKind.CUSTOM1
        self._cupti.activity_push_external_correlation_id(kind, next(self._passes))

    def _pop_pass(self) -> None:
        self._cupti.activity_pop_external_correlation_id(self._cupti.ExternalCorrelationKind.CUSTOM1)


def _offset_ns(timestamp: Callable[[], int]) -> int:
    """What to add to CUPTI's time to get the host's; the smallest of several has waited least."""
    return perf_counter_ns() - timestamp()


def read(activities: Iterable[Any], cupti: Any, offset_ns: int) -> tuple[list[Record], dict[int, int], set[int]]:
    """Records by the host's clock, the places by correlation, and the correlations that doors were open around."""
    kinds = cupti.ActivityKind
    records: list[Record] = []
    places: dict[int, int] = {}
    doors: set[int] = set()
    for activity in activities:
        if activity.kind == kinds.EXTERNAL_CORRELATION:
            if activity.external_kind == cupti.ExternalCorrelationKind.CUSTOM0:
                places[activity.correlation_id] = activity.external_id - 1
            elif activity.external_kind == cupti.ExternalCorrelationKind.CUSTOM1:
                doors.add(activity.correlation_id)
            continue
        what, name, nbytes, waits = _told(activity, cupti)
        if what:
            start, end = activity.start + offset_ns, activity.end + offset_ns
            records.append(Record(what, name, activity.correlation_id, start, end, activity.stream_id, nbytes, waits))
    return records, places, doors


def _told(activity: Any, cupti: Any) -> tuple[str, str, int, bool]:
    """What an activity is, its name, its bytes, and whether the host waited; "" for calls of the driver themselves."""
    kinds = cupti.ActivityKind
    if activity.kind == kinds.SYNCHRONIZATION:
        kind = cupti.ActivitySynchronizationType(activity.type)
        return "sync", kind.name.lower(), 0, kind != cupti.ActivitySynchronizationType.STREAM_WAIT_EVENT
    if activity.kind == kinds.MEMCPY:
        kind, pageable = cupti.ActivityMemcpyKind(activity.copy_kind), cupti.ActivityMemoryKind.PAGEABLE
        return "copy", kind.name.lower(), activity.bytes, pageable in {activity.src_kind, activity.dst_kind}
    if activity.kind == kinds.CONCURRENT_KERNEL:
        return "kernel", activity.name, 0, False
    return "", "", 0, False
