"""The tape: the calls of one differentiated run, in order, as the reverse pass needs them.

A record is one flat tuple, and its position in ``log`` is the number of the variable it made:

    (step, parent, saved, saved, ...)            one differentiated input
    (step, (parent, parent), saved, saved, ...)  several

``step`` indexes `gradviz.engine.rule.STEPS`. Records hold integers, arrays and plain attributes only, never functions or
`Array` handles of their own level: such tuples drop out of CPython's garbage collector after one young collection, which is
what keeps tapes of 100 000 records linear in time.
"""

from __future__ import annotations

import threading
import weakref
from itertools import count
from typing import Any

_levels = count(1)


class _Alive(threading.local):
    """The tapes of this thread, outermost first; those that nobody holds any more go when the next one is made."""

    def __init__(self) -> None:
        self.tapes: list[weakref.ref[Tape]] = []


_alive = _Alive()


class Tape:
    """One run under reverse mode.

    ``level`` grows with every tape made in the process, so of two live tapes the younger one is the inner derivative. It needs
    no enter and exit, hence nothing can leave it wrong after an exception.
    """

    __slots__ = ("__weakref__", "calls", "kept", "leaves", "level", "log", "open", "quick", "recorder", "watches")

    def __init__(self, recorder: Any = None) -> None:
        self.level = next(_levels)
        self.log: list[Any] = []
        self.leaves = 0
        self.recorder = recorder
        self.calls: dict[int, int] = {}  # variable -> number of its call in the trace, while a recorder listens
        self.open = True
        self.quick = recorder is None  # open and unwatched: calls may take the paths of gradviz.engine.straight
        self.watches: dict[int, Any] = {}  # see gradviz.engine.memory
        self.kept: dict[int, list[Any]] = {}  # see gradviz.engine.constants
        _alive.tapes = [known for known in _alive.tapes if known() is not None]
        _alive.tapes.append(weakref.ref(self))

    def leaf(self) -> int:
        """A new variable without parents."""
        self.log.append((0,))
        self.leaves += 1
        return len(self.log) - 1

    def is_foreign(self, root: Any) -> bool:
        """Whether an array of this tape is an input that has not been written to, so that its memory is the caller's."""
        return root.index < self.leaves

    def finish(self) -> None:
        """The run is over: using an array of this tape is an error from now on. The records stay for the reverse pass."""
        self.open = self.quick = False

    def close(self) -> None:
        """Drop everything."""
        self.finish()
        self.kept.clear()
        self.log = None  # type: ignore[assignment]


def alive() -> list[Tape]:
    """All tapes of this thread that have records, outermost first."""
    return [tape for known in _alive.tapes if (tape := known()) is not None and tape.log is not None]


def new_level() -> int:
    """A level younger than all others, for derivatives that need no tape (forward mode)."""
    return next(_levels)
