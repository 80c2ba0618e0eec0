"""In which order does work run: streams and events, as CuPy has them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from itertools import count
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

# The streams that this thread (or task) works on, by device.
_CURRENT: ContextVar[dict[SimDevice, Stream] | None] = ContextVar("_CURRENT", default=None)


def current_stream(device: SimDevice) -> Stream:
    """The stream that new work of this thread goes to."""
    chosen = _CURRENT.get()
    return device.null_stream if chosen is None else chosen.get(device, device.null_stream)


class Stream:
    """A queue of device work.

    Parameters
    ----------
    null : the default stream itself
    non_blocking : the stream does not wait for the default stream, nor the default stream for it
    """

    device: SimDevice
    serial: Callable[[], int]

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.null = null
        self.blocking = null or not non_blocking
        self.ready_ns = 0
        self.name = "default stream" if null else f"stream {self.serial()}"
        self._tokens: list[Token[dict[SimDevice, Stream] | None]] = []

    @property
    def is_non_blocking(self) -> bool:
        """Whether it runs beside the default stream."""
        return not self.blocking

    @property
    def done(self) -> bool:
        """Whether all that was queued is done by now."""
        return self.ready_ns <= self.device.clock.host_ns

    def synchronize(self) -> None:
        """Wait until all that was queued is done."""
        self.device.wait("explicit", self, self.device.clock.wait(self.ready_ns))

    def record(self, event: Event | None = None) -> Event:
        """Mark this point of the queue."""
        marker: Event = self.device.xp.cuda.Event() if event is None else event
        marker.record(self)
        return marker

    def wait_event(self, event: Event) -> None:
        """Let what comes later in this stream wait for an event; the host does not wait."""
        self.device.clock.hold(self, event.time_ns)

    def use(self) -> Self:
        """Make it the current stream of this thread."""
        _CURRENT.set({**(_CURRENT.get() or {}), self.device: self})
        return self

    def __enter__(self) -> Self:
        self._tokens.append(_CURRENT.set({**(_CURRENT.get() or {}), self.device: self}))
        return self

    def __exit__(self, *exc: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"<{self.name} of {self.device.name}>"


class Event:
    """A point in a stream.

    Parameters
    ----------
    block : accepted for CuPy's sake
    disable_timing : ten times cheaper, but `get_elapsed_time` refuses it
    """

    device: SimDevice

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        self.block = block
        self.timed = not disable_timing
        self.time_ns = 0

    @property
    def done(self) -> bool:
        """Whether the device has passed it by now."""
        return self.time_ns <= self.device.clock.host_ns

    def record(self, stream: Stream | None = None) -> None:
        """Place it at the end of what is queued in a stream (the current one)."""
        stream = current_stream(self.device) if stream is None else stream
        clock, preset = self.device.clock, self.device.preset
        clock.spend(preset.timed_event_ns if self.timed else preset.event_ns)
        self.time_ns = max(stream.ready_ns, clock.host_ns)

    def synchronize(self) -> None:
        """Wait until the device has passed it."""
        self.device.wait("explicit", current_stream(self.device), self.device.clock.wait(self.time_ns))


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds of the model between two events."""
    for event in (start_event, end_event):
        if not event.timed:
            raise ValueError("this event was made with disable_timing=True and so cannot measure time")
    return (end_event.time_ns - start_event.time_ns) / 1e6


def bound(kind: type[Any], device: SimDevice) -> type[Any]:
    """``Stream`` or ``Event`` of one device."""
    return type(kind.__name__, (kind,), {"device": device, "serial": count(1).__next__, "__doc__": kind.__doc__})
