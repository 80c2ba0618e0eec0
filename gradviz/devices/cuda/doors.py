"""How is a host sync caught on a real GPU: every one that CuPy makes goes through a few attributes, replaced while anybody listens.

==============================  ==============================================================================
``ndarray.get``                 every copy to the host: ``float``, ``bool``, ``item``, ``repr``, ``asnumpy``, and CuPy's own,
                                from compiled code too (its methods ask whether Python overrides them)
``ndarray.__float__`` …         only say which of these it was
``ndarray.__getitem__`` …       only say that an index made CuPy read a mask, or upload an index
``Stream.synchronize``          of every kind of stream, and ``Event.synchronize``
``syncdetect``                  CuPy's own announcement of a wait, for ``Device.synchronize``, whose class cannot be changed
``ndarray.set``                 uploads from pageable memory, for which the host waits
the allocator                   memory, and by its pointers uploads (`gradviz.devices.cuda.allocations`)
``compiler``                    kernels that are compiled, or loaded from the cache, at their first use
==============================  ==============================================================================

What CuPy does not do itself, a library inside a call may (cuSOLVER does): only CUPTI sees that (`gradviz.devices.cuda.cupti`).
The doors tell the listener of the thread that passes them. Facts and versions: ``tests/devices/cuda``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from gradviz.devices.cuda.allocations import Allocator
from gradviz.devices.cuda.passing import PASSING
from gradviz.devices.cuda.streams import stream_name
from gradviz.devices.protocol import listener
from gradviz.devices.waiting import SHAPES

# methods that read values -> what the read is called
READS = {
    "__float__": "float", "__int__": "int", "__bool__": "bool", "__complex__": "complex", "item": "item", "tolist": "tolist",
    "__repr__": "print", "__str__": "print", "__format__": "print",
}  # fmt: skip
INDEXING = ("__getitem__", "__setitem__")
ABSENT = object()

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


class Doors:
    """The attributes of CuPy that are replaced while somebody listens, and put back when nobody does."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._wanted = False
        self._replaced: list[
            tuple[Any, str, Any, Any]
        ] = []  # owner, name, what its own dictionary had, what it has now
        self._allocator: Allocator | None = None

    def somebody(self, listens: bool) -> None:
        """The first listener has come, or the last one has gone."""
        with self._lock:
            self._wanted = listens
            if not listens:
                self._close()
            else:
                self.met()

    def met(self) -> None:
        """CuPy may have been imported since."""
        if self._wanted and not self._replaced and "cupy" in sys.modules:
            with self._lock:
                if not self._replaced:
                    self._open(sys.modules["cupy"])

    def _open(self, cupy: Any) -> None:
        try:
            for owner, name, wrapper in places(cupy):
                self._replace(owner, name, wrapper)
            self._allocator = Allocator(cupy)
            self._allocator.install()
        except BaseException:
            self._close()
            raise

    def _replace(self, owner: Any, name: str, wrapper: Wrapper) -> None:
        had = vars(owner).get(name, ABSENT)
        now = wrapper(getattr(owner, name))
        setattr(owner, name, now)
        self._replaced.append((owner, name, had, now))

    def _close(self) -> None:
        if self._allocator is not None:
            self._allocator.remove()
            self._allocator = None
        while self._replaced:
            owner, name, had, now = self._replaced.pop()
            if vars(owner).get(name) is not now:
                continue  # somebody else has wrapped it since; ours does nothing once nobody listens
            if had is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, had)


doors = Doors()


def places(cupy: Any) -> list[tuple[Any, str, Wrapper]]:
    """Where the doors are: what has the attribute, its name, and what goes around it."""
    syncdetect = import_module("cupy._core.syncdetect")
    array, compiler, stream = cupy.ndarray, cupy.cuda.compiler, cupy.cuda.stream
    return [
        *((array, name, reading(trigger)) for name, trigger in READS.items()),
        *((array, name, indexing) for name in INDEXING),
        *((array, name, inside_function(at)) for name, at in (("__array_function__", 0), ("__array_ufunc__", 0))),
        (array, "get", getting(cupy)),
        (array, "set", setting(cupy)),
        (stream._BaseStream, "synchronize", waiting(stream_name)),
        (stream.Event, "synchronize", waiting(lambda event: stream_name(cupy.cuda.get_current_stream()))),
        (syncdetect, "_declare_synchronize", declaring(cupy)),
        (compiler, "_compile_module_with_cache", compiling),
    ]


