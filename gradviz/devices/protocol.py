"""What a device must tell, and whom it tells: the door between the places where arrays live and the recorder."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Listener(Protocol):
    """Hears what a device does. All times are nanoseconds on the device's own host clock (``Device.now_ns``)."""

    def kernel(self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        """Work ran on a stream."""
        ...

    def sync(self, trigger: str, stream: str, start_ns: int, end_ns: int, nbytes: int, value: object) -> None:
        """The host waited from start to end. ``trigger`` names a `Trigger` in lower case; ``value`` is what it read."""
        ...

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        """Bytes moved; ``direction`` and ``reason`` are lower-case names of `Direction` and `Reason`."""
        ...

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None:
        """Memory was taken; it lives as long as ``owner`` (weakly referenceable) does."""
        ...


class Device(Protocol):
    """A place where arrays live."""

    name: str  # "host", "sim:a100", "cuda:0"
    simulated: bool
    array_types: tuple[type, ...]

    @property
    def total_nbytes(self) -> int:
        """Memory there is in all."""
        ...

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Memory read and written per second at most."""
        ...

    def now_ns(self) -> int:
        """The host clock to record with: real time, or the model's."""
        ...

    def owner(self, array: Any) -> object:
        """The object that lives exactly as long as the memory of ``array``; views of one memory answer the same."""
        ...

    def asarray(self, array: Any) -> Any:
        """``array`` moved to this device."""
        ...

    def get(self, array: Any) -> Any:
        """``array`` moved to the host (waits)."""
        ...


LISTENER: ContextVar[Listener | None] = ContextVar("LISTENER", default=None)
