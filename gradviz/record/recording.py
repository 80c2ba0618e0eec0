"""What one profile collects, from however many threads: numbers, texts, lanes, and the memory that is alive."""

from __future__ import annotations

import threading
import time
from array import array
from itertools import count
from typing import Any

import numpy as np

from gradviz.record.reference import Ref
from gradviz.record.rows import BUFFER, Rows
from gradviz.record.scribe import Scribe
from gradviz.record.source import Lines
from gradviz.record.stopwatch import TIMED, time_on_device

ndarray = np.ndarray
MAX_EVENTS = 20_000_000


SHARED = (
    "numbers", "lock", "strings", "lines", "lanes", "lane_ids", "live", "dead", "dead_small", "made", "freed", "freed_ns",
    "described", "descriptions", "handed", "devices", "stopwatch", "timed_every",
)  # fmt: skip


class Recording:
    """Everything one profile collects, from however many threads.

    A recording opened inside another shares the other's registries (numbers, texts, lines, buffers), so that when it closes its rows
    are simply handed to the outer one.
    """

    def __init__(
        self,
        label: str = "",
        outer: Recording | None = None,
        target: Any = None,
        max_events: int = MAX_EVENTS,
        check: str | None = None,
    ) -> None:
        self.label = label
        self.check = check or (outer.check if outer is not None else None)  # what else is looked at; see `profile`
        self.outer = outer
        self.target = target  # device that arguments are moved to
        self.max_events = max_events
        shared = outer or self
        if outer is None:
            self.numbers = count()
            self.lock = threading.Lock()
            self.strings: dict[str, int] = {"": 0}
            self.lines = Lines()
            self.lanes: list[tuple[str, int, str]] = []  # name, LaneKind, device
            self.lane_ids: dict[tuple[str, str], int] = {}
            self.live: dict[int, Ref] = {}  # id of an owner -> reference to it; stale once the reference is dead
            self.dead: list[Ref] = []
            self.dead_small: list[Ref] = []
            self.made = Rows()
            self.freed = array("i")
            self.freed_ns = array("q")
            self.descriptions: dict[tuple[Any, tuple[int, ...]], int] = {}
            self.described: dict[int, int] = {}  # device buffer -> description, known only after its allocation
            self.handed: set[int] = set()  # buffers given to the user
            self.devices: dict[str, Any] = {}
            self.stopwatch: Any = None  # times work on a real device
            self.timed_every = TIMED
        else:
            for name in SHARED:
                setattr(self, name, getattr(outer, name))
        self.root = shared.root if outer is not None else self
        self.scribes: list[Scribe] = []
        self.device: Any = (
            shared.device if outer is not None else None
        )  # the simulated device whose clock is used, if any
        self.clock = shared.clock if outer is not None else time.perf_counter_ns
        self.origin_ns = self.clock()
        self.started = time.time()
        self.end_ns = 0
        self.open = True
        self.threads_before = {thread.ident for thread in threading.enumerate()}
        self.local = threading.local()

    def scribe(self) -> Scribe:
        """The writer of the calling thread."""
        mine = getattr(self.local, "scribe", None)
        if mine is None:
            mine = self.local.scribe = Scribe(self)
        return mine

    def text(self, text: str) -> int:
        """The number of a text."""
        number = self.strings.get(text)
        if number is None:
            with self.lock:
                number = self.strings.setdefault(text, len(self.strings))
        return number

    def lane(self, name: str, kind: int, device: str) -> int:
        with self.lock:
            key = (name, device)
            if key not in self.lane_ids:
                self.lane_ids[key] = len(self.lanes)
                self.lanes.append((name, kind, device))
            return self.lane_ids[key]

    def use_clock(self, device: Any) -> None:
        """From now on times are a simulated device's; what was recorded before took no simulated time."""
        if self.device is None:
            self.device = device
            self.clock = device.now_ns
            self.origin_ns = device.now_ns()
            for scribe in self.scribes:
                scribe.use_clock()

    def time_by(self, stopwatch: Any, every: int = TIMED) -> None:
        """Let ``stopwatch`` time on its device what runs from now on, one call in so many."""
        self.stopwatch = self.root.stopwatch = stopwatch
        self.timed_every = self.root.timed_every = every
        for scribe in self.scribes:
            time_on_device(scribe, stopwatch, every)

    def close(self) -> None:
        """Stop; an outer recording takes over what was written."""
        self.bury()
        self.end_ns = self.clock()
        self.open = False
        for scribe in self.scribes:
            scribe.limit = 0
        if self.outer is not None:
            for scribe in self.scribes:
                scribe.pass_to(self.outer.scribe() if scribe is self.scribe() else Scribe(self.outer))

    def device_of(self, value: Any) -> Any:
        from gradviz.devices.find import device_of

        device = device_of(value)
        if device.name not in self.devices:
            self.devices[device.name] = device
            if device.simulated:
                self.use_clock(device)
            elif self.stopwatch is None and (stopwatch := device.stopwatch()) is not None:
                self.time_by(stopwatch)
        return device

    def buffer(self, value: Any) -> int:
        """The buffer a value lives in, -1 for scalars. Memory not seen before is taken to be older than the recording."""
        owner = self.owner(value)
        if owner is None:
            return -1
        known = self.live.get(id(owner))
        if known is not None and known() is owner:
            return known.number
        return self.follow(owner, value, -1).number

    def owner(self, value: Any) -> Any:
        """The object that lives as long as the memory of ``value``; None for scalars."""
        if type(value) is ndarray:
            while type(base := value.base) is ndarray:
                value = base
            return value
        if (
            isinstance(value, (float, complex, int, np.generic))
            or not hasattr(value, "nbytes")
            or hasattr(value, "tape")
        ):
            return None  # scalars, and arrays of an enclosing derivative, which notes their memory itself
        return self.device_of(value).owner(value)

    def output(self, value: Any, event: int) -> tuple[int, bool]:
        """The buffer of a result, and whether ``event`` made it."""
        owner = self.owner(value)
        if owner is None:
            return -1, False
        known = self.live.get(id(owner))
        if known is None or known() is not owner:
            known = self.follow(owner, value, event)
        made = getattr(known, "made_by", known.number) == event
        if made and type(value) is not ndarray:
            self.described.setdefault(known.number, self.describe(value))
        return known.number, made

    def follow(self, owner: Any, value: Any, event: int) -> Ref:
        """Note a piece of memory, and when it dies."""
        device = "host" if type(value) is ndarray else self.device_of(value).name
        nbytes = owner.nbytes if type(owner) is ndarray else value.nbytes
        return self.track(owner, nbytes, nbytes, event, 2, self.describe(value), device, self.clock())

    def track(
        self,
        owner: Any,
        nbytes: int,
        reserved: int,
        event: int,
        pooled: int,
        description: int,
        device: str,
        time_ns: int,
    ) -> Ref:
        number = next(self.numbers)
        reference = self.refer(owner, number, event)
        self.made.append(BUFFER(number, nbytes, reserved, time_ns, event, pooled, description, self._device_id(device)))
        return reference

    def refer(self, owner: Any, number: int, event: int) -> Ref:
        reference = Ref(owner, self.dead.append)
        reference.number, reference.made_by = number, event
        self.live[id(owner)] = reference
        return reference

    def bury(self, now_ns: int = -1) -> None:
        """Note the buffers that died since the last event, as dead from ``now_ns`` on."""
        now_ns = self.clock() if now_ns < 0 else now_ns
        for dead in (self.dead, self.dead_small):
            while dead:
                self.freed.append(dead.pop().number)
                self.freed_ns.append(now_ns)

    def describe(self, value: Any) -> int:
        """The number of a dtype and shape."""
        key = (value.dtype, value.shape)
        number = self.descriptions.get(key)
        if number is None:
            with self.lock:
                number = self.descriptions.setdefault(key, len(self.descriptions))
        return number

    def _device_id(self, name: str) -> int:
        if name not in self.devices:
            from gradviz.devices.find import device

            self.devices[name] = device(name)
        return list(self.devices).index(name)