def getting(cupy: Any) -> Wrapper:
    """Around ``ndarray.get``: bytes come to the host, which waits for them unless it says otherwise."""
    package = str(Path(cupy.__file__).parent)

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def get(self: Any, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
            heard = None if PASSING.closed else listener()
            if heard is None or not self.size:
                return original(self, stream, order, out, blocking)
            trigger = why(package, sys._getframe(1))
            start_ns = perf_counter_ns()
            with PASSING.alone():
                value = original(self, stream, order, out, blocking)
            end_ns = perf_counter_ns()
            queue = stream_name(cupy.cuda.get_current_stream() if stream is None else stream)
            reason = "explicit" if trigger == "get" else "scalar_read"
            heard.transfer("device_to_host", reason, queue, start_ns, end_ns, self.nbytes)
            if blocking or out is None:  # a new NumPy array is pageable, and then the copy waits in any case
                heard.sync(trigger, queue, start_ns, end_ns, self.nbytes, value)
            return value

        return get

    return wrapper


def why(package: str, frame: Any) -> str:
    """What a read is called: by the method that was used, unless CuPy wanted to know a size."""
    if PASSING.indexing:
        return "mask"
    if PASSING.function in SHAPES or (frame.f_code.co_filename.startswith(package) and frame.f_code.co_name in SHAPES):
        return "shape"
    return PASSING.read or "get"


def during(name: str, told: Callable[[tuple[Any, ...]], Any]) -> Wrapper:
    """Around a method: while it runs, ``PASSING`` has under ``name`` what ``told`` makes of the arguments after the first."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = getattr(PASSING, name)
            setattr(PASSING, name, told(args))
            try:
                return original(self, *args, **kwargs)
            finally:
                setattr(PASSING, name, before)

        return run

    return wrapper


def reading(trigger: str) -> Wrapper:
    """Around a method that ends in ``get``: remember which one it was."""
    return during("read", lambda args: trigger)


def indexing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around an index: what CuPy reads or uploads meanwhile is for the index's sake."""
    return during("indexing", lambda args: True)(original)


def inside_function(at: int) -> Wrapper:
    """Around NumPy's protocols: remember which function runs."""
    return during("function", lambda args: args[at].__name__)


def setting(cupy: Any) -> Wrapper:
    """Around ``ndarray.set``: bytes go to the device from memory that is not pinned, so CUDA may wait first."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def set_(self: Any, arr: Any, stream: Any = None) -> None:
            heard = None if PASSING.closed else listener()
            if heard is None:
                return original(self, arr, stream)
            start_ns = perf_counter_ns()
            with PASSING.alone():
                original(self, arr, stream)
            end_ns = perf_counter_ns()
            queue = stream_name(cupy.cuda.get_current_stream() if stream is None else stream)
            heard.transfer("host_to_device", "explicit", queue, start_ns, end_ns, self.nbytes)
            heard.sync("pageable", queue, start_ns, end_ns, self.nbytes, None)
            return None

        return set_

    return wrapper


def waiting(queue_of: Callable[[Any], str]) -> Wrapper:
    """Around ``synchronize`` of a stream or an event."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def synchronize(self: Any) -> None:
            heard = None if PASSING.closed else listener()
            if heard is None:
                return original(self)
            start_ns = perf_counter_ns()
            with PASSING.alone():
                original(self)
            heard.sync("explicit", queue_of(self), start_ns, perf_counter_ns(), 0, None)
            return None

        return synchronize

    return wrapper


def declaring(cupy: Any) -> Wrapper:
    """Around CuPy's announcement that it is about to wait: outside ``get``, only ``Device.synchronize`` makes one.

    The announcement comes before the wait. To time it, the wait is done here, where CuPy then finds nothing left to wait for.
    With several GPUs it is not known for which one, so there the wait is only counted.
    """
    runtime = cupy.cuda.runtime

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def declare() -> None:
            original()
            heard = None if PASSING.closed else listener()
            if heard is None:
                return
            start_ns = perf_counter_ns()
            if runtime.getDeviceCount() == 1:
                with PASSING.alone():
                    runtime.deviceSynchronize()
            heard.sync("explicit", "default stream", start_ns, perf_counter_ns(), 0, None)

        return declare

    return wrapper


def compiling(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the compiler: the first call of a kernel takes long, and is no measure of the second."""

    @wraps(original)
    def compile_module(*args: Any, **kwargs: Any) -> Any:
        heard = listener()
        start_ns = perf_counter_ns()
        try:
            return original(*args, **kwargs)
        finally:
            if heard is not None:
                heard.compiled("kernel", start_ns, perf_counter_ns())

    return compile_module
