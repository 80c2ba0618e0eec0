"""Which saved values a write would destroy, and how they are brought to safety.

Nothing is noted when a pullback saves a value, since most programs never write. The first write into a piece of memory looks through
the records made so far, and later writes only through those made since; saved parts are kept sorted by address, so that a loop
writing row after row finds the rows it may collide with in logarithmic time.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, insort
from types import NoneType
from typing import Any

import numpy as np

from gradviz.engine import cotangent
from gradviz.engine.array import Array, bottom
from gradviz.engine.step import STEPS
from gradviz.engine.tape import Tape, alive
from gradviz.record.events import Reason

ndarray = np.ndarray


class Watch:
    """What pullbacks keep of one piece of memory: (first byte, last byte, tape level, variable, slot), sorted by address."""

    __slots__ = ("kept", "longest", "memory", "seen")

    def __init__(self, memory: Any) -> None:
        self.memory = weakref.ref(memory)
        self.seen: dict[int, int] = {}
        self.kept: list[tuple[int, int, int, int, int]] = []
        self.longest = 0


def rescue(lower: Any, target: Any, index: Any, since: dict[int, int] | None = None) -> None:
    """Copy every saved value that shares bytes with ``target[index]``, and put the copies where the pullbacks will look.

    ``since`` says, by tape level, from which record on the memory existed.
    """
    tapes = alive()
    watch = watch_over(lower, tapes, since or {})
    if watch is None or not watch.kept:
        return
    part = region(target, index)
    first, last = bounds(part)
    at = bisect_left(watch.kept, (first - watch.longest,))
    by_level = {tape.level: tape for tape in tapes}
    done: list[int] = []
    copies: dict[Any, Any] = {}
    while at < len(watch.kept) and watch.kept[at][0] <= last:
        _, end, level, variable, slot = watch.kept[at]
        if end >= first:
            tape = by_level.get(level)
            if (
                tape is None
                or variable >= len(tape.log)
                or tape.log[variable] is None
                or save(tape, variable, slot, part, copies)
            ):
                done.append(at)
        at += 1
    for at in reversed(done):
        del watch.kept[at]


def held(memory: Any, tape: Tape, variable: int) -> bool:
    """Whether any pullback keeps part of this memory, which was made for a variable of ``tape``."""
    watch = watch_over(memory, alive(), {tape.level: born(tape, variable)})
    return watch is not None and bool(watch.kept)


def born(tape: Tape, variable: int) -> int:
    """The record from which on the memory of a variable has existed: of one of several outputs, that of the call that made them all."""
    record = tape.log[variable]
    picked = record[0] and STEPS[record[0]].rule is None and type(record[1]) is tuple and record[1]
    return min(record[1]) if picked else variable


def watch_over(array: Any, tapes: list[Tape], since: dict[int, int]) -> Watch | None:
    """The watch on the memory of ``array``, brought up to date; it lives as long as the outermost tape."""
    if not tapes:
        return None
    memory = memory_of(array)
    watch = tapes[0].watches.get(id(memory))
    if watch is None or watch.memory() is not memory:
        watch = tapes[0].watches[id(memory)] = Watch(memory)
        watch.seen.update(since)
    for tape in tapes:
        look(watch, memory, tape)
    return watch


def region(target: Any, index: Any) -> Any:
    """The smallest array that certainly holds every entry of ``target[index]``."""
    if not cotangent.is_basic(index):
        return target
    part = target[index]
    return (
        part
        if hasattr(part, "strides") and part.shape
        else target[(*(index if type(index) is tuple else (index,)), None)]
    )


PLAIN = frozenset({int, float, slice, NoneType, np.float64})  # what a record often holds, and no memory


def look(watch: Watch, memory: Any, tape: Tape) -> None:
    """Note what the records since the last look keep of this memory."""
    for variable in range(watch.seen.get(tape.level, 0), len(tape.log)):
        record = tape.log[variable]
        if record is None:
            continue
        for slot in range(2, len(record)):
            if type(record[slot]) in PLAIN:
                continue
            for value in arrays_in(record[slot]):
                if memory_of(value) is memory:
                    first, last = bounds(value)
                    insort(watch.kept, (first, last, tape.level, variable, slot))
                    watch.longest = max(watch.longest, last - first)
    watch.seen[tape.level] = len(tape.log)


def save(tape: Tape, variable: int, slot: int, part: Any, copies: dict[Any, Any]) -> bool:
    """Replace one saved value by a copy if it really overlaps ``part``; ``copies`` holds those made for this write."""
    record = tape.log[variable]
    kept = record[slot]
    if isinstance(bottom(kept), ndarray) and isinstance(part, ndarray) and not overlap(bottom(kept), part):
        return False
    because = tape.calls.get(variable, -1)

    def copied(value: Any) -> Any:
        if not any(True for _ in arrays_in(value)):
            return value
        if isinstance(bottom(value), ndarray) and isinstance(part, ndarray) and not overlap(bottom(value), part):
            return value  # another array of the same list
        key = place(value)
        if key not in copies:
            if tape.recorder is None or isinstance(value, Array):
                copies[key] = value.copy(order="K")
            else:
                copies[key] = tape.recorder.copy(Reason.SAVED_VALUE, value, because)
        return copies[key]

    if isinstance(kept, (list, tuple)):
        items = [copied(item) for item in kept]
        safe = type(kept)(*items) if hasattr(kept, "_fields") else type(kept)(items)
    else:
        safe = copied(kept)
    tape.log[variable] = (*record[:slot], safe, *record[slot + 1 :])
    return True


def overlap(a: ndarray, b: ndarray) -> bool:
    """Whether two arrays have a byte in common; yes where finding out would take long."""
    try:
        return np.shares_memory(a, b, max_work=10_000)  # pyright: ignore[reportArgumentType] - the stubs know two of its values
    except np.exceptions.TooHardError:
        return True


def place(value: Any) -> Any:
    """What two saved values that need but one copy have in common."""
    if type(value) is not ndarray:
        return id(value)
    return value.__array_interface__["data"][0], value.shape, value.strides, value.dtype


def arrays_in(value: Any) -> Any:
    """The arrays, of any level, that one slot of a record holds."""
    if type(value) is ndarray:
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item)
    elif hasattr(bottom(value), "strides") and not isinstance(bottom(value), np.generic):
        yield value


def memory_of(value: Any) -> Any:
    """The array that owns the memory of ``value``, whatever its level."""
    return cotangent.memory_of(bottom(value))


def bounds(value: Any) -> tuple[int, int]:
    """First and last byte address."""
    value = bottom(value)
    first = value.__array_interface__["data"][0] if type(value) is ndarray else value.data.ptr
    last = first + value.itemsize - 1
    for n, stride in zip(value.shape, value.strides, strict=True):
        if stride < 0:
            first += (n - 1) * stride
        elif n:
            last += (n - 1) * stride
    return first, last
