"""How a run is recorded: one packed row per event, and nothing looked up that can be looked up later.

A `Recording` is what one ``gv.profile()`` collects; a `Scribe` writes the events of one thread into it. Rows are packed to bytes at
once (0.2 µs; tuples of Python integers would take four times the memory). The recorder never waits for a device, and counts the
time it takes itself.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from functools import partial
from itertools import count
from struct import Struct
from typing import Any

import numpy as np

from gradviz.record import guard
from gradviz.record.events import Direction, Flag, Kind, Reason, State, Trigger, Use
from gradviz.record.source import Lines

ndarray = np.ndarray
EVENT = Struct("<iqqiiiqhHBi").pack  # number, start, end, parent, call, site, nbytes, lane, flags, kind, name
USE = Struct("<iiB").pack  # event, buffer, how
BUFFER = Struct("<iqqqiBiih").pack  # buffer, nbytes, reserved, time, event, from pool, dtype, shape, device
FREE = Struct("<iq").pack  # buffer, time
COPY = Struct("<iiiqBBi").pack  # event, source, target, nbytes, direction, reason, because
SYNC = Struct("<iBhqqBBi").pack  # event, trigger, stream lane, nbytes, host wait, value used, on device, id of the value read
CONTRIBUTION = Struct("<iiiBqqBi").pack  # event, variable, buffer, state, nbytes, useful, used, denormals
MAX_EVENTS = 20_000_000
MAKE, READ, WRITE, VIEW, SAVE, LOAD = (int(u) for u in (Use.MAKE, Use.READ, Use.WRITE, Use.VIEW, Use.SAVE, Use.LOAD))
CALL, PULLBACK = int(Kind.CALL), int(Kind.PULLBACK)
BACKWARD, FAILED = int(Flag.BACKWARD), int(Flag.FAILED)
TINIEST = 2.2250738585072014e-308  # smallest normal double


SHARED = ("numbers", "buffers", "lock", "strings", "lines", "lanes", "lane_ids", "live", "made", "freed", "described", "handed", "devices")


class Recording:
    """Everything one profile collects, from however many threads.

    A recording opened inside another shares the other's registries (numbers, texts, lines, buffers), so that when it closes its rows
    are simply handed to the outer one.
    """

    def __init__(self, label: str = "", outer: Recording | None = None, target: Any = None, max_events: int = MAX_EVENTS) -> None:
        self.label = label
        self.outer = outer
        self.target = target  # device that arguments are moved to
        self.max_events = max_events
        shared = outer or self
        if outer is None:
            self.numbers = count()
            self.buffers = count()
            self.lock = threading.Lock()
            self.strings: dict[str, int] = {"": 0}
            self.lines = Lines()
            self.lanes: list[tuple[str, int, str]] = []  # name, LaneKind, device
            self.lane_ids: dict[tuple[str, str], int] = {}
            self.live: dict[int, tuple[Any, int, int]] = {}  # id of an owner -> (weak reference, buffer, event that made it)
            self.made: list[bytes] = []
            self.freed: list[bytes] = []
            self.described: dict[int, tuple[int, int]] = {}  # device buffer -> texts of dtype and shape, known after its allocation
            self.handed: set[int] = set()  # buffers given to the user
            self.devices: dict[str, Any] = {}
        else:
            for name in SHARED:
                setattr(self, name, getattr(outer, name))
        self.root = shared.root if outer is not None else self
        self.scribes: list[Scribe] = []
        self.device: Any = shared.device if outer is not None else None  # the simulated device whose clock is used, if any
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
                scribe.clock = self.clock
                scribe.real_until = len(scribe.events)

    def close(self) -> None:
        """Stop; an outer recording takes over what was written."""
        self.end_ns = self.clock()
        self.open = False
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
        return device

    def buffer(self, value: Any, event: int) -> int:
        """The buffer a value lives in; memory not seen before is taken to have been made by ``event`` (-1: before the recording)."""
        if type(value) is ndarray:
            owner = value
            while type(base := owner.base) is ndarray:
                owner = base
        elif isinstance(value, (float, complex, int, np.generic)) or not hasattr(value, "nbytes"):
            return -1
        else:
            owner = self.device_of(value).owner(value)
        known = self.live.get(id(owner))
        return known[1] if known is not None else self._meet(owner, value, event)

    def _meet(self, owner: Any, value: Any, event: int) -> int:
        device = "host" if type(value) is ndarray else self.device_of(value).name
        nbytes = owner.nbytes if type(owner) is ndarray else value.nbytes
        return self.track(owner, nbytes, nbytes, event, 2, value.dtype, value.shape, device, self.clock())

    def track(
        self, owner: Any, nbytes: int, reserved: int, event: int, pooled: int, dtype: Any, shape: Any, device: str, time_ns: int
    ) -> int:
        """Follow a new piece of memory until its owner dies."""
        buffer = next(self.buffers)
        key = id(owner)
        try:
            reference = weakref.ref(owner, partial(self._free, key))
        except TypeError:
            reference = None
        self.live[key] = (reference, buffer, event)
        row = (buffer, nbytes, reserved, time_ns, event, pooled, self.text(str(dtype)), self.text(str(shape)), self._device_id(device))
        self.made.append(BUFFER(*row))
        return buffer

    def _device_id(self, name: str) -> int:
        if name not in self.devices:
            from gradviz.devices.find import device

            self.devices[name] = device(name)
        return list(self.devices).index(name)

    def _free(self, key: int, reference: Any) -> None:
        known = self.live.get(key)
        if known is not None and known[0] is reference:
            del self.live[key]
            if self.root.open:
                self.freed.append(FREE(known[1], self.clock()))


class Scribe:
    """Writes the events of one thread. The engine calls it; it also is the `Listener` that devices tell."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clock = recording.clock
        self.events: list[bytes] = []
        self.uses: list[bytes] = []
        self.copies: list[bytes] = []
        self.syncs: list[bytes] = []
        self.contributions: list[bytes] = []
        thread = threading.current_thread()
        self.lane = recording.lane(f"{thread.name} #{thread.ident}", 0, "host")
        self.parent = -1
        self.call_number = -1  # forward call that is being reversed
        self.site_number = -1
        self.flags = 0
        self.last = -1
        self.own_ns = 0
        self.dropped = 0
        self.real_until = 0
        self.spans: list[tuple[int, int, int, str]] = []  # number, start, parent, name
        self.sites: dict[int, int] = {}  # call -> site, for pullbacks to inherit
        recording.scribes.append(self)

    def pass_to(self, other: Scribe) -> None:
        for name in ("events", "uses", "copies", "syncs", "contributions"):
            getattr(other, name).extend(getattr(self, name))
        other.sites.update(self.sites)
        other.own_ns += self.own_ns
        other.dropped += self.dropped

    # ---- events

    def write(self, number: int, kind: int, name: str, start_ns: int, end_ns: int, call: int, site: int, nbytes: int, flags: int) -> None:
        recording = self.recording
        if number >= recording.max_events or not recording.open:
            self.dropped += 1
            return
        text = recording.strings.get(name)
        if text is None:
            text = recording.text(name)
        self.events.append(EVENT(number, start_ns, end_ns, self.parent, call, site, nbytes, self.lane, self.flags | flags, kind, text))

    def site(self) -> int:
        """The user's line, or during a pullback the line of its forward call."""
        return self.site_number if self.call_number >= 0 else self.recording.lines.site(sys._getframe(2))

    def call(self, name: str, run: Any, values: Any, flags: int = 0) -> Any:
        """Run one NumPy-level operation and write it down."""
        entered = self.clock()
        number = next(self.recording.numbers)
        site = self.site_number if self.call_number >= 0 else self.recording.lines.site(sys._getframe(1))
        outer, self.parent = self.parent, number
        clock = self.clock
        start = clock()
        try:
            out = run(*values)
        except BaseException:
            self.parent = outer
            self.write(number, CALL, name, start, clock(), number, site, 0, flags | FAILED)
            raise
        end = clock()
        self.parent = outer
        nbytes = self._used(number, values, out)
        self.write(number, CALL, name, start, end, number, site, nbytes, flags)
        self.last = number
        self.sites[number] = site
        self.own_ns += start - entered + self.clock() - end
        return out

    def call_plain(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call through which no gradient flows."""
        return self.call(getattr(function, "__name__", str(function)), lambda *args: function(*args, **kwargs), args)

    def _used(self, number: int, values: Any, out: Any) -> int:
        """Note which buffers a call read and made; gives the bytes it wrote."""
        recording, uses = self.recording, self.uses
        for value in values:
            kind = type(value)
            if kind is ndarray or (kind is not float and kind is not int and hasattr(value, "nbytes")):
                buffer = recording.buffer(value, -1)
                if buffer >= 0:
                    uses.append(USE(number, buffer, READ))
            elif kind in (list, tuple):
                for item in value:
                    if hasattr(item, "nbytes"):
                        buffer = recording.buffer(item, -1)
                        if buffer >= 0:
                            uses.append(USE(number, buffer, READ))
        nbytes = 0
        for value in out if type(out) in (list, tuple) or hasattr(out, "_fields") else (out,):
            if type(value) is not ndarray and not hasattr(value, "nbytes"):
                continue
            buffer = recording.buffer(value, number)
            if buffer >= 0:
                made = self._made_by(value, number)
                uses.append(USE(number, buffer, MAKE if made else VIEW))
                if made:
                    nbytes += value.nbytes
                    if type(value) is not ndarray:
                        recording.described.setdefault(buffer, (recording.text(str(value.dtype)), recording.text(str(value.shape))))
        return nbytes

    def _made_by(self, value: Any, number: int) -> bool:
        owner = value
        if type(value) is ndarray:
            while type(base := owner.base) is ndarray:
                owner = base
        else:
            owner = self.recording.device_of(value).owner(value)
        return self.recording.live[id(owner)][2] == number

    # ---- the tape

    def inputs(self, tape: Any, leaves: list[Any]) -> None:
        for leaf in leaves:
            self.recording.buffer(leaf, -1)

    def remembered(self, tape: Any, variable: int, kept: tuple[Any, ...]) -> None:
        """A call got a record: the variable it made, and what its pullbacks keep."""
        number = self.last
        tape.calls[variable] = number
        for value in kept:
            if type(value) is ndarray or hasattr(value, "nbytes"):
                buffer = self.recording.buffer(value, -1)
                if buffer >= 0:
                    self.uses.append(USE(number, buffer, SAVE))

    def wrote(self, tape: Any, variable: int, name: str, memory: Any, value: Any, start_ns: int, end_ns: int) -> None:
        """A write into memory that existed before."""
        number = next(self.recording.numbers)
        site = self.site()
        buffer = self.recording.buffer(memory, -1)
        if buffer >= 0:
            self.uses.append(USE(number, buffer, WRITE))
        if hasattr(value, "nbytes"):
            source = self.recording.buffer(value, -1)
            if source >= 0:
                self.uses.append(USE(number, source, READ))
        self.write(number, CALL, name, start_ns, end_ns, number, site, getattr(value, "nbytes", 8), 0)
        self.last = number
        self.sites[number] = site
        tape.calls[variable] = number

    # ---- copies and reads

    def copy(self, reason: Reason, source: Any, because: int = -1) -> Any:
        """Copy an array, and write down why."""
        guard.check("copy", reason.name.lower(), self.call_number >= 0)
        start = self.clock()
        copied = source.copy()
        self.copied(reason, source, copied, start, self.clock(), because)
        return copied

    def copied(self, reason: Reason, source: Any, target: Any, start_ns: int, end_ns: int, because: int = -1) -> None:
        """A copy that was made elsewhere."""
        number = next(self.recording.numbers)
        to = self.recording.buffer(target, number)
        if to < 0:
            return
        from_ = self.recording.buffer(source, -1) if source is not None else -1
        nbytes = target.nbytes
        direction = Direction.HOST_TO_HOST if type(target) is ndarray else Direction.DEVICE_TO_DEVICE
        if from_ >= 0:
            self.uses.append(USE(number, from_, READ))
        self.uses.append(USE(number, to, MAKE))
        self.copies.append(COPY(number, from_, to, nbytes, int(direction), int(reason), because))
        call = self.call_number if self.call_number >= 0 else because
        site = self.site_number if self.call_number >= 0 else self.site()
        self.write(number, int(Kind.COPY), reason.name.lower().replace("_", " "), start_ns, end_ns, call, site, nbytes, 0)

    def read(self, trigger: str, value: Any) -> None:
        """Python looked at a value. On the host that costs nothing; devices report their own reads to `sync`."""
        if type(value) is ndarray or not hasattr(value, "_owned"):
            if type(value) is not ndarray and hasattr(value, "device") and not isinstance(value, np.generic):
                return
            number = next(self.recording.numbers)
            now = self.clock()
            self.syncs.append(SYNC(number, int(Trigger[trigger.upper()]), -1, getattr(value, "nbytes", 8), 0, 2, 0, 0))
            self.write(number, int(Kind.SYNC), trigger, now, now, self.call_number, self.site(), getattr(value, "nbytes", 8), 0)

    def hand(self, value: Any) -> None:
        """A value goes to the user."""
        buffer = self.recording.buffer(value, -1)
        if buffer >= 0:
            self.recording.handed.add(buffer)

    # ---- the reverse pass

    def enter_pullback(self, call: int) -> tuple[int, int, int, int, int]:
        """A pullback begins; what `leave_pullback` needs is returned."""
        number = next(self.recording.numbers)
        before = (number, self.parent, self.call_number, self.site_number, self.clock())
        self.parent = number
        self.call_number = call if call >= 0 else self.call_number
        self.site_number = self.sites.get(call, self.site_number)
        return before

    def leave_pullback(self, entered: tuple[int, int, int, int, int], name: str, new: list[tuple[int, Any, State, int, int, int]]) -> None:
        """A pullback ended; ``new`` lists (variable, cotangent, state, size, useful bytes, whether anybody wants it)."""
        number, parent, outer_call, outer_site, start = entered
        end = self.clock()
        self.parent = parent
        total = 0
        for variable, value, state, nbytes, useful, used in new:
            buffer = self.recording.buffer(value, number) if value is not None else -1
            if buffer >= 0:
                made = self._made_by(value, number)
                self.uses.append(USE(number, buffer, MAKE if made else VIEW))
                total += value.nbytes if made else 0
            self.contributions.append(CONTRIBUTION(number, variable, buffer, int(state), nbytes, useful, used, denormals(value)))
        self.write(number, PULLBACK, name, start, end, self.call_number, self.site_number, total, BACKWARD)
        self.call_number, self.site_number = outer_call, outer_site
        self.own_ns += self.clock() - end

    def loads(self, number: int, kept: tuple[Any, ...]) -> None:
        """The kept values a pullback reads."""
        for value in kept:
            if type(value) is ndarray or hasattr(value, "nbytes"):
                buffer = self.recording.buffer(value, -1)
                if buffer >= 0:
                    self.uses.append(USE(number, buffer, LOAD))

    def accumulated(self, call: int, start_ns: int, target: Any, source: Any, fresh: Reason | None) -> None:
        """A cotangent was added to another one; ``fresh`` says why a new array was needed, None if it went in place."""
        end = self.clock()
        number = next(self.recording.numbers)
        site = self.sites.get(call, -1)
        nbytes = getattr(source, "nbytes", 0) if source is not None else 0
        into = self.recording.buffer(target, number) if target is not None else -1
        if into >= 0:
            self.uses.append(USE(number, into, MAKE if fresh is not None else WRITE))
        if fresh is not None and into >= 0:
            self.copies.append(COPY(number, -1, into, target.nbytes, int(Direction.HOST_TO_HOST), int(fresh), call))
        kind = Kind.ACCUMULATE if fresh is None or into < 0 else Kind.COPY
        name = "accumulate" if kind is Kind.ACCUMULATE else fresh.name.lower().replace("_", " ")  # type: ignore[union-attr]
        self.write(number, int(kind), name, start_ns, end, call, site, nbytes if fresh is None else getattr(target, "nbytes", 0), BACKWARD)
        self.own_ns += self.clock() - end

    # ---- spans

    def span(self, name: str) -> Span:
        return Span(self, name)

    # ---- what devices tell (gradviz.devices.protocol.Listener)

    def kernel(self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        number = next(self.recording.numbers)
        self._on_lane(number, Kind.KERNEL, name, stream, start_ns, end_ns, nbytes)

    def sync(self, trigger: str, stream: str, start_ns: int, end_ns: int, nbytes: int, value: object) -> None:
        guard.check("host_sync", trigger, self.call_number >= 0)
        number = next(self.recording.numbers)
        lane = self._stream(stream)
        identity = hash(value) & 0x7FFFFFFF if isinstance(value, (int, float, complex)) else 0
        self.syncs.append(SYNC(number, int(Trigger[trigger.upper()]), lane, nbytes, end_ns - start_ns, 2, 1, identity))
        self.write(number, int(Kind.SYNC), trigger, start_ns, end_ns, self.call_number, self.site(), nbytes, 0)

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        guard.check("transfer", direction, self.call_number >= 0)
        number = next(self.recording.numbers)
        self.copies.append(COPY(number, -1, -1, nbytes, int(Direction[direction.upper()]), int(Reason[reason.upper()]), self.call_number))
        self._on_lane(number, Kind.COPY, reason.replace("_", " "), stream, start_ns, end_ns, nbytes)

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None:
        device = getattr(getattr(owner, "device", None), "name", None) or (self.recording.device.name if self.recording.device else "host")
        self.recording.track(owner, nbytes, reserved_nbytes, self.parent, int(from_pool), "", "", device, time_ns)

    def _stream(self, stream: str) -> int:
        return self.recording.lane(stream, 1, self.recording.device.name if self.recording.device else "device")

    def _on_lane(self, number: int, kind: Kind, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        host, self.lane = self.lane, self._stream(stream)
        parent = self.parent
        self.parent = -1
        call = self.call_number if self.call_number >= 0 else parent
        self.write(number, int(kind), name, start_ns, end_ns, call, self.site(), nbytes, 0)
        self.lane, self.parent = host, parent


class Span:
    """A named stretch of the program, as a context manager."""

    __slots__ = ("name", "number", "outer", "scribe", "start_ns")

    def __init__(self, scribe: Scribe, name: str) -> None:
        self.scribe, self.name = scribe, name

    def __enter__(self) -> Span:
        scribe = self.scribe
        self.number = next(scribe.recording.numbers)
        self.outer, scribe.parent = scribe.parent, self.number
        self.start_ns = scribe.clock()
        if self.name == "backward":
            scribe.flags |= BACKWARD
        scribe.spans.append((self.number, self.start_ns, self.outer, self.name))
        return self

    def __exit__(self, *exc: object) -> None:
        scribe = self.scribe
        if self.name == "backward":
            scribe.flags &= ~BACKWARD
        scribe.parent = self.outer
        scribe.spans = [span for span in scribe.spans if span[0] != self.number]
        flags = FAILED if exc and exc[0] is not None else 0
        scribe.write(self.number, int(Kind.SPAN), self.name, self.start_ns, scribe.clock(), -1, scribe.recording.lines.site(sys._getframe(1)), 0, flags)


def denormals(value: Any) -> int:
    """How many entries of a cotangent are subnormal; -1 where looking would cost more than it tells."""
    if isinstance(value, float):
        return int(0.0 < abs(value) < TINIEST)
    if type(value) is ndarray and 0 < value.size <= 64 and value.dtype == np.float64:
        size = np.abs(value)
        return int(np.count_nonzero((size < TINIEST) & (size > 0)))
    return -1


class Collections:
    """Notes the runs of Python's garbage collector, which otherwise look like slow calls."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.start_ns = 0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        scribe = self.recording.scribe()
        if phase == "start":
            self.start_ns = scribe.clock()
        elif info["generation"] == 2:
            number = next(self.recording.numbers)
            scribe.write(number, int(Kind.COLLECT), "garbage collection", self.start_ns, scribe.clock(), -1, -1, 0, 0)

    def __enter__(self) -> Collections:
        gc.callbacks.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        gc.callbacks.remove(self)
