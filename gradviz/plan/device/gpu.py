"""A GPU as plans see it, by way of CuPy: kernels that NVRTC compiles from our CUDA C, products by cuBLAS or cuTENSOR, graphs of launches.

Launches that follow each other are captured into a CUDA graph when they run for the second time, and launched as one from then on. All
that differs between calls stands in a table in the GPU's memory (`gradviz.plan.device.words`), which is why a graph needs neither be
captured anew nor updated when arrays lie elsewhere. Nothing is allocated while a graph is captured: its memory is the arena's, so it has
no pool of its own. CuPy captures nothing of cuBLAS (cupy#6290), so products stand between graphs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from time import perf_counter_ns
from typing import Any

import numpy as np

from gradviz.devices.cuda.capture import is_refusal
from gradviz.devices.cuda.streams import is_capturing
from gradviz.errors import OtherDeviceError
from gradviz.plan.cuda.emit import emit
from gradviz.plan.cuda.passes import THREADS, plan
from gradviz.plan.device.machine import Task, in_order
from gradviz.plan.kernels.kernel import Kernel

OPTIONS = ("--std=c++17",)
ALIGN = 256  # as CUDA's allocator
SENT = 200  # words of one launch: arguments have 4 KiB
ARGUMENTS = np.dtype([("count", np.int64), ("word", np.int64, (SENT,)), ("value", np.int64, (SENT,))])
SEND = f"""
struct Words {{ long long count; long long word[{SENT}]; long long value[{SENT}]; }};
extern "C" __global__ void send_words(long long* table, Words words) {{
  for (long long i = threadIdx.x; i < words.count; i += blockDim.x) table[words.word[i]] = words.value[i];
}}
"""

Function = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], object]  # (grid, block, arguments)


@cache
def functions(cupy: Any, number: int, code: str, names: tuple[str, ...]) -> dict[str, Function]:
    """The functions of a source, compiled for a GPU; CuPy keeps what it compiled on disk."""
    del number  # what is compiled for one GPU is loaded for that one
    module = cupy.RawModule(code=code, options=OPTIONS)
    return {name: module.get_function(name) for name in names}


class CudaMachine:
    """See `gradviz.plan.device.machine.Machine`."""

    simulated = False

    def __init__(self, device: Any) -> None:
        self.device, self.cupy, self.name = device, device.cupy, device.name
        self.ndarray: Any = device.cupy.ndarray

    def load(self, code: str, names: Sequence[str]) -> dict[str, Function]:
        return functions(self.cupy, self.device.number, code, tuple(names))

    def follow(self, stream: Any) -> Any:
        cuda = self.cupy.cuda
        if self.device.is_there and cuda.runtime.getDevice() != self.device.number:
            raise OtherDeviceError(
                f"A plan for arrays on {self.name} was called while another GPU is current. Call it inside "
                f"cupy.cuda.Device({self.device.number})."
            )
        now = cuda.get_current_stream()
        if stream is not None and stream.ptr != now.ptr:
            now.wait_event(stream.record(cuda.Event(disable_timing=True)))
        return now

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.ndarray(shape, dtype)

    def upload(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(np.ascontiguousarray(array))

    def view(self, array: Any, offset: int, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> Any:
        return self.ndarray(shape, dtype, array.data + offset, strides)

    def pointer(self, array: Any) -> int:
        return array.data.ptr

    def memory(self, array: Any) -> object:
        return array.data.mem

    def send(self, table: Any, words: np.ndarray, values: np.ndarray) -> None:
        function = self.load(SEND, ["send_words"])["send_words"]
        for start in range(0, words.size, SENT):
            given = np.zeros((), ARGUMENTS)  # passed by value, as it has one entry
            given["count"] = count = min(SENT, words.size - start)
            given["word"][:count] = words[start : start + count]
            given["value"][:count] = values[start : start + count]
            function((1,), (THREADS,), (table, given))

    def launcher(self, kernel: Kernel, jobs: int, name: str) -> CudaLauncher:
        del name  # a profile has the names of the steps
        return CudaLauncher(self, kernel, jobs)

    def segment(self, tasks: Sequence[Task]) -> Task:
        return tasks[0] if len(tasks) == 1 else Segment(self.cupy, tasks)

    def product(self, out: Any, x: Any, y: Any, alpha: Any, ways: tuple[str, str]) -> None:
        tensors = cutensor() if "C" in ways else None
        if tensors is None:  # a conjugate costs a copy here
            operations = {"N": "N", "T": "T", "C": "H"}
            gemm()(operations[ways[0]], operations[ways[1]], x, y, out, alpha, 0.0)
            return
        contraction, conjugate, identity = tensors
        (left, op_left), (right, op_right) = (
            (axes if way == "N" else axes[::-1], conjugate if way == "C" else identity)
            for axes, way in zip(("mk", "kn"), ways, strict=True)
        )
        contraction(alpha, x, left, y, right, 0.0, out, "mn", op_A=op_left, op_B=op_right)


@cache
def gemm() -> Callable[..., Any]:
    """CuBLAS's product of matrices, as CuPy calls it: ``gemm(way, way, a, b, out, alpha, beta)``."""
    return import_module("cupy.cublas").gemm


