"""Where does an array's memory come from: CuPy's pool (best fit, 512-byte blocks, one arena per stream), in numbers."""

from __future__ import annotations

import gc
from bisect import bisect_left, insort
from collections import deque
from threading import RLock
from typing import TYPE_CHECKING

from gradviz.errors import DeviceMemoryError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

BLOCK_NBYTES = 512
FIRST_ADDRESS = 0x7F_0000_0000


class Card:
    """The device memory itself: hands out addresses, up to its size."""

    def __init__(self, device: SimDevice, total_nbytes: int) -> None:
        self.device = device
        self.total_nbytes = total_nbytes
        self.used_nbytes = 0
        self._next_address = FIRST_ADDRESS

    def malloc(self, nbytes: int) -> int | None:
        """The address of new memory, or None if the card is full. Waits for the device, as ``cudaMalloc`` does."""
        if self.used_nbytes + nbytes > self.total_nbytes:
            return None
        self.device.wait_for_allocator(nbytes)
        address = self._next_address
        self._next_address += nbytes
        self.used_nbytes += nbytes
        return address

    def free(self, nbytes: int) -> None:
        """Give memory back. Waits for the device, as ``cudaFree`` does."""
        self.device.wait_for_allocator(nbytes)
        self.used_nbytes -= nbytes


class Chunk:
    """A stretch of device memory, free or in use; knows its neighbours from the same ``cudaMalloc``."""

    __slots__ = ("address", "after", "arena", "before", "free", "nbytes")

    def __init__(self, address: int, nbytes: int, arena: Arena) -> None:
        self.address = address
        self.nbytes = nbytes
        self.arena = arena
        self.before: Chunk | None = None
        self.after: Chunk | None = None
        self.free = False

    def split(self, nbytes: int) -> Chunk:
        """Keep the first ``nbytes``; the rest is a chunk of its own."""
        rest = Chunk(self.address + nbytes, self.nbytes - nbytes, self.arena)
        rest.before, rest.after = self, self.after
        if self.after is not None:
            self.after.before = rest
        self.after, self.nbytes = rest, nbytes
        return rest

    def swallow(self, following: Chunk) -> None:
        """Become one with the chunk that follows."""
        self.nbytes += following.nbytes
        self.after = following.after
        if self.after is not None:
            self.after.before = self


