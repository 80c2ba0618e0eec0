"""Who is recording in this thread: the innermost open recording, or nobody."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

CURRENT: ContextVar[Any] = ContextVar("CURRENT", default=None)


def current_recorder() -> Any:
    """The recorder that new tapes report to."""
    return CURRENT.get()