@cache
def cutensor() -> tuple[Callable[..., Any], Any, Any] | None:
    """(contraction, the operator that conjugates, the one that does not) of cuTENSOR; None where it cannot be imported."""
    try:
        operators = import_module("cupy_backends.cuda.libs.cutensor")
        return import_module("cupyx.cutensor").contraction, operators.OP_CONJ, operators.OP_IDENTITY
    except ImportError:
        return None


class CudaLauncher:
    """See `gradviz.plan.device.machine.Launcher`."""

    def __init__(self, machine: CudaMachine, kernel: Kernel, jobs: int) -> None:
        start_ns = perf_counter_ns()
        prefix = f"k{hashlib.sha256(repr(kernel).encode()).hexdigest()[:16]}_"
        source = emit(kernel, prefix)
        first = kernel.grid[0] if kernel.grid else 1
        self.plan = plan(kernel, source.passes, source.names, [first] * jobs, THREADS)
        self.functions = machine.load(source.module, [launch.function for launch in self.plan.launches])
        self.compile_ns = perf_counter_ns() - start_ns
        each = -(-self.plan.partial_nbytes // ALIGN) * ALIGN
        self.kept = (
            machine.empty((max(each * jobs, 1),), np.uint8),
            machine.empty((max(self.plan.scratch_nbytes, 1),), np.uint8),
        )
        self.partials = [machine.pointer(self.kept[0]) + each * job for job in range(jobs)]
        self.scratch = machine.pointer(self.kept[1])
        self.nbytes = each * jobs + self.plan.scratch_nbytes
        self.launches, self.jobs = len(self.plan.launches), jobs

    def bind(self, table: int) -> Task:
        calls = [
            (
                self.functions[made.function],
                (made.blocks, made.jobs),
                (made.threads,),
                (table, self.jobs, made.chunks, self.scratch),
            )
            for made in self.plan.launches
        ]

        def launch() -> None:
            for function, grid, block, arguments in calls:
                function(grid, block, arguments)

        return launch


class Segment:
    """Launches that follow each other: a graph from the second time on."""

    def __init__(self, cupy: Any, tasks: Sequence[Task]) -> None:
        self.cuda = cupy.cuda
        self.run = in_order(tasks)
        self.graph: Any = None
        self.times = 0

    def __call__(self) -> None:
        stream = self.cuda.get_current_stream()
        if is_capturing(stream):  # into somebody else's graph
            self.run()
            return
        self.times += 1
        if self.times == 2:
            self.graph = self.captured()
        if self.graph is None:
            self.run()
        else:
            self.graph.launch(stream)

    def captured(self) -> Any:
        """The graph; None if CUDA refuses."""
        stream = self.cuda.Stream(non_blocking=True)  # the default stream is not captured
        with stream:
            stream.begin_capture()
            try:
                self.run()
            finally:
                try:
                    graph = stream.end_capture()
                except Exception as error:
                    if not is_refusal(error):
                        raise
                    graph = None
        return graph
