"""What is a simulated GPU: a clock, memory, counters, and the doors through which every operation on it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.devices.protocol import listener as heard
from gradviz.devices.sim import creation, functions, indexing, operands, ufuncs
from gradviz.devices.sim.array import SimArray
from gradviz.devices.sim.clock import Clock, Interval
from gradviz.devices.sim.counts import Counts
from gradviz.devices.sim.namespace import Namespace
from gradviz.devices.sim.pool import Card, Memory, MemoryPool
from gradviz.devices.sim.presets import Preset
from gradviz.devices.sim.stream import Stream, current_stream
from gradviz.devices.strict import STRICT
from gradviz.errors import HostArrayError, UnsupportedDtypeError

# CuPy's dtypes, as NumPy's characters: bool, integers, floats from half to double, both complex ones.
DTYPES = "?bhilqBHILQefdFD"
DOUBLES = "dDlqLQ"


class SimDevice:
    """A GPU made of NumPy: the values are right, the times come from a model.

    Parameters
    ----------
    preset : the constants of the model
    seed : of the generator that picks the winner where CuPy leaves it open
    hidden : charge what no door of CuPy sees, too

    Attributes
    ----------
    name : such as ``"sim:a100"``
    counts : kernels, waits and uploads so far
    clock : the host's time and what each stream is at
    pool : where new arrays get their memory
    xp : the namespace of this device, as CuPy's
    """

    simulated = True
    array_types: tuple[type, ...] = (SimArray,)

    def __init__(self, preset: Preset, seed: int = 0, hidden: bool = False) -> None:
        self.name = f"sim:{preset.name}"
        self.preset = preset
        self.total_nbytes = preset.total_nbytes
        self.bandwidth_bytes_per_s = preset.bandwidth_bytes_per_s
        self.rng = np.random.default_rng(seed)
        self.counts = Counts()
        self.null_stream = Stream(null=True)
        self.null_stream.device = self
        self.clock = Clock(preset, self.null_stream)
        self.card = Card(self, preset.total_nbytes)
        self.default_pool = self.pool = MemoryPool(self.card)
        self._vector_rate = {char: _rate(char, preset.vector_single_flops_per_s, preset) for char in DTYPES}
        self._matrix_rate = {char: _rate(char, preset.half_flops_per_s, preset, matrix=True) for char in DTYPES}
        self.hidden = hidden
        self._compiled: set[tuple[str, str]] = set()
        self.xp = Namespace(self)

    def __repr__(self) -> str:
        return f"<simulated device {self.name}>"

    # What the engine and the recorder ask

    def stopwatch(self) -> None:
        """None: the model tells of every kernel."""

    def now_ns(self) -> int:
        """The host's time in the model."""
        return self.clock.host_ns

    def owner(self, array: SimArray) -> Memory:
        """The memory an array is on, one object for all its views."""
        return array._memory

    def asarray(self, array: Any, dtype: Any = None) -> SimArray:
        """``array`` on this device; host data is uploaded, through pinned memory, without a wait."""
        return creation.asarray(self, array, dtype)

    def get(
        self, array: SimArray, stream: Stream | None = None, order: Any = "C", out: np.ndarray | None = None
    ) -> np.ndarray:
        """``array`` as a NumPy array; the host waits."""
        if out is None:
            out = np.empty_like(array._host, order=order)
        elif out.dtype != array.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {array.dtype} array")
        elif out.shape != array.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {array.shape}, actual shape: {out.shape}")
        out[...] = array._host
        self._download(array, "get", "explicit", out, stream)
        return out

    # What arrays ask

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A NumPy ufunc on arrays of this device."""
        return ufuncs.apply(self, ufunc, method, inputs, kwargs)

    def call(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A NumPy function on arrays of this device."""
        return functions.call(self, func, args, kwargs)

    def getitem(self, array: SimArray, index: Any) -> SimArray:
        """``array[index]``."""
        return indexing.getitem(self, array, index)

    def setitem(self, array: SimArray, index: Any, value: Any) -> None:
        """``array[index] = value``."""
        indexing.setitem(self, array, index, value)

    def read(self, array: SimArray, trigger: str, convert: Callable[[np.ndarray], Any]) -> Any:
        """What the host makes of the values of an array; it waits for them."""
        value = convert(array._host)
        self._download(array, trigger, "scalar_read" if array.size == 1 else "explicit", value, None)
        return value

    def set(self, array: SimArray, host: np.ndarray, stream: Stream | None = None) -> None:
        """Overwrite an array from pageable memory; the host waits."""
        if not isinstance(host, np.ndarray):
            raise HostArrayError("Only numpy.ndarray can be set to cupy.ndarray")
        if host.dtype != array.dtype:
            raise TypeError(f"{host.dtype} array cannot be set to {array.dtype} array")
        if host.shape != array.shape:
            raise ValueError(f"Shape mismatch. Old shape: {array.shape}, new shape: {host.shape}")
        array._host[...] = host
        stream = current_stream(self) if stream is None else stream
        moved, stood = self.clock.upload_pageable(stream, host.nbytes)
        self._count_upload("set")
        if (listener := heard()) is not None:
            listener.transfer("host_to_device", "explicit", stream.name, *moved, host.nbytes)
        self.wait("pageable", stream, stood)

    # What operations do to the model

    def new(self, host: Any) -> SimArray:
        """A device array in new memory, with the values of ``host``, which nobody else may hold."""
        if host.__class__ is not np.ndarray:
            host = np.asarray(host)
        if host.dtype.char not in DTYPES:
            raise UnsupportedDtypeError(
                f"Unsupported dtype {host.dtype}: {self.name} has bool, integers, floats of 16, 32 and 64 bits, and "
                "complex numbers of 64 and 128, as CuPy has. Convert before: array.astype(np.float64)."
            )
        return SimArray(host, self.allocate(host.nbytes), self)

    def view(self, host: np.ndarray, source: SimArray) -> SimArray:
        """A device array on the memory of another one."""
        if not host.flags.writeable:
            host.flags.writeable = True
        self.clock.spend(self.preset.view_ns)
        return SimArray(host, source._memory, self, source if source.base is None else source.base)

    def allocate(self, nbytes: int) -> Memory:
        """Memory for one array."""
        memory, from_pool = self.pool.take(nbytes, current_stream(self))
        if nbytes:
            if from_pool:
                self.clock.spend(self.preset.pool_hit_ns)
            if (listener := heard()) is not None:
                listener.alloc(memory, nbytes, memory.reserved_nbytes, from_pool, self.clock.host_ns)
        return memory

    def launch(
        self,
        name: str,
        nbytes: int,
        host_ns: int,
        flops: float = 0,
        char: str = "d",
        *,
        matrix: bool = False,
        least_ns: float = 0,
    ) -> None:
        """Queue a kernel that moves ``nbytes`` and does ``flops`` in the dtype ``char``."""
        if self.hidden and (name, char) not in self._compiled:
            self._compile(name, char)
        rate = (self._matrix_rate if matrix else self._vector_rate)[char]
        device_ns = round(max(nbytes / self.bandwidth_bytes_per_s * 1e9, flops / rate * 1e9, least_ns))
        stream = current_stream(self)
        start_ns, end_ns = self.clock.launch(stream, host_ns, device_ns)
        counts = self.counts
        counts.launch += 1
        counts.log.append(("launch", name))
        if (listener := heard()) is not None:
            listener.kernel(name, stream.name, start_ns, end_ns, nbytes)

    def upload(self, nbytes: int, reason: str, what: str) -> None:
        """Count and time a copy from the host, through pinned memory."""
        stream = current_stream(self)
        moved = self.clock.upload(stream, nbytes)
        self._count_upload(what)
        if (listener := heard()) is not None:
            listener.transfer("host_to_device", reason, stream.name, *moved, nbytes)

    def copy_for_layout(self, nbytes: int) -> None:
        """Count and time the copy of an operand into an order that a library can take."""
        stream = current_stream(self)
        self.launch("copy", 2 * nbytes, self.preset.ufunc_ns)
        if (listener := heard()) is not None:
            start_ns = self.clock.host_ns + self.preset.launch_ns
            listener.transfer("device_to_device", "contiguous", stream.name, start_ns, stream.ready_ns, nbytes)

    def count_true(self, mask: np.ndarray) -> None:
        """The host reads how many entries of a mask are true, to know the shape of what follows."""
        if mask.size:
            self.launch("scan", 5 * mask.nbytes, self.preset.reduction_ns)
            self.read_hidden("mask", "mask index")

    def read_hidden(self, trigger: str, what: str, nbytes: int = 8) -> None:
        """The host reads a value inside a function, for its own ends."""
        stream = current_stream(self)
        moved, stood = self.clock.download(stream, nbytes)
        if (listener := heard()) is not None:
            listener.transfer("device_to_host", "scalar_read", stream.name, *moved, nbytes)
        self.wait(trigger, stream, stood, nbytes, None, what)

    def wait(
        self, trigger: str, stream: Stream, stood: Interval, nbytes: int = 0, value: object = None, what: str = ""
    ) -> None:
        """Count a wait that the clock has made, and tell of it."""
        self.counts.sync += 1
        self.counts.log.append(("sync", what or trigger))
        if (listener := heard()) is not None:
            listener.sync(trigger, stream.name, stood.start_ns, stood.end_ns, nbytes, value)

    def wait_hidden(self) -> None:
        """A library waits inside a call. No door of CuPy sees that, so it is not counted; `strictly` hears of it all the same."""
        if not (self.hidden or STRICT.get()):
            return
        stream = current_stream(self)
        now_ns = self.clock.host_ns
        stood = self.clock.wait(stream.ready_ns) if self.hidden else Interval(now_ns, now_ns)
        if (listener := heard()) is not None:
            listener.sync("hidden", stream.name, stood.start_ns, stood.end_ns, 0, None)

    def _compile(self, name: str, char: str) -> None:
        """The first use of a kernel."""
        self._compiled.add((name, char))
        start_ns = self.clock.host_ns
        self.clock.spend(self.preset.compile_ns)
        if (listener := heard()) is not None:
            listener.compiled(name, start_ns, self.clock.host_ns)

    def wait_for_allocator(self, nbytes: int) -> None:
        """The driver's allocator waits for the device. No wait that the program asked for, so it is not counted."""
        stood = self.clock.malloc()
        if stood.end_ns > stood.start_ns and (listener := heard()) is not None:
            stream = current_stream(self)
            listener.sync("allocation", stream.name, stood.start_ns, stood.end_ns, nbytes, None)

    def _download(self, array: SimArray, trigger: str, reason: str, value: object, stream: Stream | None) -> None:
        operands.check(self, trigger, array)
        stream = current_stream(self) if stream is None else stream
        flags = array._host.flags
        staging = None
        if not (flags.c_contiguous or flags.f_contiguous):
            staging = self.allocate(array.nbytes)
            self.copy_for_layout(array.nbytes)
        moved, stood = self.clock.download(stream, array.nbytes)
        del staging  # it lived until its bytes had moved
        if (listener := heard()) is not None:
            listener.transfer("device_to_host", reason, stream.name, *moved, array.nbytes)
        self.wait(trigger, stream, stood, array.nbytes, value)

    def _count_upload(self, what: str) -> None:
        self.counts.h2d += 1
        self.counts.log.append(("h2d", what))


def _rate(char: str, half: float, preset: Preset, matrix: bool = False) -> float:
    """Peak flops per second for a dtype; integers are taken as floats of their size."""
    if char in DOUBLES:
        return preset.double_flops_per_s if matrix else preset.vector_double_flops_per_s
    if char == "e":
        return half
    return preset.single_flops_per_s if matrix else preset.vector_single_flops_per_s
