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
from array import array
from itertools import count
from struct import Struct
from typing import Any, Self

import numpy as np

from gradviz.record import guard
from gradviz.record.events import Direction, Flag, Kind, Reason, State, Trigger, Use
from gradviz.record.source import Lines

ndarray = np.ndarray
# number, start, end, parent, call, site, nbytes, lane, flags, kind, name, description, two inputs, output, how
EVENT = Struct("<iqqiiiqhHBiiiiiB").pack
# the two kinds of event that small programs are made of, without what can be told from the rest:
CALL_ROW = Struct(
    "<iqIiiBBHiii"
).pack  # number, start, duration, parent, site, flags, how, name, description, two inputs
PULL_ROW = Struct(
    "<iqIiiBBHiiii"
).pack  # number, start, duration, parent, call, flags, how, name, description, variable, denormals, output
USE = Struct("<iiB").pack  # event, buffer, how
BUFFER = Struct("<iqqqiBih").pack  # buffer, nbytes, reserved, time, event, from pool, description, device
COPY = Struct("<iiiqBBi").pack  # event, source, target, nbytes, direction, reason, because
SYNC = Struct("<iBhqqBB").pack  # event, trigger, stream lane, nbytes, host wait, value used, on device
CONTRIBUTION = Struct("<iiiBqqBi").pack  # event, variable, buffer, state, nbytes, useful, used, denormals
A_SAVED, B_SAVED, OUT_SAVED, OUT_MADE, IS_BORROWED = 1, 2, 4, 8, 16  # bits of ``how``
INHERITED = -2  # site of an event that stands where its forward call does
LONGEST_ROW_NS = 1 << 32  # longer calls get a full row
MAX_EVENTS = 20_000_000
DENSE = 16  # a cotangent with fewer than one entry in so many other than zero should have been indexed
SAMPLED_ALL = 256  # the first so many events are timed from end to end, to know what recording costs,
SAMPLED = 32  # then one in so many
MAKE, READ, WRITE, VIEW, SAVE = (int(u) for u in (Use.MAKE, Use.READ, Use.WRITE, Use.VIEW, Use.SAVE))
CALL, PULLBACK = int(Kind.CALL), int(Kind.PULLBACK)
BACKWARD, FAILED = int(Flag.BACKWARD), int(Flag.FAILED)
TINIEST = 2.2250738585072014e-308  # smallest normal double


class Ref(weakref.ref[Any]):
    """A weak reference to the owner of a buffer. When it dies the reference itself is put on a list, which costs no Python call."""

    __slots__ = ("made_by", "number")  # the event that made it, if that is not the buffer's own number


SHARED = (
    "numbers", "lock", "strings", "lines", "lanes", "lane_ids", "live", "dead", "made", "freed", "freed_ns", "described", "descriptions",
    "handed", "devices",
)  # fmt: skip


class Recording:
    """Everything one profile collects, from however many threads.

    A recording opened inside another shares the other's registries (numbers, texts, lines, buffers), so that when it closes its rows
    are simply handed to the outer one.
    """

    def __init__(
        self, label: str = "", outer: Recording | None = None, target: Any = None, max_events: int = MAX_EVENTS
    ) -> None:
        self.label = label
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
            self.made: list[bytes] = []
            self.freed = array("i")
            self.freed_ns = array("q")
            self.descriptions: dict[tuple[Any, tuple[int, ...]], int] = {}
            self.described: dict[int, int] = {}  # device buffer -> description, known only after its allocation
            self.handed: set[int] = set()  # buffers given to the user
            self.devices: dict[str, Any] = {}
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
                scribe.clock = self.clock
                scribe.pack()
                scribe.real_until = len(scribe.packed), len(scribe.packed_calls), len(scribe.packed_pulls)

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
        if isinstance(value, (float, complex, int, np.generic)) or not hasattr(value, "nbytes") or hasattr(value, "tape"):
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

    def bury(self) -> None:
        """Note the buffers that died since the last event."""
        now, dead = self.clock(), self.dead
        while dead:
            self.freed.append(dead.pop().number)
            self.freed_ns.append(now)

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


