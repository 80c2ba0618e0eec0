"""What does ``xp.cuda`` offer: streams, events, the device, memory pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from gradviz.devices.sim.pool import MemoryPointer, MemoryPool
from gradviz.devices.sim.stream import Event, Stream, bound, current_stream, get_elapsed_time
from gradviz.errors import UnknownDeviceError, UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice


class CudaDevice:
    """``xp.cuda.Device(0)``: the only one there is."""

    def __init__(self, device: SimDevice, number: int = 0) -> None:
        if number:
            raise UnknownDeviceError(f"there is one simulated device, number 0, not {number}")
        self._device = device
        self.id = 0

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        card = self._device.card
        return card.total_nbytes - card.used_nbytes, card.total_nbytes

    def synchronize(self) -> None:
        """Wait for all streams."""
        self._device.wait("explicit", current_stream(self._device), self._device.clock.wait_for_all())

    def use(self) -> Self:
        """Nothing to do: it is in use."""
        return self

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}, {self._device.name}>"


class Pool(MemoryPool):
    """A memory pool, with CuPy's ``malloc``."""

    device: SimDevice

    def __init__(self) -> None:
        super().__init__(self.device.card)

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of that many bytes."""
        memory, _ = self.take(size, current_stream(self.device))
        return MemoryPointer(memory, memory.ptr, self.device)


class Cuda:
    """The names of ``cupy.cuda`` for one simulated GPU."""

    def __init__(self, device: SimDevice) -> None:
        self._device = device
        self.Stream = bound(Stream, device)
        self.Stream.null = device.null_stream
        self.Event = bound(Event, device)
        self.MemoryPool = bound(Pool, device)
        self.get_elapsed_time = get_elapsed_time
        self.runtime = SimpleNamespace(
            deviceSynchronize=lambda: self.Device().synchronize(),
            getDevice=lambda: 0,
            getDeviceCount=lambda: 1,
            memGetInfo=lambda: self.Device().mem_info,
        )

    def Device(self, device: int = 0) -> CudaDevice:  # noqa: N802
        """The device by number: 0."""
        return CudaDevice(self._device, device)

    def get_current_stream(self) -> Stream:
        """The stream that new work of this thread goes to."""
        return current_stream(self._device)

    def is_available(self) -> bool:
        """Always, which is what it is for."""
        return True

    def set_allocator(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        """Take memory of new arrays from the pool whose ``malloc`` this is; None is the default pool."""
        self._device.pool = self._device.default_pool if allocator is None else _pool_of(allocator)

    @contextmanager
    def using_allocator(self, allocator: Callable[[int], MemoryPointer] | None = None) -> Iterator[None]:
        """`set_allocator` for a while."""
        before = self._device.pool
        self.set_allocator(allocator)
        try:
            yield
        finally:
            self._device.pool = before


def _pool_of(allocator: Any) -> MemoryPool:
    pool = getattr(allocator, "__self__", None)
    if not isinstance(pool, MemoryPool):
        raise UnsupportedOnDeviceError(
            "a simulated device takes memory from pools only: set_allocator(xp.cuda.MemoryPool().malloc)"
        )
    return pool
