"""A run that is watched while it goes on, at a small share of its time."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from IPython.display import display

from gradviz.report.interactive import run_of
from gradviz.report.widget import ProfileWidget

if TYPE_CHECKING:
    from gradviz.report.profile import Profile

EVENTS = 3000
SHARE = 0.025  # besides the work, the run loses the waits for the GIL: at 0.04 a run of an MLP took 1.056 times as long
LEAST_S = 0.5


class LiveView:
    """Shows a profile that is still being recorded, and at the end the whole of it.

    A thread reads what there is so far and sends the page a thinned state. After each look it waits so long that looking takes
    at most ``share`` of the time; a run of many events is therefore shown less often. Findings come at the end.

    Parameters
    ----------
    profile : of a recording that is open
    share : of the time that may be spent on looking

    Examples
    --------
    >>> with gv.profile(live=True) as p:  # doctest: +SKIP
    ...     train()
    """

    def __init__(self, profile: Profile, share: float = SHARE) -> None:
        self.profile, self.share = profile, share
        self.widget = ProfileWidget(None)
        self.looks, self.spent_s = 0, 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gradviz live view", daemon=True)

    def start(self) -> None:
        """Show the view and begin to watch."""
        display(self.widget)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, and show the whole profile."""
        self._done.set()
        self._thread.join()
        self.widget.show(self.profile)

    def _watch(self) -> None:
        wait_s = LEAST_S
        while not self._done.wait(wait_s):
            started = time.thread_time()  # what the run loses is the work, not the waiting
            self._look()
            spent_s = time.thread_time() - started
            self.spent_s += spent_s
            wait_s = max(LEAST_S, spent_s * (1 / self.share - 1))

    def _look(self) -> None:
        # The run goes on while its rows are read; a look that meets a change is left out, the next one comes soon.
        with suppress(RuntimeError, ValueError, IndexError, KeyError):
            run = run_of(self.profile.trace, [], {})
            self.widget.push(run.thinned(EVENTS))
            self.looks += 1
