"""CUDA C run on the host: the very text that a GPU would get, compiled as C++ beside ``host_gpu.h``.

The interface is that of `gradviz.plan.kernels.run_llvm`; `compile_kernels` takes many at once, as one file of C++ compiles faster than a
hundred.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gradviz.plan.cuda.emit import Source, emit
from gradviz.plan.cuda.passes import THREADS, plan
from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.kernels.kernel import Kernel

HEADER = Path(__file__).with_name("host_gpu.h")
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-fno-strict-aliasing", "-ffp-contract=off")


class HostGpu:
    """Kernels as a library of the host's."""

    def __init__(self, sources: Sequence[str], flags: Sequence[str] = ()) -> None:
        compiler = shutil.which("g++")
        if compiler is None:
            raise RuntimeError("these tests run CUDA C on the host, and need a C++ compiler: apt-get install g++")
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "kernels.cpp"
            text.write_text("\n".join([f'#include "{HEADER}"', *sources]))
            library = text.with_suffix(".so")
            ran = subprocess.run(
                [compiler, *FLAGS, *flags, text, "-o", library], check=False, capture_output=True, text=True
            )
            assert ran.returncode == 0, ran.stderr[:4000]
            self.compiled: Any = ctypes.CDLL(str(library))
        size, pointer = ctypes.c_int64, ctypes.c_void_p
        self.compiled.launch.argtypes = [pointer, *[ctypes.c_uint] * 3, pointer, size, size, pointer]

    def launch(
        self, name: str, blocks: int, rows: int, threads: int, table: int, jobs: int, chunks: int, scratch: int
    ) -> None:
        """``name<<<(blocks, rows), threads>>>(table, jobs, chunks, scratch)``, done when it returns."""
        function = ctypes.cast(getattr(self.compiled, name), ctypes.c_void_p)
        self.compiled.launch(function, blocks, rows, threads, table, jobs, chunks, scratch)


class Engine:
    """Runs kernels that were compiled together."""

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self.sources = {kernel: emit(kernel, prefix_of(kernel)) for kernel in kernels}
        self.gpu = HostGpu([source.text for source in self.sources.values()])

    def compile_kernel(self, kernel: Kernel) -> Compiled:
        return Compiled(kernel, self.sources[kernel], self.gpu)


def prefix_of(kernel: Kernel) -> str:
    return f"k{hashlib.sha256(repr(kernel).encode()).hexdigest()[:16]}_"


class Compiled:
    def __init__(self, kernel: Kernel, source: Source, gpu: HostGpu) -> None:
        self.kernel, self.source, self.gpu = kernel, source, gpu

    def bind(self, sizes: Sequence[int] = (1,), threads: int = 1) -> Call:
        """``threads`` 1 is a GPU whose blocks are small, so that there are more of them."""
        return Call(self, sizes, 64 if threads == 1 else THREADS)

    def run(self, addresses: Sequence[int], size: int) -> None:
        call = self.bind([size])
        call.set_addresses(0, addresses)
        call()


class Call:
    def __init__(self, compiled: Compiled, sizes: Sequence[int], threads: int) -> None:
        kernel, source = compiled.kernel, compiled.source
        self.gpu, self.jobs, self.columns = compiled.gpu, len(sizes), columns(kernel)
        self.plan = plan(kernel, source.passes, source.names, sizes, threads)
        self.table = (ctypes.c_int64 * (self.columns * self.jobs))()
        self.partials = [ctypes.create_string_buffer(self.plan.partial_nbytes + 16) for _ in sizes]
        self.scratch = ctypes.create_string_buffer(self.plan.scratch_nbytes + 16)
        for job, size in enumerate(sizes):
            self.table[job * self.columns] = size
            self.table[job * self.columns + 1] = -(-ctypes.addressof(self.partials[job]) // 16) * 16

    def set_addresses(self, job: int, addresses: Sequence[int]) -> None:
        start = job * self.columns + FIRST_ADDRESS
        self.table[start : start + len(addresses)] = list(addresses)

    def __call__(self) -> None:
        table, scratch = ctypes.addressof(self.table), -(-ctypes.addressof(self.scratch) // 16) * 16
        for launch in self.plan.launches:
            self.gpu.launch(
                launch.function, launch.blocks, launch.jobs, launch.threads, table, self.jobs, launch.chunks, scratch
            )
