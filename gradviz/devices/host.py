"""What is the host as a device: NumPy arrays, real time, no streams."""

from __future__ import annotations

import os
from functools import cache
from time import perf_counter_ns
from typing import Any

import numpy as np

PROBE_NBYTES = 64 << 20  # more than most caches hold


class HostDevice:
    """The computer's own memory. It never waits for itself, so it reports nothing to a listener.

    Examples
    --------
    >>> a = np.ones((3, 4))
    >>> HOST.owner(a[1:].T) is a
    True
    """

    name = "host"
    simulated = False
    array_types: tuple[type, ...] = (np.ndarray, np.generic)

    @property
    def total_nbytes(self) -> int:
        """Bytes of physical memory, 0 if the system does not say."""
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):  # Windows
            return 0

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes read and written per second by a large copy, measured at the first question (some 100 ms)."""
        return _measured_bandwidth()

    def stopwatch(self) -> None:
        """None: what the host does ends when the call does."""

    def now_ns(self) -> int:
        """The clock of the machine."""
        return perf_counter_ns()

    def owner(self, array: np.ndarray) -> np.ndarray:
        """The array whose memory it is, the same one for all its views."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array

    def asarray(self, array: Any) -> np.ndarray:
        """``array`` on the host; device arrays are copied, and waited for."""
        return array.get() if hasattr(array, "get") and hasattr(array, "device") else np.asarray(array)

    def get(self, array: Any) -> Any:
        """``array`` itself."""
        return array

    def __repr__(self) -> str:
        return "<host>"


@cache
def _measured_bandwidth() -> float:
    source = np.ones(PROBE_NBYTES // 8)
    target = np.zeros_like(source)
    best_ns = PROBE_NBYTES  # 1 GB/s: no copy is slower
    for _ in range(3):
        start_ns = perf_counter_ns()
        np.copyto(target, source)
        best_ns = min(best_ns, perf_counter_ns() - start_ns)
    return 2 * PROBE_NBYTES / best_ns * 1e9


HOST = HostDevice()
