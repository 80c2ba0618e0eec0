"""How the events of one thread are written down. The engine calls a `Scribe`; devices tell it what they do.

Nothing is looked up that can be looked up later, the recorder never waits for a device, and it counts the time it takes itself.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.record import guard, short
from gradviz.record.births import Births
from gradviz.record.denormals import denormals
from gradviz.record.events import Direction, Flag, Kind, Reason, State, Trigger, Use
from gradviz.record.rows import (
    A_SAVED,
    CONTRIBUTION,
    COPY,
    EVENT,
    INHERITED,
    IS_BORROWED,
    OUT_MADE,
    OUT_SAVED,
    SYNC,
    USE,
    Rows,
)
from gradviz.record.short import SAMPLED, SAMPLED_ALL
from gradviz.record.span import Span
from gradviz.record.stopwatch import time_on_device

if TYPE_CHECKING:
    from gradviz.record.recording import Recording

ndarray = np.ndarray
ROWS = ("events", "calls", "pulls", "uses", "copies", "syncs", "contributions")
JOINED_ROWS = 2048  # so many rows are joined at a time
DENSE = 16  # a cotangent with fewer than one entry in so many other than zero should have been indexed
MAKE, READ, WRITE, VIEW, SAVE = (int(u) for u in (Use.MAKE, Use.READ, Use.WRITE, Use.VIEW, Use.SAVE))
CALL, PULLBACK = int(Kind.CALL), int(Kind.PULLBACK)
BACKWARD, FAILED = int(Flag.BACKWARD), int(Flag.FAILED)
BORROWED, OWNED = int(State.BORROWED), int(State.OWNED)


class Scribe:
    """Writes the events of one thread. The engine calls it; it also is the `Listener` that devices tell."""

    __slots__ = (  # short.c reads them; who stands between puts methods of its own into the dict
        "__dict__", "births", "call", "call_number", "calls", "clock", "contributions", "copies", "dropped", "events", "flags", "joined",
        "lane", "last", "limit", "own_ns", "parent", "pending", "pull", "pulls", "quick", "real_until", "recording", "spans", "syncs",
        "uses",
    )  # fmt: skip

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.clock = recording.clock
        self.limit = recording.max_events  # numbers from here on are dropped; 0 once the recording is closed
        self.events = Rows()
        self.calls = Rows()
        self.pulls = Rows()
        self.pending: tuple[int, int, int] = (
            -1,
            0,
            0,
        )  # number, start and end of a pullback that is not yet written down
        self.uses = Rows()
        self.copies = Rows()
        self.syncs = Rows()
        self.contributions = Rows()
        thread = threading.current_thread()
        taken = (thread.name, "host") in recording.lane_ids
        self.lane = recording.lane(f"{thread.name} #{thread.ident}" if taken else thread.name, 0, "host")
        self.parent = -1
        self.call_number = -1  # forward call that is being reversed
        self.flags = 0
        self.last = -1
        self.own_ns = 0
        self.joined = 0
        self.dropped = 0
        self.real_until: tuple[int, int, int] = (0, 0, 0)
        self.spans: list[tuple[int, int, int, str]] = []  # number, start, parent, name
        self.call = short.any_writer(self)
        self.quick = short.call_writer(self)
        self.pull = short.pull_writer(self)
        self.births = Births(self, recording.check) if recording.check in ("nan", "denormals") else None
        recording.scribes.append(self)
        if recording.stopwatch is not None:
            time_on_device(self, recording.stopwatch, recording.timed_every)

    @property
    def on_device(self) -> int:
        """The flag of times that a real device measured."""
        return int(Flag.DEVICE_TIMED) if self.recording.device is None else 0

    def use_clock(self) -> None:
        """The recording has changed its clock."""
        self.clock = self.recording.clock
        self.pull = short.pull_writer(self)
        if self.births is not None:
            self.births.between()
        self.join()
        self.real_until = len(self.events), len(self.calls), len(self.pulls)

    def pass_to(self, other: Scribe) -> None:
        for name in ROWS:
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
            recording.bury(start_ns)

    def join(self) -> None:
        """Join the rows written so far."""
        for name in ROWS:
            getattr(self, name).join()
        self.recording.made.join()

    def charge(self, number: int, since_ns: int) -> None:
        """Add to the recorder's own time what one event cost, and note which small arrays have died."""
        now_ns = self.clock()
        self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (now_ns - since_ns)
        self.recording.bury(now_ns)
        if not number % SAMPLED:
            self.tidy()

    def tidy(self) -> None:
        """Join rows now and then."""
        if len(self.uses) + len(self.calls) + len(self.pulls) - self.joined > JOINED_ROWS:
            self.join()
            self.joined = len(self.uses) + len(self.calls) + len(self.pulls)

    def long_call(
        self, number: int, name: str, start_ns: int, end_ns: int, site: int, a: int, b: int, out: Any, how: int
    ) -> None:
        """A call of one or two host operands that does not fit into a short row: it gave a view, or took very long."""
        buffer, made = self.recording.output(out, number)
        how = how | OUT_MADE if made and buffer == number else how
        nbytes = out.nbytes if made else 0
        self.write(number, CALL, name, start_ns, end_ns, number, site, nbytes, 0, a=a, b=b, out=buffer, how=how)
        if made and buffer != number:
            self.uses.append(USE(number, buffer, MAKE))

    def long_pull(
        self, number: int, call: int, title: str, start_ns: int, end_ns: int, variable: int, new: Any, target: int, how: int,
        denormal: int, description: int,
    ) -> None:  # fmt: skip
        """A pullback that gave a host array or number but took too long for a short row."""
        nbytes = getattr(new, "nbytes", 8)
        state = BORROWED if how & IS_BORROWED else OWNED
        self.contributions.append(CONTRIBUTION(number, variable, target, state, nbytes, nbytes, 1, denormal))
        self.write(
            number, PULLBACK, title, start_ns, end_ns, call, INHERITED, nbytes, BACKWARD,
            description=description, out=target, how=how & OUT_MADE,
        )  # fmt: skip

    def borrowed(self, value: Any, number: int) -> int:
        """The buffer of a cotangent that is no array of its own."""
        target, made = self.recording.output(value, number)
        if made:
            self.uses.append(USE(number, target, MAKE))
        return target

    def site(self) -> int:
        """The user's line, or during a pullback the line of its forward call."""
        return INHERITED if self.call_number >= 0 else self.recording.lines.site(sys._getframe(2))

    def run(self, name: str, run: Any, values: Any, flags: int = 0, saves: int = 0) -> Any:
        """Run one NumPy-level operation and write it down; ``saves`` are bits of what its pullbacks keep, if that is known."""
        entered = self.clock()
        number = next(self.recording.numbers)
        site = INHERITED if self.call_number >= 0 else self.recording.lines.site(sys._getframe(1))
        outer, self.parent = self.parent, number
        clock = self.clock
        start = clock()
        try:
            out = run(*values)
        except BaseException:
            self.parent = outer
            self.failed(number, name, start, flags, site)
            raise
        end = self.clock()
        self.parent = outer
        self.finish(number, name, start, end, values, out, flags, site, saves)
        if number % SAMPLED == 0 or number < SAMPLED_ALL:
            self.own_ns += (1 if number < SAMPLED_ALL else SAMPLED) * (start - entered + self.clock() - end)
        return out

    def ran(self, name: str, start_ns: int, end_ns: int, values: Any, made: Any, site: int) -> None:
        """A step of a plan, which stands for many calls, has run: what it read, and the arrays it wrote."""
        number = next(self.recording.numbers)
        first, *more = made or [None]
        self.finish(number, name, start_ns, end_ns, values, first, 0, site, 0)
        for array in more:
            buffer, _ = self.recording.output(array, number)
            if buffer >= 0:
                self.uses.append(USE(number, buffer, MAKE))

    def call_plain(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A call through which no gradient flows."""
        return self.call(getattr(function, "__name__", str(function)), lambda *args: function(*args, **kwargs), args)

    def failed(self, number: int, name: str, start_ns: int, flags: int, site: int) -> None:
        """A call raised."""
        self.write(number, CALL, name, start_ns, self.clock(), number, site, 0, flags | FAILED)

    def finish(
        self, number: int, name: str, start_ns: int, end_ns: int, values: Any, out: Any, flags: int, site: int, how: int
    ) -> None:
        """Write down a call that has run, with what it read and made."""
        recording, uses = self.recording, self.uses
        read = [buffer for value in values if (buffer := self._read(number, value)) >= 0]
        a, b = (*read[:2], -1, -1)[:2]
        for buffer in read[2:]:
            uses.append(USE(number, buffer, READ))
        self.last = number
        if type(out) is ndarray and out.base is None:
            known = recording.live.get(id(out))
            if known is None or known() is not out:  # it made one host array: that buffer has the call's own number
                recording.refer(out, number, number)
                description = recording.describe(out)
                self.write(
                    number, CALL, name, start_ns, end_ns, number, site, out.nbytes, flags, description, a, b, number, OUT_MADE | how
                )  # fmt: skip
                return
        nbytes = 0
        for value in out if isinstance(out, (list, tuple)) else (out,):
            if hasattr(value, "nbytes"):
                buffer, made = recording.output(value, number)
                nbytes += value.nbytes if made or buffer < 0 else 0
                if buffer >= 0:
                    uses.append(USE(number, buffer, MAKE if made else VIEW))
        self.write(number, CALL, name, start_ns, end_ns, number, site, nbytes, flags, -1, a, b, -1, how & A_SAVED)
        if how & OUT_SAVED:
            self.saves(number, (out,))

    def _read(self, number: int, value: Any) -> int:
        """The buffer of an argument, -1 for what has none; those of a list get rows of their own."""
        if type(value) in (list, tuple):
            for item in value:
                buffer = self._read(number, item)
                if buffer >= 0:
                    self.uses.append(USE(number, buffer, READ))
            return -1
        return self.recording.buffer(value) if hasattr(value, "nbytes") else -1

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

    def wrote(
        self, tape: Any, variable: int, name: str, memory: Any, value: Any, nbytes: int, start_ns: int, end_ns: int
    ) -> None:
        """A write of so many bytes into memory that existed before."""
        number = next(self.recording.numbers)
        site = self.site()
        buffer = self.recording.buffer(memory)
        if buffer >= 0:
            self.uses.append(USE(number, buffer, WRITE))
        source = self.recording.buffer(value) if hasattr(value, "nbytes") else -1
        self.write(number, CALL, name, start_ns, end_ns, number, site, nbytes, 0, a=source)
        self.last = number
        tape.calls[variable] = number

    # ---- copies and reads

    def copy(self, reason: Reason, source: Any, because: int = -1) -> Any:
        """Copy an array, and write down why."""
        guard.check("copy", reason.name.lower(), reason is Reason.EXPLICIT, in_pullback=self.call_number >= 0)
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

    def pulled_other(
        self, call: int, name: str, variable: int, value: Any, state: int, nbytes: int, useful: int
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
                    guard.check("dense_zeros", name, in_pullback=True)
            self.contributions.append(
                CONTRIBUTION(
                    number,
                    variable,
                    buffer,
                    int(state),
                    nbytes,
                    useful,
                    used,
                    denormals(value) if number % SAMPLED == 0 else -1,
                )
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

    def place(self) -> int:
        return self.call_number if self.call_number >= 0 else self.parent

    def kernel(self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int, place: int | None = None) -> None:
        number = next(self.recording.numbers)
        self._on_lane(number, Kind.KERNEL, name, stream, start_ns, end_ns, nbytes, self.on_device, place)

    def sync(
        self,
        trigger: str,
        stream: str,
        start_ns: int,
        end_ns: int,
        nbytes: int,
        value: object,
        place: int | None = None,
    ) -> None:
        if place is None:
            guard.check("host_sync", trigger, trigger in guard.EXPLICIT_WAITS, in_pullback=self.call_number >= 0)
        number = next(self.recording.numbers)
        lane = self._stream(stream)
        self.syncs.append(SYNC(number, int(Trigger[trigger.upper()]), lane, nbytes, end_ns - start_ns, 2, 1))
        call, site = (self.call_number, self.site()) if place is None else (place, INHERITED)
        flags, name = (self.on_device, "hidden (library)") if trigger == "hidden" else (0, trigger)
        self.write(number, int(Kind.SYNC), name, start_ns, end_ns, call, site, nbytes, flags)

    def compiled(self, name: str, start_ns: int, end_ns: int) -> None:
        number = next(self.recording.numbers)
        self.write(number, int(Kind.COMPILE), name, start_ns, end_ns, self.call_number, self.site(), 0, 0)

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        guard.check("transfer", direction, reason == "explicit", in_pullback=self.call_number >= 0)
        number = next(self.recording.numbers)
        self.copies.append(
            COPY(
                number, -1, -1, nbytes, int(Direction[direction.upper()]), int(Reason[reason.upper()]), self.call_number
            )
        )
        self._on_lane(number, Kind.COPY, reason.replace("_", " "), stream, start_ns, end_ns, nbytes)

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None:
        device = getattr(owner, "device_name", None) or (
            self.recording.device.name if self.recording.device else "host"
        )
        self.recording.track(owner, nbytes, reserved_nbytes, self.parent, int(from_pool), -1, device, time_ns)

    def _stream(self, stream: str) -> int:
        return self.recording.lane(stream, 1, "")  # of which device may only show later

    def _on_lane(
        self,
        number: int,
        kind: Kind,
        name: str,
        stream: str,
        start_ns: int,
        end_ns: int,
        nbytes: int,
        flags: int = 0,
        place: int | None = None,
    ) -> None:
        host, self.lane = self.lane, self._stream(stream)
        parent = self.parent
        self.parent = -1
        call = place if place is not None else self.call_number if self.call_number >= 0 else parent
        self.write(
            number, int(kind), name, start_ns, end_ns, call, self.site() if place is None else INHERITED, nbytes, flags
        )
        self.lane, self.parent = host, parent


short.know(Scribe)
