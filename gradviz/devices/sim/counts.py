"""What a program made a simulated GPU do: how many launches, waits and uploads, and who caused them."""

from __future__ import annotations

from collections import deque

LOG_LENGTH = 65_536


class Counts:
    """Counters of one simulated GPU, kept whether or not anything is recorded.

    Attributes
    ----------
    launch : kernels started
    sync : times the host waited because the program read a value, or asked to wait
    h2d : copies from host to device
    log : what was counted, the last 65 536 entries in order: ``("sync", "float")``, ``("launch", "multiply")``

    Examples
    --------
    >>> import gradviz as gv
    >>> xp = gv.simulate("a100")
    >>> x = xp.ones(3)
    >>> xp.device.counts.reset()
    >>> float(x.sum())
    3.0
    >>> xp.device.counts.sync, xp.device.counts.launch
    (1, 1)
    """

    __slots__ = ("h2d", "launch", "log", "sync")

    def __init__(self) -> None:
        self.launch = self.sync = self.h2d = 0
        self.log: deque[tuple[str, str]] = deque(maxlen=LOG_LENGTH)

    def reset(self) -> None:
        """Start again from zero, with an empty log."""
        self.launch = self.sync = self.h2d = 0
        self.log.clear()

    def __repr__(self) -> str:
        return f"Counts(launch={self.launch}, sync={self.sync}, h2d={self.h2d})"
