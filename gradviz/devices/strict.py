"""How are waits forbidden that no door sees: a stream that is being captured can make none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gradviz.devices.cuda.capture import captured
from gradviz.devices.cuda.device import driver_is_there

STRICT: ContextVar[bool] = ContextVar("STRICT", default=False)  # simulated GPUs tell of hidden waits too


@contextmanager
def strictly(stopped: Callable[[str], Exception]) -> Iterator[None]:
    """Let no device of this thread make the host wait, not even inside a library; ``stopped(why)`` is the error."""
    token = STRICT.set(True)
    try:
        cupy = sys.modules.get("cupy")
        if cupy is None or not driver_is_there(cupy):
            yield
        else:
            with captured(cupy, stopped):
                yield
    finally:
        STRICT.reset(token)
