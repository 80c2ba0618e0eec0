"""A named stretch of the program on the timeline."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from gradviz.record.events import Flag, Kind

if TYPE_CHECKING:
    from gradviz.record.scribe import Scribe

BACKWARD, FAILED = int(Flag.BACKWARD), int(Flag.FAILED)


class Span:
    """A named stretch of the program, as a context manager."""

    __slots__ = ("flags", "name", "number", "outer", "scribe", "start_ns")

    def __init__(self, scribe: Scribe, name: str) -> None:
        self.scribe, self.name = scribe, name

    def __enter__(self) -> Self:
        scribe = self.scribe
        self.number = next(scribe.recording.numbers)
        self.outer, scribe.parent = scribe.parent, self.number
        self.start_ns = scribe.clock()
        self.flags = scribe.flags  # a checkpoint has a reverse pass within a reverse pass
        if self.name == "backward":
            scribe.flags |= BACKWARD
        scribe.spans.append((self.number, self.start_ns, self.outer, self.name))
        return self

    def __exit__(self, *exc: object) -> None:
        scribe = self.scribe
        if self.name == "backward":
            scribe.flags = self.flags
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
