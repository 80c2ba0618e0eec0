"""Who is recording in this thread: its innermost open recording, else one that was open when the thread started."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gradviz.devices.protocol import ask_elsewhere
from gradviz.record import guard
from gradviz.record.recording import Recording

CURRENT: ContextVar[Any] = ContextVar("CURRENT", default=None)
OPEN: list[Any] = []  # recordings, oldest first
NOBODY = object()  # stands in CURRENT while nothing is to be recorded


def current_recorder() -> Any:
    """The scribe that new tapes report to, or None."""
    recording = CURRENT.get()
    if recording is NOBODY:
        return None
    if recording is None:
        if guard.recorder_wanted():
            return Recording("forbid").scribe()
        return recorder_of_others()
    return recording.scribe() if recording.open else None


def recorder_of_others() -> Any:
    """The scribe, for a thread that records nothing itself, of a recording that was open when it started; or None."""
    if not OPEN:
        return None
    mine = threading.get_ident()
    recording = next((r for r in reversed(OPEN) if mine not in r.threads_before), None)
    return recording.scribe() if recording is not None and recording.open else None


@contextmanager
def unrecorded() -> Iterator[None]:
    """What runs inside is seen by no recording."""
    token = CURRENT.set(NOBODY)
    try:
        yield
    finally:
        CURRENT.reset(token)


ask_elsewhere(recorder_of_others)
