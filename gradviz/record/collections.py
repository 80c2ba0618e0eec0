"""Runs of Python's garbage collector, which otherwise look like slow calls."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Self

from gradviz.record.events import Kind

if TYPE_CHECKING:
    from gradviz.record.recording import Recording


class Collections:
    """Notes the runs of Python's garbage collector, which otherwise look like slow calls."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.start_ns = 0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        scribe = getattr(self.recording.local, "scribe", None)
        if scribe is None:  # a thread that this recording is not about
            return
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
