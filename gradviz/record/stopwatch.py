"""How calls and pullbacks on a real device come to be timed there: one in so many, by the device's own stopwatch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from gradviz.devices.protocol import Stopwatch

if TYPE_CHECKING:
    from gradviz.record.scribe import Scribe

TIMED = 8  # one call in so many; a pair of events costs about half of what CuPy's own call does


def time_on_device(scribe: Scribe, stopwatch: Stopwatch, every: int = TIMED) -> None:
    """Let a scribe time on the device one in so many of what it runs there. Recordings of host arrays never come here."""
    call, pull, numbers = scribe.call, scribe.pull, count()

    def timed(run: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run_between_events(*args: Any) -> Any:
            begun = stopwatch.begin(scribe, name)
            try:
                return run(*args)
            finally:
                stopwatch.end(begun)

        return run_between_events

    def call_timed(name: str, run: Any, values: Any, flags: int = 0, saves: int = 0) -> Any:
        return call(name, run if next(numbers) % every else timed(run, name), values, flags, saves)

    def pull_timed(back: Any, ct: Any, record: Any, number: int, title: str, variable: int) -> Any:
        return pull(back if next(numbers) % every else timed(back, title), ct, record, number, title, variable)

    scribe.call, scribe.pull = call_timed, pull_timed  # type: ignore[method-assign]
