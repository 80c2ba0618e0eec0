"""The two events that small programs are made of, written in as little time as Python allows.

A call on 10 numbers takes NumPy 0.3 µs; noting it here takes about 1.2 µs more, and half of that where short.c does the same
compiled. Both writers are closures, because a local name is found in half the time of an attribute, and both write the short rows
of `gradviz.record.rows`. What short.c does for calls of any other kind, `Scribe.run` does in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.compiled import compiled
from gradviz.record.denormals import TINIEST, denormals
from gradviz.record.events import Flag, Kind, State, Use
from gradviz.record.reference import Ref
from gradviz.record.rows import (
    CALL_ROW,
    INHERITED,
    IS_BORROWED,
    LAYOUTS,
    LONGEST_SHORT_NS,
    MOST_SHORT_NAMES,
    OUT_MADE,
    PULL_ROW,
)

if TYPE_CHECKING:
    from gradviz.record.scribe import Scribe

ndarray = np.ndarray
SAMPLED_ALL = 256  # the first so many events are timed from end to end, to know what recording costs,
SAMPLED = 32  # then one in so many; a power of two
SMALL_NBYTES = 1 << 16  # the death of smaller arrays is noted within 32 events, not at the next one
CALL, PULLBACK = int(Kind.CALL), int(Kind.PULLBACK)
BACKWARD, MAKE = int(Flag.BACKWARD), int(Use.MAKE)
BORROWED, OWNED = int(State.BORROWED), int(State.OWNED)


def short_call(scribe: Scribe) -> Callable[..., None]:
    """``quick(tape, variable, name, start_ns, end_ns, x, y, out, how)``: a call of one or two host operands that has just run."""
    recording = scribe.recording
    numbers, live, strings, codes = recording.numbers, recording.live, recording.strings, recording.lines.codes
    find, find_text, find_code, write_row = live.get, strings.get, codes.get, scribe.calls.append
    dead, bury_number, bury_time = recording.dead, recording.freed.append, recording.freed_ns.append
    mourn, mourn_small, take_dead, frame_at = dead.append, recording.dead_small.append, dead.pop, sys._getframe
    shape: Any = None
    dtype: Any = None
    known_description = -1

    def quick(
        tape: Any, variable: int, name: str, start_ns: int, end_ns: int, x: Any, y: Any, out: Any, how: int
    ) -> None:
        nonlocal shape, dtype, known_description
        number = next(numbers)
        scribe.last = tape.calls[variable] = number
        a = b = description = -1
        if type(x) is ndarray:
            known = find(id(x))
            a = known.number if known is not None and known() is x else recording.buffer(x)
        if type(y) is ndarray and y.ndim:
            known = find(id(y))
            b = known.number if known is not None and known() is y else recording.buffer(y)
        if scribe.call_number >= 0:
            site = INHERITED
        else:
            frame = frame_at(2)
            sites = find_code(id(frame.f_code))
            site = sites.get(frame.f_lasti, -1) if sites else -1
            if site < 0:
                site = recording.lines.site(frame)
        text = find_text(name) or recording.text(name)
        if type(out) is ndarray:
            if out.base is not None or end_ns - start_ns >= LONGEST_SHORT_NS or text >= MOST_SHORT_NAMES:
                scribe.long_call(number, name, start_ns, end_ns, site, a, b, out, how)
                return
            how |= OUT_MADE
            reference = live[id(out)] = Ref(out, mourn if out.nbytes >= SMALL_NBYTES else mourn_small)
            reference.number = number
            if out.shape != shape or out.dtype is not dtype:
                shape, dtype, known_description = out.shape, out.dtype, recording.describe(out)
            description = known_description
        while dead:
            bury_number(take_dead().number)
            bury_time(start_ns)
        if number < scribe.limit:
            write_row(
                CALL_ROW(
                    number, start_ns, end_ns - start_ns, scribe.parent, site, scribe.flags, how, text, description, a, b
                )
            )
        else:
            scribe.dropped += 1
        if not number & 31 or number < SAMPLED_ALL:
            scribe.charge(number, end_ns)

    return quick


def short_pull(scribe: Scribe) -> Callable[..., Any]:
    """``pull(back, ct, record, call, title, variable)``: run the pullback of one input and write it down.

    If it gives no plain array or number, nothing is written yet: then ``pulled_other`` must follow.
    """
    recording = scribe.recording
    numbers, live, strings, clock = recording.numbers, recording.live, recording.strings, recording.clock
    find, find_text, write_row = live.get, strings.get, scribe.pulls.append
    dead, bury_number, bury_time = recording.dead, recording.freed.append, recording.freed_ns.append
    mourn, mourn_small, take_dead = dead.append, recording.dead_small.append, dead.pop
    shape: Any = None
    dtype: Any = None
    known_description = -1

    def pull(back: Any, ct: Any, record: Any, call: int, title: str, variable: int) -> Any:
        nonlocal shape, dtype, known_description
        number = next(numbers)
        parent, outer_call = scribe.parent, scribe.call_number
        scribe.parent = number
        if call >= 0:
            scribe.call_number = call
        start_ns = clock()
        try:
            new = back(ct, record)
            end_ns = clock()
        finally:
            scribe.parent, scribe.call_number = parent, outer_call
        target = description = sick = -1
        how = 0
        if type(new) is ndarray:
            known = find(id(new))
            if new.base is None and new is not ct and (known is None or known() is not new):
                how, target = OUT_MADE, number
                reference = live[id(new)] = Ref(new, mourn if new.nbytes >= SMALL_NBYTES else mourn_small)
                reference.number = number
            else:
                how = IS_BORROWED
                target = scribe.borrowed(new, number)
            if new.shape != shape or new.dtype is not dtype:
                shape, dtype, known_description = new.shape, new.dtype, recording.describe(new)
            description = known_description
            if not number & 31:
                sick = denormals(new)
        elif isinstance(new, float):
            sick = int(0.0 < abs(new) < TINIEST)
        else:
            scribe.pending = number, start_ns, end_ns
            return new
        while dead:
            bury_number(take_dead().number)
            bury_time(start_ns)
        text = find_text(title) or recording.text(title)
        duration_ns = end_ns - start_ns
        if number >= scribe.limit:
            scribe.dropped += 1
        elif duration_ns < LONGEST_SHORT_NS and text < MOST_SHORT_NAMES:
            write_row(
                PULL_ROW(
                    number,
                    start_ns,
                    duration_ns,
                    parent,
                    call,
                    scribe.flags,
                    how,
                    text,
                    description,
                    variable,
                    sick,
                    target,
                )
            )
        else:
            scribe.long_pull(number, call, title, start_ns, end_ns, variable, new, target, how, sick, description)
        if not number & 31 or number < SAMPLED_ALL:
            scribe.charge(number, end_ns)
        return new

    return pull


core = compiled(__name__)
call_writer: Any = core.short_call if core is not None else short_call
any_writer: Any = core.short_any if core is not None else lambda scribe: scribe.run
pull_writer: Any = core.short_pull if core is not None else short_pull


def know(scribe: type[Scribe]) -> None:
    """Tell what is compiled of the classes whose slots it reads, and how rows are laid out."""
    if core is not None:
        core.know(Ref, scribe, *("".join(LAYOUTS[name].values()) for name in ("call", "pull", "event", "use")))
