"""How long does work take on the GPU itself: a pair of CUDA events around it, read once the GPU has passed them.

A timed event costs the host 2.5 µs (NVIDIA/NVTX#3), a quarter of an operation, so the recorder asks for a sample only. Nothing
here waits: `done` is a query, and pairs that the device has not passed when the recording ends are forgotten.

The GPU's clock starts at an event of its own. It is laid on the host's by the one thing that is certain: nothing runs before it
is queued. So the clock is set as early as the pairs met so far allow, which is exact where the GPU stood idle.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import Any, NamedTuple

from gradviz.devices.cuda.streams import is_capturing, stream_name
from gradviz.devices.protocol import Listener

KEPT_PAIRS = 256


class Timed(NamedTuple):
    """Work between two events."""

    listener: Listener
    name: str
    place: int
    stream: Any
    queued_ns: int
    start: Any
    stop: Any


class EventStopwatch:
    """Times work on one GPU.

    Parameters
    ----------
    cupy : the module
    """

    def __init__(self, cupy: Any) -> None:
        self._cuda = cupy.cuda
        self._free: list[tuple[Any, Any]] = []
        self._pending: deque[Timed] = deque()
        self._origin: Any = None
        self._offset_ns = 0

    def begin(self, listener: Listener, name: str) -> Timed | None:
        """Work is about to be queued on the current stream."""
        stream = self._cuda.get_current_stream()
        if is_capturing(stream) or len(self._pending) >= KEPT_PAIRS:
            return None
        if self._origin is None:
            self._origin = stream.record(self._cuda.Event())
            self._offset_ns = perf_counter_ns()
        start, stop = self._free.pop() if self._free else (self._cuda.Event(), self._cuda.Event())
        queued_ns = perf_counter_ns()
        start.record(stream)
        return Timed(listener, name, listener.place(), stream, queued_ns, start, stop)

    def end(self, begun: Timed | None) -> None:
        """All of it is queued."""
        if begun is not None:
            begun.stop.record(begun.stream)
            self._pending.append(begun)
        self.collect()

    def collect(self) -> None:
        """Tell of what the GPU has passed by now, without waiting for the rest."""
        while self._pending and self._pending[0].stop.done:
            timed = self._pending.popleft()
            start_ns, stop_ns = self._since_origin_ns(timed.start), self._since_origin_ns(timed.stop)
            self._offset_ns = max(self._offset_ns, timed.queued_ns - start_ns)
            timed.listener.kernel(
                timed.name,
                stream_name(timed.stream),
                start_ns + self._offset_ns,
                stop_ns + self._offset_ns,
                0,
                timed.place,
            )
            self._free.append((timed.start, timed.stop))

    def _since_origin_ns(self, event: Any) -> int:
        return round(self._cuda.get_elapsed_time(self._origin, event) * 1e6)
