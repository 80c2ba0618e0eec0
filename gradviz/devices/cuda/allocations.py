"""Which memory was allocated, by a number of its own, and what is uploaded into it.

The pool hands out one address again and again, and nobody can watch its blocks die: they take no weak references. So while
somebody listens each block gets a shell of our own class around it. The shell has a serial number, can be watched, and dies with
the last array on it, which gives the block back. Its pointer is of our own class too, by which uploads are seen: CuPy's methods ask
whether Python overrides them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from time import perf_counter_ns
from typing import Any

from gradviz.devices.cuda.passing import PASSING
from gradviz.devices.cuda.streams import stream_name
from gradviz.devices.protocol import listener

_SERIALS = count(1)
_CLASSES: dict[str, tuple[type, type, type]] = {}


def classes(cupy: Any) -> tuple[type, type, type]:
    """Our subclasses of CuPy's: memory, pointer, hook; made once CuPy is there."""
    if cupy.__name__ in _CLASSES:
        return _CLASSES[cupy.__name__]

    class Allocation(cupy.cuda.UnownedMemory):
        """A block of device memory, with a number that no other one ever has."""

        def __init__(self, pointer: Any) -> None:
            super().__init__(pointer.ptr, pointer.mem.size, pointer, pointer.device_id)
            self.serial = next(_SERIALS)
            self.device_name = f"cuda:{pointer.device_id}"

    class Pointer(cupy.cuda.MemoryPointer):
        """A place in a block; views take theirs by adding to it."""

        def __add__(self, offset: int) -> Pointer:
            return Pointer(self.mem, self.ptr - self.mem.ptr + offset)

        def __radd__(self, offset: int) -> Pointer:
            return self + offset

        def __sub__(self, offset: int) -> Pointer:
            return self + -offset

        def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
            uploading(cupy, super().copy_from_host_async, mem, size, stream)

        def copy_from_host(self, mem: Any, size: int) -> None:
            uploading(cupy, super().copy_from_host, mem, size)

    class Misses(cupy.cuda.MemoryHook):
        """Notices when the pool had to ask the driver."""

        name = "gradviz"

        def __init__(self) -> None:
            self.start_ns = self.end_ns = 0

        def alloc_preprocess(self, **kwargs: Any) -> None:
            self.start_ns = perf_counter_ns()

        def alloc_postprocess(self, **kwargs: Any) -> None:
            self.end_ns = perf_counter_ns()

    _CLASSES[cupy.__name__] = Allocation, Pointer, Misses
    return _CLASSES[cupy.__name__]


def uploading(cupy: Any, copy: Callable[..., None], mem: Any, size: int, stream: Any = None) -> None:
    """Copy from the host, and tell of it."""
    heard = None if PASSING.closed or not size else listener()
    start_ns = perf_counter_ns()
    copy(mem, size) if stream is None else copy(mem, size, stream)
    if heard is not None:
        queue = stream_name(cupy.cuda.get_current_stream() if stream is None else stream)
        reason = "constant_upload" if PASSING.indexing else "explicit"
        heard.transfer("host_to_device", reason, queue, start_ns, perf_counter_ns(), size)


class Allocator:
    """Stands before whatever allocator CuPy has, of all threads, and before those that `using_allocator` sets meanwhile."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._memory = cupy.cuda.memory
        self._local = threading.local()
        self._before: Any = None
        self._ours: Any = None
        self._set_for_thread: Any = None

    def install(self) -> None:
        """Take the allocator's place; in a thread inside `using_allocator`, that one's."""
        memory = self._memory
        self._set_for_thread = memory._set_thread_local_allocator
        memory._set_thread_local_allocator = lambda allocator: self._set_for_thread(self._around(allocator))
        mine = memory._get_thread_local_allocator()
        if mine is not None:
            self._set_for_thread(None)
        try:
            self._before = memory.get_allocator()
            self._ours = self._around(self._before)
            memory.set_allocator(self._ours)
        finally:
            if mine is not None:
                memory._set_thread_local_allocator(mine)

    def remove(self) -> None:
        """Put the allocator back, unless somebody has set another one since."""
        memory = self._memory
        memory._set_thread_local_allocator = self._set_for_thread
        mine = memory._get_thread_local_allocator()
        self._set_for_thread(None)
        try:
            if self._ours is not None and memory.get_allocator() is self._ours:
                memory.set_allocator(self._before)
        finally:
            self._set_for_thread(getattr(mine, "inner", mine))

    def _around(self, inner: Any) -> Any:
        if inner is None or hasattr(inner, "inner"):
            return inner
        Allocation, Pointer, Misses = classes(self._cupy)

        def allocate(size: int) -> Any:
            heard = listener()
            if heard is None or not size:
                return inner(size)
            misses = Misses()
            with misses:
                pointer = inner(size)
            memory = Allocation(pointer)
            heard.alloc(memory, size, pointer.mem.size, not misses.end_ns, perf_counter_ns())
            if misses.end_ns:
                queue = stream_name(self._cupy.cuda.get_current_stream())
                heard.sync("allocation", queue, misses.start_ns, misses.end_ns, size, None)
            return Pointer(memory, 0)

        allocate.inner = inner  # type: ignore[attr-defined]
        return allocate
