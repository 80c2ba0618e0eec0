"""A simulated GPU as plans see it: the host's machine code computes, the clock of the model is charged what a GPU would do.

Launches are those that the CUDA C of the same kernel would take. Nothing is said of graphs: every launch is charged by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.devices.sim import SimArray
from gradviz.devices.sim.stream import Stream, current_stream
from gradviz.plan.cuda.passes import THREADS, passes, plan
from gradviz.plan.device.machine import Task, in_order
from gradviz.plan.kernels.entries import FIRST_ADDRESS
from gradviz.plan.kernels.kernel import Kernel
from gradviz.plan.kernels.runner import compile_kernel
from gradviz.plan.kernels.work import in_a_row, moved, operations

# Assumed: a thread's statements follow each other at the latency of one, some six cycles; what a loop loads takes a quarter of the way
# to memory and back, as compilers load a few iterations ahead.
STATEMENT_NS = 4
LOAD_NS = 100


class SimMachine:
    """See `gradviz.plan.device.machine.Machine`."""

    simulated = True

    def __init__(self, device: Any) -> None:
        self.device = device
        self.name = device.name

    def follow(self, stream: Stream | None) -> Stream:
        now = current_stream(self.device)
        if stream is not None and stream is not now:
            now.wait_event(stream.record(self.device.xp.cuda.Event(disable_timing=True)))
        return now

    def empty(self, shape: tuple[int, ...], dtype: Any) -> SimArray:
        return self.device.new(np.empty(shape, dtype))

    def upload(self, array: np.ndarray) -> SimArray:
        return self.device.asarray(np.ascontiguousarray(array))

    def view(
        self, array: SimArray, offset: int, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]
    ) -> SimArray:
        owner = array if array.base is None else array.base
        low, high = np.lib.array_utils.byte_bounds(owner._host)
        memory: Any = (ctypes.c_char * max(high - low, 1)).from_address(low)
        host = np.ndarray(shape, dtype, memory, self.pointer(array) + offset - low, strides)
        return SimArray(host, array._memory, self.device, owner)

    def pointer(self, array: SimArray) -> int:
        return array._host.__array_interface__["data"][0]

    def memory(self, array: SimArray) -> object:
        return array._memory

    def send(self, table: SimArray, words: np.ndarray, values: np.ndarray) -> None:
        table._host[words] = values
        self.device.launch("words", values.nbytes, self.device.preset.ufunc_ns)

    def launcher(self, kernel: Kernel, jobs: int, name: str) -> SimLauncher:
        return SimLauncher(self, kernel, jobs, name)

    def segment(self, tasks: Sequence[Task]) -> Task:
        return in_order(tasks)

    def product(self, out: SimArray, x: SimArray, y: SimArray, alpha: Any, ways: tuple[str, str]) -> None:
        left, right = (turned(a._host, way) for a, way in zip((x, y), ways, strict=True))
        with np.errstate(all="ignore"):
            out._host[...] = alpha * (left @ right)
        flops = 2 * out.size * left.shape[-1] * (4 if out.dtype.kind == "c" else 1)
        nbytes = x.nbytes + y.nbytes + out.nbytes
        self.device.launch("gemm", nbytes, self.device.preset.product_ns, flops, out.dtype.char, matrix=True)


class SimLauncher:
    """See `gradviz.plan.device.machine.Launcher`."""

    def __init__(self, machine: SimMachine, kernel: Kernel, jobs: int, name: str) -> None:
        self.device, self.name = machine.device, name
        first = kernel.grid[0] if kernel.grid else 1
        walks = passes(kernel)
        made = plan(kernel, walks, [name] * len(walks), [first] * jobs, THREADS)
        compiled = compile_kernel(kernel)
        self.compile_ns: int = compiled.compile_ns
        self.nbytes = made.partial_nbytes * jobs + made.scratch_nbytes
        self.partials = [0] * jobs
        self.launches = len(made.launches)
        self.call = compiled.bind([first] * jobs)
        self.jobs = jobs
        char = np.dtype(max((p.dtype for p in kernel.parameters), key=lambda d: int(d[1:]), default="f8")).char
        statements, loads = in_a_row(kernel)
        self.work = (jobs * moved(kernel), jobs * operations(kernel), char, statements * STATEMENT_NS + loads * LOAD_NS)

    def bind(self, table: int) -> Task:
        columns = self.call.columns
        given = (ctypes.c_int64 * (columns * self.jobs)).from_address(table)
        width = columns - FIRST_ADDRESS
        nbytes, flops, char, least_ns = self.work
        device, preset = self.device, self.device.preset

        def launch() -> None:
            for job in range(self.jobs):
                start = job * columns + FIRST_ADDRESS
                self.call.table[start : start + width] = given[start : start + width]
            self.call.run()
            device.launch(self.name, nbytes, preset.ufunc_ns, flops, char, least_ns=least_ns)
            for _ in range(self.launches - 1):
                device.launch(f"{self.name} (joined)", 0, preset.ufunc_ns)

        return launch


def turned(x: np.ndarray, way: str) -> np.ndarray:
    return x if way == "N" else x.T if way == "T" else x.conj().T
