"""Kernels run by NumPy, block by block: for machines without llvmlite, and to check the machine code by.

The grid is cut along its first axis into blocks whose numbers fit the cache; a statement is one NumPy call on a block, written into memory
that is used again for the next block. The interface is that of `run_llvm`.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.kernels.functions import find, identity
from gradviz.plan.kernels.kernel import Compute, Constant, Keep, Kernel, Load, Loop, Name, Recall, Reduce, Steps, Store
from gradviz.plan.kernels.layout import statements
from gradviz.plan.kernels.table import ALIASES

BLOCK = 1 << 12  # positions


def supported(function: str, inputs: Sequence[str], dtype: str) -> bool:
    """Whether a call can be part of a kernel: as in `run_llvm`, for everything that is written there."""
    if function in {"cast", "where"}:
        return True
    entry = find(function, inputs[0][0])
    return entry is not None and entry.inputs == len(inputs) and len(set(inputs)) == 1


def compile_kernel(kernel: Kernel) -> Blocks:
    """Nothing is compiled; the kernel is read as it runs."""
    return Blocks(kernel)


class Blocks:
    """A kernel ready to run with NumPy."""

    compile_ns = 0
    from_cache = False

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def bind(self, sizes: Sequence[int] = (1,), threads: int = 1) -> BlockCall:
        """A call of this kernel for jobs with these sizes of the first axis; ``threads`` is not used."""
        del threads
        return BlockCall(self.kernel, sizes)

    def run(self, addresses: Sequence[int], size: int | None = None, threads: int = 1) -> None:
        """Run one job."""
        call = self.bind([size if size is not None else (self.kernel.grid or (1,))[0]], threads)
        call.set_addresses(0, addresses)
        call()


class BlockCall:
    """Call it to run the kernel on all jobs; see `gradviz.plan.kernels.call.Call`."""

    nbytes = 0  # of memory that each run uses again

    def __init__(self, kernel: Kernel, sizes: Sequence[int]) -> None:
        self.kernel = kernel
        self.sizes = tuple(sizes)
        self.columns = columns(kernel)
        self.table = (ctypes.c_int64 * (self.columns * len(self.sizes)))()
        self.run = self.__call__

    def set_addresses(self, job: int, addresses: Sequence[int]) -> None:
        """Where the parameters of a job lie."""
        start = job * self.columns + FIRST_ADDRESS
        self.table[start : start + len(addresses)] = list(addresses)

    def __call__(self) -> None:
        with np.errstate(all="ignore"):
            for job, size in enumerate(self.sizes):
                row = self.table[job * self.columns : (job + 1) * self.columns]
                _Job(self.kernel, row[FIRST_ADDRESS:], size).run()


class _Job:
    """One run of a kernel: what is the same for all its blocks."""

    def __init__(self, kernel: Kernel, addresses: list[int], size: int) -> None:
        self.kernel = kernel
        self.addresses = addresses
        self.grid = (size, *kernel.grid[1:]) if kernel.grid else ()
        self.written = {s.parameter for s in statements(kernel.body) if isinstance(s, Store | Reduce)}
        self.totals: dict[int, Any] = {}

    def run(self) -> None:
        for statement in self.kernel.body:
            if isinstance(statement, Reduce) and 0 in self.grid:
                parameter = self.kernel.parameters[statement.parameter]
                shape, strides = self._kept(statement.parameter)
                view = _view(self.addresses[statement.parameter], parameter.dtype, shape, strides)
                view[...] = identity(statement.function, parameter.dtype)
        if 0 in self.grid:
            return
        if not self.grid:
            _Block(self, (), 0).write(self.kernel.body)
            return
        rows = max(1, BLOCK // math.prod(self.grid[1:]))
        block = None
        for begin in range(0, self.grid[0], rows):
            shape = (min(rows, self.grid[0] - begin), *self.grid[1:])
            if block is None or block.shape != shape:
                block = _Block(self, shape, begin)
            block.begin = begin
            block.write(self.kernel.body)

    def _kept(self, parameter: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides of a result without the axes that are reduced."""
        moving = [(n, s) for n, s in zip(self.grid, self.kernel.parameters[parameter].strides, strict=True) if s]
        return tuple(n for n, _ in moving), tuple(s for _, s in moving)


