"""When does it happen: the host and the streams of a simulated GPU, in nanoseconds of the model.

The host runs ahead of the streams. A launch costs the host its own time, and starts once the stream is free and the
launch has arrived; a wait moves the host to where the stream is.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple, Protocol

from gradviz.devices.sim.presets import Preset


class Queue(Protocol):
    """What the clock needs of a stream."""

    ready_ns: int  # when all that was queued so far is done
    null: bool  # CUDA's default stream, which waits for the blocking streams, as they wait for it
    blocking: bool


class Interval(NamedTuple):
    """From when to when."""

    start_ns: int
    end_ns: int


class Clock:
    """Time on a simulated GPU and its host.

    Parameters
    ----------
    preset : the constants
    null : the default stream
    """

    def __init__(self, preset: Preset, null: Queue) -> None:
        self.preset = preset
        self.host_ns = 0
        self._null = null
        self._blocking_ns = 0  # when the null stream and all blocking streams are done
        self._all_ns = 0
        self._lock = Lock()

    def spend(self, host_ns: int) -> None:
        """The host works."""
        with self._lock:
            self.host_ns += host_ns

    def launch(self, stream: Queue, host_ns: int, device_ns: int) -> Interval:
        """The host spends ``host_ns``; then work of ``device_ns`` is queued. Tells when it runs."""
        with self._lock:
            self.host_ns += host_ns
            start = max(self._free_ns(stream), self.host_ns + self.preset.launch_ns)
            end = start + max(device_ns, self.preset.kernel_floor_ns)
            self._occupy(stream, end)
        return Interval(start, end)

    def wait(self, until_ns: int) -> Interval:
        """The host waits for a moment on the device. Tells how long it stood."""
        with self._lock:
            start = self.host_ns
            self.host_ns = max(start, until_ns) + self.preset.sync_ns
            return Interval(start, self.host_ns)

    def wait_for_all(self) -> Interval:
        """The host waits for everything that was queued."""
        return self.wait(self._all_ns)

    def download(self, stream: Queue, nbytes: int) -> tuple[Interval, Interval]:
        """Bytes come to the host, which waits for them. Tells when they moved, and how long the host stood."""
        with self._lock:
            waiting = self.host_ns
            start = max(self._free_ns(stream), waiting)
            end = start + self.preset.download_ns + round(nbytes / self.preset.link_bytes_per_s * 1e9)
            self._occupy(stream, end)
            self.host_ns = end + self.preset.sync_ns
            return Interval(start, end), Interval(waiting, self.host_ns)

    def upload(self, stream: Queue, nbytes: int) -> Interval:
        """Bytes go to the device by way of a pinned block; the host does not wait. Tells when they moved."""
        with self._lock:
            self.host_ns += self.preset.upload_ns + round(nbytes / self.preset.staging_bytes_per_s * 1e9)
            start = max(self._free_ns(stream), self.host_ns)
            end = start + round(nbytes / self.preset.link_bytes_per_s * 1e9)
            self._occupy(stream, end)
        return Interval(start, end)

    def upload_pageable(self, stream: Queue, nbytes: int) -> tuple[Interval, Interval]:
        """Bytes go to the device straight from pageable memory: the host waits, before and after."""
        with self._lock:
            waiting = self.host_ns
            start = max(self._free_ns(stream), waiting)
            end = start + self.preset.upload_ns + round(nbytes / self.preset.link_bytes_per_s * 1e9)
            self._occupy(stream, end)
            self.host_ns = end
            return Interval(start, end), Interval(waiting, end)

    def malloc(self) -> Interval:
        """The driver's allocator: waits for the whole device. Tells how long the host stood, the call not counted."""
        with self._lock:
            waiting = self.host_ns
            idle = max(waiting, self._all_ns)
            self.host_ns = idle + self.preset.malloc_ns
            return Interval(waiting, idle)

    def hold(self, stream: Queue, until_ns: int) -> None:
        """A stream waits for a moment, such as another stream's event."""
        with self._lock:
            self._occupy(stream, max(stream.ready_ns, until_ns))

    def _free_ns(self, stream: Queue) -> int:
        if stream.null:
            return self._blocking_ns
        return max(stream.ready_ns, self._null.ready_ns) if stream.blocking else stream.ready_ns

    def _occupy(self, stream: Queue, end_ns: int) -> None:
        stream.ready_ns = end_ns
        self._all_ns = max(self._all_ns, end_ns)
        if stream.blocking:
            self._blocking_ns = max(self._blocking_ns, end_ns)