class Scribe:
    """Writes the events of one thread. The engine calls it; it also is the `Listener` that devices tell."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clock = recording.clock
        self.limit = recording.max_events  # numbers from here on are dropped; 0 once the recording is closed
        # the recording's registries, one look-up nearer
        self.numbers, self.live, self.strings, self.descriptions = (
            recording.numbers,
            recording.live,
            recording.strings,
            recording.descriptions,
        )
        self.dead, self.dead_append, self.codes = recording.dead, recording.dead.append, recording.lines.codes
        self.freed, self.freed_ns = recording.freed.append, recording.freed_ns.append
        self.events: list[bytes] = []
        self.calls: list[bytes] = []
        self.pulls: list[bytes] = []
        self.packed: list[bytes] = []
        self.packed_calls: list[bytes] = []
        self.packed_pulls: list[bytes] = []
        self.shape: tuple[int, ...] = (-1,)
        self.dtype: Any = None
        self.description = -1
        self.pending = (-1, 0, 0)  # number, start and end of a pullback that is not yet written down
        self.uses: list[bytes] = []
        self.copies: list[bytes] = []
        self.syncs: list[bytes] = []
        self.contributions: list[bytes] = []
        thread = threading.current_thread()
        taken = (thread.name, "host") in recording.lane_ids
        self.lane = recording.lane(f"{thread.name} #{thread.ident}" if taken else thread.name, 0, "host")
        self.parent = -1
        self.call_number = -1  # forward call that is being reversed
        self.flags = 0
        self.last = -1
        self.own_ns = 0
        self.dropped = 0
        self.real_until: tuple[int, int, int] = (0, 0, 0)
        self.spans: list[tuple[int, int, int, str]] = []  # number, start, parent, name
        recording.scribes.append(self)

    def pass_to(self, other: Scribe) -> None:
        self.pack()
        for name in ("packed", "packed_calls", "packed_pulls", "uses", "copies", "syncs", "contributions"):
            getattr(other, name).extend(getattr(self, name))
        other.own_ns += self.own_ns
        other.dropped += self.dropped

    # ---- events

    def write(
        self, number: int, kind: int, name: str, start_ns: int, end_ns: int, call: int, site: int, nbytes: int, flags: int,
        description: int = -1, a: int = -1, b: int = -1, out: int = -1, how: int = 0,
    ) -> None:  # fmt: skip
        recording = self.recording
        if number >= self.limit:
            self.dropped += 1
            return
        text = recording.strings.get(name)
        if text is None:
            text = recording.text(name)
        self.events.append(
            EVENT(
                number,
                start_ns,
                end_ns,
                self.parent,
                call,
                site,
                nbytes,
                self.lane,
                self.flags | flags,
                kind,
                text,
                description,
                a,
                b,
                out,
                how,
            )
        )
        if recording.dead:
            recording.bury()
        if len(self.events) > 8192:
            self.pack()

    def pack(self) -> None:
        """Join the rows written so far: a hundred bytes of object headers less for each."""
        for rows, packed in (
            (self.events, self.packed),
            (self.calls, self.packed_calls),
            (self.pulls, self.packed_pulls),
        ):
            packed.append(b"".join(rows))
            rows.clear()

    def site(self) -> int:
        """The user's line, or during a pullback the line of its forward call."""
        return INHERITED if self.call_number >= 0 else self.recording.lines.site(sys._getframe(2))

    def quick(
        self, tape: Any, variable: int, name: str, start_ns: int, end_ns: int, x: Any, y: Any, out: Any, how: int
    ) -> None:
        """A call of one or two host operands that the engine has just run. Small arrays spend their time here: no calls, few names."""
        number = next(self.numbers)
        self.last = tape.calls[variable] = number
        live = self.live
        a = b = description = -1
        if type(x) is ndarray:
            known = live.get(id(x))
            a = known.number if known is not None and known() is x else self.recording.buffer(x)
        if type(y) is ndarray and y.ndim:
            known = live.get(id(y))
            b = known.number if known is not None and known() is y else self.recording.buffer(y)
        if self.call_number >= 0:
            site = INHERITED
        else:
            frame = sys._getframe(2)
            sites = self.codes.get(id(frame.f_code))
            site = sites.get(frame.f_lasti, -1) if sites else -1
            if site < 0:
                site = self.recording.lines.site(frame)
        text = self.strings.get(name) or self.recording.text(name)
        if type(out) is ndarray:
            if out.base is not None or end_ns - start_ns >= LONGEST_ROW_NS or text > 65535:
                buffer, made = self.recording.output(out, number)
                how = how | OUT_MADE if made and buffer == number else how
                self.write(
                    number,
                    CALL,
                    name,
                    start_ns,
                    end_ns,
                    number,
                    site,
                    out.nbytes if made else 0,
                    0,
                    -1,
                    a,
                    b,
                    buffer,
                    how,
                )
                return
            how |= OUT_MADE
            reference = live[id(out)] = Ref(out, self.dead_append)
            reference.number = number
            if out.shape != self.shape or out.dtype is not self.dtype:
                self.shape, self.dtype, self.description = out.shape, out.dtype, self.recording.describe(out)
            description = self.description
        dead = self.dead
        while dead:
            self.freed(dead.pop().number)
            self.freed_ns(start_ns)
        if number < self.limit:
            self.calls.append(
                CALL_ROW(
                    number, start_ns, end_ns - start_ns, self.parent, site, self.flags, how, text, description, a, b
                )
            )
        else:
            self.dropped += 1
        if not number & 31 or number < SAMPLED_ALL:
            self._charge(number, end_ns)

    def _charge(self, number: int, since_ns: int) -> None:
        """Add to the recorder's own time what one event cost; and join rows now and then."""
        self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (self.clock() - since_ns)
        if len(self.calls) + len(self.pulls) > 8192:
            self.pack()

    def call(self, name: str, run: Any, values: Any, flags: int = 0) -> Any:
        """Run one NumPy-level operation and write it down."""
        entered = self.clock()
        number = next(self.recording.numbers)
        site = INHERITED if self.call_number >= 0 else self.recording.lines.site(sys._getframe(1))
        outer, self.parent = self.parent, number
        start = self.clock()
        try:
            out = run(*values)
        except BaseException:
            self.parent = outer
            self.write(number, CALL, name, start, self.clock(), number, site, 0, flags | FAILED)
            raise
        end = self.clock()
        self.parent = outer
        self._finish(number, name, start, end, values, out, flags, site)
        if number % SAMPLED == 0 or number < SAMPLED_ALL:
            self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (start - entered + self.clock() - end)
        return out

    def call_plain(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call through which no gradient flows."""
        return self.call(getattr(function, "__name__", str(function)), lambda *args: function(*args, **kwargs), args)

    def _finish(
        self, number: int, name: str, start_ns: int, end_ns: int, values: Any, out: Any, flags: int, site: int = -2
    ) -> None:
        recording, uses = self.recording, self.uses
        for value in values:
            for item in value if type(value) in (list, tuple) else (value,):
                if hasattr(item, "nbytes"):
                    buffer = recording.buffer(item)
                    if buffer >= 0:
                        uses.append(USE(number, buffer, READ))
        nbytes = 0
        for value in out if isinstance(out, (list, tuple)) else (out,):
            if hasattr(value, "nbytes"):
                buffer, made = recording.output(value, number)
                nbytes += value.nbytes if made or buffer < 0 else 0
                if buffer >= 0:
                    uses.append(USE(number, buffer, MAKE if made else VIEW))
        if site == -2:
            site = INHERITED if self.call_number >= 0 else recording.lines.site(sys._getframe(3))
        self.write(number, CALL, name, start_ns, end_ns, number, site, nbytes, flags)
        self.last = number

    # ---- the tape

    def inputs(self, tape: Any, leaves: list[Any]) -> None:
        for leaf in leaves:
            self.recording.buffer(leaf)

    def remembered(self, tape: Any, variable: int, kept: tuple[Any, ...]) -> None:
        """A call got a record: the variable it made, and what its pullbacks keep."""
        tape.calls[variable] = self.last
        self.saves(self.last, kept)

    def saves(self, number: int, kept: Any) -> None:
        for value in kept:
            if type(value) is ndarray or hasattr(value, "nbytes"):
                buffer = self.recording.buffer(value)
                if buffer >= 0:
                    self.uses.append(USE(number, buffer, SAVE))

    def wrote(self, tape: Any, variable: int, name: str, memory: Any, value: Any, start_ns: int, end_ns: int) -> None:
        """A write into memory that existed before."""
        number = next(self.recording.numbers)
        site = self.site()
        buffer = self.recording.buffer(memory)
        if buffer >= 0:
            self.uses.append(USE(number, buffer, WRITE))
        source = self.recording.buffer(value) if hasattr(value, "nbytes") else -1
        self.write(number, CALL, name, start_ns, end_ns, number, site, getattr(value, "nbytes", 8), 0, a=source)
        self.last = number
        tape.calls[variable] = number

    # ---- copies and reads

    def copy(self, reason: Reason, source: Any, because: int = -1) -> Any:
        """Copy an array, and write down why."""
        guard.check("copy", reason.name.lower(), self.call_number >= 0)
        start = self.clock()
        copied = source.copy(order="K")
        self.copied(reason, source, copied, start, self.clock(), because)
        return copied

    def copied(self, reason: Reason, source: Any, target: Any, start_ns: int, end_ns: int, because: int = -1) -> None:
        """A copy that was made elsewhere."""
        number = next(self.recording.numbers)
        to, made = self.recording.output(target, number)
        if to < 0:
            return
        from_ = self.recording.buffer(source) if source is not None else -1
        nbytes = target.nbytes
        direction = Direction.HOST_TO_HOST if type(target) is ndarray else Direction.DEVICE_TO_DEVICE
        self.uses.append(USE(number, to, MAKE if made else WRITE))
        self.copies.append(COPY(number, from_, to, nbytes, int(direction), int(reason), because))
        call = self.call_number if self.call_number >= 0 else because
        self.write(
            number,
            int(Kind.COPY),
            reason.name.lower().replace("_", " "),
            start_ns,
            end_ns,
            call,
            self.site(),
            nbytes,
            0,
            a=from_,
        )

    def read(self, trigger: str, value: Any) -> None:
        """Python looked at a value. On the host that costs nothing; devices report their own reads to `sync`."""
        if type(value) is ndarray or isinstance(value, (np.generic, float, complex)):
            number = next(self.recording.numbers)
            now = self.clock()
            nbytes = getattr(value, "nbytes", 8)
            self.syncs.append(SYNC(number, int(Trigger[trigger.upper()]), -1, nbytes, 0, 2, 0))
            self.write(number, int(Kind.SYNC), trigger, now, now, self.call_number, self.site(), nbytes, 0)

    def hand(self, value: Any) -> None:
        """A value goes to the user."""
        buffer = self.recording.buffer(value)
        if buffer >= 0:
            self.recording.handed.add(buffer)

    # ---- the reverse pass

    def pull(self, back: Any, ct: Any, record: Any, call: int, title: str, variable: int) -> Any:
        """Run the pullback of one input and write it down, unless it gives no plain array: then `pulled_other` must follow."""
        number = next(self.numbers)
        parent, outer_call = self.parent, self.call_number
        self.parent = number
        if call >= 0:
            self.call_number = call
        clock = self.clock
        start = clock()
        try:
            new = back(ct, record)
            end = clock()
        finally:
            self.parent, self.call_number = parent, outer_call
        target = description = sick = -1
        how = 0
        if type(new) is ndarray:
            if new is ct:
                how = IS_BORROWED
                target = self.recording.buffer(new)
            elif new.base is None and id(new) not in self.live:
                how, target = OUT_MADE, number
                reference = self.live[id(new)] = Ref(new, self.dead_append)
                reference.number = number
            else:
                known = self.live.get(id(new))
                if new.base is None and (known is None or known() is not new):
                    how, target = OUT_MADE, number
                    reference = self.live[id(new)] = Ref(new, self.dead_append)
                    reference.number = number
                else:
                    how = IS_BORROWED
                    target, made = self.recording.output(new, number)
                    if made:
                        self.uses.append(USE(number, target, MAKE))
            if new.shape != self.shape or new.dtype is not self.dtype:
                self.shape, self.dtype, self.description = new.shape, new.dtype, self.recording.describe(new)
            description = self.description
            if not number & 31:
                sick = denormals(new)
        elif isinstance(new, float):
            sick = int(0.0 < abs(new) < TINIEST)
        else:
            self.pending = number, start, end
            return new
        dead = self.dead
        while dead:
            self.freed(dead.pop().number)
            self.freed_ns(start)
        text = self.strings.get(title) or self.recording.text(title)
        if number >= self.limit:
            self.dropped += 1
        elif end - start < LONGEST_ROW_NS and text <= 65535:
            self.pulls.append(
                PULL_ROW(
                    number, start, end - start, parent, call, self.flags, how, text, description, variable, sick, target
                )
            )
        else:
            nbytes = getattr(new, "nbytes", 8)
            state = State.BORROWED if how & IS_BORROWED else State.OWNED
            self.contributions.append(CONTRIBUTION(number, variable, target, int(state), nbytes, nbytes, 1, sick))
            self.write(
                number,
                PULLBACK,
                title,
                start,
                end,
                call,
                INHERITED,
                nbytes,
                BACKWARD,
                description,
                -1,
                -1,
                target,
                how & OUT_MADE,
            )
        if not number & 31 or number < SAMPLED_ALL:
            self._charge(number, end)
        return new

    def pulled_other(
        self, call: int, name: str, value: Any, variable: int, state: int, nbytes: int, useful: int
    ) -> None:
        """The pullback that `pull` has just run gave something else than a host array."""
        number, start_ns, end_ns = self.pending
        buffer, made = self.recording.output(value, number) if value is not None else (-1, False)
        if buffer >= 0:
            self.uses.append(USE(number, buffer, MAKE if made else VIEW))
        self.contributions.append(CONTRIBUTION(number, variable, buffer, state, nbytes, useful, 1, -1))
        self.write(number, PULLBACK, name, start_ns, end_ns, call, INHERITED, nbytes if made else 0, BACKWARD)

    def enter_pullback(self, call: int) -> tuple[int, int, int, int]:
        """A pullback begins; what `leave_pullback` needs is returned."""
        number = next(self.recording.numbers)
        before = (number, self.parent, self.call_number, self.clock())
        self.parent = number
        self.call_number = call if call >= 0 else self.call_number
        return before

    def abandon_pullback(self, entered: tuple[int, int, int, int], name: str) -> None:
        """A pullback raised."""
        number, self.parent, outer_call, start = entered
        self.write(number, PULLBACK, name, start, self.clock(), self.call_number, INHERITED, 0, BACKWARD | FAILED)
        self.call_number = outer_call

    def leave_pullback(
        self, entered: tuple[int, int, int, int], name: str, new: list[tuple[int, Any, State, int, int, int]]
    ) -> None:
        """A pullback ended; ``new`` lists (variable, cotangent, state, size, useful bytes, whether anybody wants it)."""
        number, parent, outer_call, start = entered
        end = self.clock()
        self.parent = parent
        total = 0
        for variable, value, state, nbytes, useful, used in new:
            buffer, made = self.recording.output(value, number) if value is not None else (-1, False)
            if buffer >= 0:
                self.uses.append(USE(number, buffer, MAKE if made else VIEW))
                total += nbytes if made else 0
                if useful * DENSE < nbytes:
                    guard.check("dense_zeros", name, True)
            self.contributions.append(
                CONTRIBUTION(number, variable, buffer, int(state), nbytes, useful, used, denormals(value))
            )
        self.write(number, PULLBACK, name, start, end, self.call_number, INHERITED, total, BACKWARD)
        self.call_number = outer_call
        if number % SAMPLED == 0 or number < SAMPLED_ALL:
            self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (self.clock() - end)

    def accumulated(self, call: int, start_ns: int, target: Any, fresh: Reason | None) -> None:
        """A cotangent was added to another one; ``fresh`` says why a new array was needed, None if it went in place."""
        end = self.clock()
        number = next(self.recording.numbers)
        nbytes = getattr(target, "nbytes", 8)
        into, made = self.recording.output(target, number) if target is not None else (-1, False)
        if into >= 0:
            self.uses.append(USE(number, into, MAKE if made else WRITE))
        kind, name = int(Kind.ACCUMULATE), "accumulate"
        if fresh is not None and into >= 0:
            kind, name = int(Kind.COPY), fresh.name.lower().replace("_", " ")
            direction = Direction.HOST_TO_HOST if type(target) is ndarray else Direction.DEVICE_TO_DEVICE
            self.copies.append(COPY(number, -1, into, nbytes, int(direction), int(fresh), call))
        self.write(number, kind, name, start_ns, end, call, INHERITED, nbytes, BACKWARD)
        if number % SAMPLED == 0 or number < SAMPLED_ALL:
            self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (self.clock() - end)

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
        self.syncs.append(SYNC(number, int(Trigger[trigger.upper()]), lane, nbytes, end_ns - start_ns, 2, 1))
        self.write(number, int(Kind.SYNC), trigger, start_ns, end_ns, self.call_number, self.site(), nbytes, 0)

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        guard.check("transfer", direction, self.call_number >= 0)
        number = next(self.recording.numbers)
        self.copies.append(
            COPY(
                number, -1, -1, nbytes, int(Direction[direction.upper()]), int(Reason[reason.upper()]), self.call_number
            )
        )
        self._on_lane(number, Kind.COPY, reason.replace("_", " "), stream, start_ns, end_ns, nbytes)

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None:
        device = getattr(getattr(owner, "device", None), "name", None) or (
            self.recording.device.name if self.recording.device else "host"
        )
        self.recording.track(owner, nbytes, reserved_nbytes, self.parent, int(from_pool), -1, device, time_ns)

    def _stream(self, stream: str) -> int:
        return self.recording.lane(stream, 1, self.recording.device.name if self.recording.device else "device")

    def _on_lane(
        self, number: int, kind: Kind, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int
    ) -> None:
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

    def __enter__(self) -> Self:
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
        scribe.write(
            self.number,
            int(Kind.SPAN),
            self.name,
            self.start_ns,
            scribe.clock(),
            -1,
            scribe.recording.lines.site(sys._getframe(1)),
            0,
            flags,
        )


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

    def __enter__(self) -> Self:
        gc.callbacks.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        gc.callbacks.remove(self)