class _Block:
    """Some rows of the grid, and the arrays of the names that are made there."""

    def __init__(self, job: _Job, shape: tuple[int, ...], begin: int) -> None:
        self.job = job
        self.kernel = job.kernel
        self.shape = shape
        self.begin = begin
        self.values: dict[Name, Any] = {}
        self.memory: dict[Name, np.ndarray] = {}
        self.loops: dict[int, int] = {}
        self.scratch = [np.empty((s.count, *shape), s.dtype) for s in self.kernel.scratch]

    def write(self, body: tuple[Any, ...]) -> None:
        for statement in body:
            match statement:
                case Compute(out, function, inputs, dtype):
                    call(function, [self.values[i] for i in inputs], self._memory(out, dtype))
                    self.values[out] = self.memory[out]
                case Load():
                    self.values[statement.out] = self._load(statement)
                case Store():
                    self._store(statement)
                case Keep(scratch, value, offset, steps):
                    self.scratch[scratch][self._moved(offset, steps)] = self.values[value]
                case Recall(out, scratch, offset, steps):
                    memory = self._memory(out, self.kernel.scratch[scratch].dtype)
                    memory[...] = self.scratch[scratch][self._moved(offset, steps)]
                    self.values[out] = memory
                case Constant(out, dtype, value):
                    self.values[out] = np.array(value).astype(dtype)
                case Loop():
                    self._loop(statement)
                case Reduce():
                    self._reduce(statement)

    def _memory(self, name: Name, dtype: str) -> np.ndarray:
        memory = self.memory.get(name)
        if memory is None:
            memory = self.memory[name] = np.empty(self.shape, dtype)
        return memory

    def _moved(self, offset: int, steps: Steps) -> int:
        return offset + sum(self.loops[loop] * step for loop, step in steps)

    def _place(self, parameter: int, offset: int, steps: Steps) -> int:
        strides = self.kernel.parameters[parameter].strides
        row = self.begin * strides[0] if self.shape else 0
        return self.job.addresses[parameter] + row + self._moved(offset, steps)

    def _load(self, load: Load) -> np.ndarray:
        _, number, offset, steps, index = load
        parameter = self.kernel.parameters[number]
        place = self._place(number, offset, steps)
        if index is None:
            view = _view(place, parameter.dtype, self.shape, parameter.strides)
        else:
            buffer, bytes_of = self._scattered(place, number, index)
            view = buffer[bytes_of].view(parameter.dtype)[..., 0]
        if index is None and number in self.job.written:
            memory = self._memory(load.out, parameter.dtype)
            memory[...] = view
            return memory
        return view

    def _store(self, store: Store) -> None:
        number, value, offset, steps, index = store
        parameter = self.kernel.parameters[number]
        place = self._place(number, offset, steps)
        if index is None:
            _view(place, parameter.dtype, self.shape, parameter.strides)[...] = self.values[value]
            return
        buffer, bytes_of = self._scattered(place, number, index)
        given = np.ascontiguousarray(np.broadcast_to(self.values[value], self.shape), parameter.dtype)
        buffer[bytes_of] = given.reshape((*self.shape, 1)).view(np.uint8)

    def _scattered(self, place: int, number: int, index: tuple[Name, int]) -> tuple[np.ndarray, np.ndarray]:
        """The bytes around all numbers that are meant, and which of them each number has."""
        parameter = self.kernel.parameters[number]
        where = np.broadcast_to(self.values[index[0]], self.shape).astype(np.int64) * index[1]
        for axis, (n, stride) in enumerate(zip(self.shape, parameter.strides, strict=True)):
            where = where + (np.arange(n) * stride).reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        size = np.dtype(parameter.dtype).itemsize
        low = int(where.min())
        buffer = _view(place + low, "u1", (int(where.max()) - low + size,), (1,))
        return buffer, (where - low)[..., None] + np.arange(size)

    def _loop(self, loop: Loop) -> None:
        for inside, first, _ in loop.carried:
            value = self.values[first]
            memory = self._memory(inside, np.asarray(value).dtype.str[1:])
            memory[...] = value
            self.values[inside] = memory
        for i in range(loop.count):
            self.loops[loop.number] = i
            if loop.counter is not None:
                self.values[loop.counter] = np.int64(i)
            self.write(loop.body)
            following = [np.array(self.values[last]) for _, _, last in loop.carried]
            for (inside, _, _), value in zip(loop.carried, following, strict=True):
                self.memory[inside][...] = value

    def _reduce(self, reduce: Reduce) -> None:
        parameter = self.kernel.parameters[reduce.parameter]
        value = np.broadcast_to(self.values[reduce.value], self.shape)
        axes = tuple(a for a, s in enumerate(parameter.strides) if s == 0)
        ufunc: Any = getattr(np, reduce.function)
        result = ufunc.reduce(value, axis=axes, dtype=parameter.dtype) if axes else value
        shape = tuple(n for a, n in enumerate(self.shape) if a not in axes)
        strides = tuple(s for s in parameter.strides if s)
        if 0 in axes:
            before = self.job.totals.get(reduce.parameter)
            result = result if before is None else ufunc(before, result)
            self.job.totals[reduce.parameter] = result
        place = self._place(reduce.parameter, 0, ())
        _view(place, parameter.dtype, shape, strides)[...] = result


def call(function: str, inputs: list[Any], out: np.ndarray) -> None:
    """``out[...] = function(*inputs)``."""
    name = ALIASES.get(function, function)
    match name:
        case "cast" | "copy":
            drops_imag = np.iscomplexobj(inputs[0]) and out.dtype.kind not in "cb"
            np.copyto(out, np.real(inputs[0]) if drops_imag else inputs[0], casting="unsafe")
        case "where":
            condition, x, y = inputs
            chosen = np.where(condition, x, y)
            out[...] = chosen
        case "real" | "imag" | "sinc":
            out[...] = getattr(np, name)(inputs[0])
        case _:
            ufunc: Any = getattr(np, name, None) or getattr(scipy.special, name)
            ufunc(*inputs, out=out)


def _view(address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The memory at an address as an array."""
    if 0 in shape:
        return np.empty(shape, dtype)
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    size = sum(r for r in reach if r > 0) - low + np.dtype(dtype).itemsize
    buffer: Any = (ctypes.c_char * size).from_address(address + low)
    return np.ndarray(shape, dtype, buffer, -low, strides)
