"""What a device must tell, and whom it tells: the door between the places where arrays live and the recorder."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Listener(Protocol):
    """Hears what a device does. All times are nanoseconds on the device's own host clock (``Device.now_ns``)."""

    def place(self) -> int:
        """Where in the program this thread is, for what can only be told later."""
        ...

    def kernel(self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int, place: int | None = None) -> None:
        """Work ran on a stream. ``place`` is where the program was when it queued the work; None if it still is there."""
        ...

    def sync(
        self,
        trigger: str,
        stream: str,
        start_ns: int,
        end_ns: int,
        nbytes: int,
        value: object,
        place: int | None = None,
    ) -> None:
        """The host waited from start to end. ``trigger`` names a `Trigger` in lower case; ``value`` is what it read."""
        ...

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        """Bytes moved; ``direction`` and ``reason`` are lower-case names of `Direction` and `Reason`."""
        ...

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None:
        """Memory was taken; it lives as long as ``owner`` (weakly referenceable) does."""
        ...

    def compiled(self, name: str, start_ns: int, end_ns: int) -> None:
        """The host compiled a kernel, or loaded one."""
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

    def stopwatch(self) -> Stopwatch | None:
        """What times work on the device itself; None where nothing can, or the clock is a model that tells all."""
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


class Stopwatch(Protocol):
    """Times work on a device without making the host wait: it is told what is queued between two calls, and answers later."""

    def begin(self, listener: Listener, name: str) -> Any:
        """Work is about to be queued; what `end` needs is returned."""
        ...

    def end(self, begun: Any) -> None:
        """All of it is queued. What has run by now is told to its listener, as `Listener.kernel`."""
        ...


LISTENER: ContextVar[Listener | None] = ContextVar("LISTENER", default=None)
_ELSEWHERE: list[Callable[[], Listener | None]] = []  # who may want to hear a thread in which nobody asked to
_DOORS: list[
    Callable[[bool], None]
] = []  # told when the first listener comes (True) and when the last has gone (False)
_LOCK = RLock()
_listening = 0


def listener() -> Listener | None:
    """Whom the devices of this thread tell: the innermost `listen`, else a recording that was open when the thread began."""
    heard = LISTENER.get()
    if heard is None and _listening:
        for ask in _ELSEWHERE:
            heard = heard or ask()
    return heard


def ask_elsewhere(ask: Callable[[], Listener | None]) -> None:
    """Let ``ask`` answer `listener` in threads where nobody called `listen`."""
    _ELSEWHERE.append(ask)


def at_doors(opened: Callable[[bool], None]) -> None:
    """Let ``opened`` know when anybody listens and when nobody does any more; at once, if somebody does now."""
    _DOORS.append(opened)
    if _listening:
        opened(True)


@contextmanager
def listen(heard: Listener) -> Generator[None]:
    """Let the devices of this thread tell ``heard`` what they do. Real devices are watched only meanwhile."""
    global _listening  # noqa: PLW0603
    token = LISTENER.set(heard)
    with _LOCK:
        _listening += 1
        if _listening == 1:
            _tell_doors(True)
    try:
        yield
    finally:
        LISTENER.reset(token)
        with _LOCK:
            _listening -= 1
            if not _listening:
                _tell_doors(False)


def _tell_doors(somebody: bool) -> None:
    for opened in _DOORS:
        opened(somebody)