class Arena:
    """The free chunks of one stream, found by size."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.bins: dict[int, dict[Chunk, None]] = {}

    def take(self, nbytes: int) -> Chunk | None:
        """The smallest free chunk that is large enough, cut to size."""
        place = bisect_left(self.sizes, nbytes)
        if place == len(self.sizes):
            return None
        chunk = next(reversed(self.bins[self.sizes[place]]))
        self.remove(chunk)
        if chunk.nbytes > nbytes:
            self.add(chunk.split(nbytes))
        return chunk

    def give_back(self, chunk: Chunk) -> None:
        """Free a chunk, merged with free neighbours."""
        after, before = chunk.after, chunk.before
        if after is not None and after.free:
            self.remove(after)
            chunk.swallow(after)
        if before is not None and before.free:
            self.remove(before)
            before.swallow(chunk)
            chunk = before
        self.add(chunk)

    def add(self, chunk: Chunk) -> None:
        """Keep a chunk for later."""
        chunk.free = True
        if chunk.nbytes not in self.bins:
            self.bins[chunk.nbytes] = {}
            insort(self.sizes, chunk.nbytes)
        self.bins[chunk.nbytes][chunk] = None

    def remove(self, chunk: Chunk) -> None:
        """Take out one particular free chunk."""
        chunk.free = False
        chunks = self.bins[chunk.nbytes]
        del chunks[chunk]
        if not chunks:
            del self.bins[chunk.nbytes]
            del self.sizes[bisect_left(self.sizes, chunk.nbytes)]

    def chunks(self) -> list[Chunk]:
        """All free chunks, small ones first."""
        return [chunk for nbytes in self.sizes for chunk in self.bins[nbytes]]


class Memory:
    """One allocation; lives exactly as long as the arrays on it, and goes back to its pool with the last of them.

    Attributes
    ----------
    nbytes : bytes asked for
    """

    __slots__ = ("__weakref__", "_chunk", "nbytes", "pool")

    def __init__(self, pool: MemoryPool, chunk: Chunk | None, nbytes: int) -> None:
        self.pool = pool
        self._chunk = chunk
        self.nbytes = nbytes

    @property
    def ptr(self) -> int:
        """Address on the (pretended) device."""
        return 0 if self._chunk is None else self._chunk.address

    @property
    def reserved_nbytes(self) -> int:
        """Bytes set aside, a multiple of 512."""
        return 0 if self._chunk is None else self._chunk.nbytes

    def __del__(self) -> None:
        if self._chunk is not None:
            self.pool.returned.append(self._chunk)

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes at {self.ptr:#x}>"


class MemoryPool:
    """CuPy's default memory pool.

    Parameters
    ----------
    card : the memory that blocks are carved from
    """

    def __init__(self, card: Card) -> None:
        self._card = card
        self._arenas: dict[object, Arena] = {}
        self._limit_nbytes = 0
        self._total_nbytes = 0
        self._used_nbytes = 0
        self._lock = RLock()
        # Arrays die whenever Python likes, in the middle of `take` too, so they only queue up here.
        self.returned: deque[Chunk] = deque()

    def take(self, nbytes: int, stream: object) -> tuple[Memory, bool]:
        """Memory for an array, and whether the pool had it."""
        if nbytes == 0:
            return Memory(self, None, 0), True
        size = -(-nbytes // BLOCK_NBYTES) * BLOCK_NBYTES
        with self._lock:
            self._settle()
            arena = self._arenas.get(stream)
            if arena is None:
                arena = self._arenas[stream] = Arena()
            chunk = arena.take(size)
            from_pool = chunk is not None
            if chunk is None:
                chunk = Chunk(self._malloc(size), size, arena)
            self._used_nbytes += size
        return Memory(self, chunk, nbytes), from_pool

    def used_bytes(self) -> int:
        """Bytes in use by arrays, rounded up to blocks."""
        with self._lock:
            self._settle()
            return self._used_nbytes

    def free_bytes(self) -> int:
        """Bytes that the pool keeps for later."""
        return self.total_bytes() - self.used_bytes()

    def total_bytes(self) -> int:
        """Bytes that the pool has from the device."""
        return self._total_nbytes

    def n_free_blocks(self) -> int:
        """How many chunks the pool keeps for later."""
        with self._lock:
            self._settle()
            return sum(len(arena.chunks()) for arena in self._arenas.values())

    def free_all_blocks(self, stream: object = None) -> None:
        """Give the device back all chunks that are not part of a larger one (of one stream, or of all)."""
        with self._lock:
            self._settle()
            for owner, arena in self._arenas.items():
                if stream is not None and owner is not stream:
                    continue
                for chunk in arena.chunks():
                    if chunk.before is None and chunk.after is None:
                        arena.remove(chunk)
                        self._card.free(chunk.nbytes)
                        self._total_nbytes -= chunk.nbytes

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Bound the bytes the pool may have from the device; 0 is no bound but the device's memory."""
        if size is not None and fraction is not None:
            raise ValueError("size and fraction cannot be given at one time")
        if size is None:
            if not 0 <= (fraction or 0) <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int((fraction or 0) * self._card.total_nbytes)
        if size < 0:
            raise ValueError(f"memory limit size out of range: {size}")
        self._limit_nbytes = size

    def get_limit(self) -> int:
        """The bound set by `set_limit`."""
        return self._limit_nbytes

    def _malloc(self, nbytes: int) -> int:
        """New memory from the device, after all that is unused was given back if need be."""
        for make_room in (None, self.free_all_blocks, gc.collect):
            if make_room is not None:
                make_room()
                self.free_all_blocks()
            if not self._limit_nbytes or self._total_nbytes + nbytes <= self._limit_nbytes:
                address = self._card.malloc(nbytes)
                if address is not None:
                    self._total_nbytes += nbytes
                    return address
        limit = self._limit_nbytes or self._card.total_nbytes
        raise DeviceMemoryError(
            f"Out of memory allocating {nbytes:,} bytes (allocated so far: {self._total_nbytes:,} bytes, limit set to: "
            f"{limit:,} bytes) on {self._card.device.name}. Drop arrays you no longer need, work in smaller pieces, "
            "or pick a device with more memory."
        )

    def _settle(self) -> None:
        while self.returned:
            chunk = self.returned.popleft()
            self._used_nbytes -= chunk.nbytes
            chunk.arena.give_back(chunk)


class MemoryPointer:
    """Where an array begins, as ``a.data`` tells it: ``a.data.mem is b.data.mem`` when two arrays share memory."""

    __slots__ = ("device", "device_id", "mem", "ptr")

    def __init__(self, mem: Memory, ptr: int, device: SimDevice) -> None:
        self.mem = mem
        self.ptr = ptr
        self.device = device
        self.device_id = 0

    def __int__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<MemoryPointer {self.ptr:#x} device={self.device.name} mem={self.mem!r}>"
