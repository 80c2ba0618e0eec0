"""Kernels run as machine code: compiled by LLVM for this processor, kept on disk, called through ctypes.

    compiled = compile_kernel(kernel)              # 10–30 ms, or 1 ms if it was compiled before
    call = compiled.bind([n], threads=2)           # one job of n positions along the first axis
    call.set_addresses(0, [x.ctypes.data, y.ctypes.data])
    call()                                         # half a microsecond, and the work

Accuracy: one operation is within 4 ulp of the exact result; +, −, ×, ÷ and sqrt of real numbers are correctly rounded, except that a
product may be added to something without being rounded first (LLVM's ``contract``). Sums are taken in a fixed order that does not depend
on the number of threads.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import platform
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

from gradviz.plan.kernels import cache
from gradviz.plan.kernels.call import Call
from gradviz.plan.kernels.code import SCALARS, part
from gradviz.plan.kernels.emit import emit
from gradviz.plan.kernels.functions import find
from gradviz.plan.kernels.kernel import Kernel
from gradviz.plan.kernels.layout import Layout, lay_out
from gradviz.plan.kernels.vector_math import Library, host_library

EMITTER = "1"  # another text for the same kernel: another number
MOST_CALLS = 8  # that a kernel keeps: each has its scratch
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def available() -> bool:
    """Whether llvmlite is there."""
    try:
        import llvmlite.binding  # noqa: F401
    except ImportError:
        return False
    return True


def supported(function: str, inputs: Sequence[str], dtype: str) -> bool:
    """Whether a call can be part of a kernel: ``function`` of inputs with these dtypes, giving ``dtype``.

    >>> supported("sin", ["f8"], "f8"), supported("sin", ["i8"], "f8")
    (True, False)
    """
    if dtype not in SCALARS or any(i not in SCALARS for i in inputs):
        return False
    if function == "cast":
        return len(inputs) == 1
    if function == "where":
        return len(inputs) == 3 and inputs[0] == "b1" and inputs[1] == inputs[2] == dtype
    if len(set(inputs)) != 1:
        return False
    entry = find(function, inputs[0][0])
    if entry is None or entry.inputs != len(inputs):
        return False
    result = {"same": inputs[0], "bool": "b1", "part": part(inputs[0])}[entry.result]
    return result == dtype and all(host_library().has(name) for name in entry.calls)


class Compiled:
    """A kernel's machine code.

    Attributes
    ----------
    kernel : Kernel
    layout : Layout
        Sizes of blocks, chunks and scratch.
    compile_ns : int
        How long it took to have the machine code, in nanoseconds.
    from_cache : bool
        Whether it was on disk.
    """

    def __init__(self, kernel: Kernel, layout: Layout, library: Any, prefix: str) -> None:
        self.kernel = kernel
        self.layout = layout
        self.compile_ns = 0
        self.from_cache = False
        self._library = library  # the code lives as long as this
        self.enter_run = ENTRY(library[prefix + "run"])
        self.enter_finish = ENTRY(library[prefix + "finish"])
        self.enter_jobs = ENTRY(library[prefix + "jobs"])
        self._calls: dict[tuple[int, int], Call] = {}

    def bind(self, sizes: Sequence[int] = (1,), threads: int = 1) -> Call:
        """A call of this kernel for jobs with these sizes of the first axis, on at most ``threads`` threads."""
        return Call(self, sizes, threads)

    def run(self, addresses: Sequence[int], size: int | None = None, threads: int = 1) -> None:
        """Run one job: the address of every parameter, and the size of the first axis if it is not the planned one."""
        if size is None:
            size = self.kernel.grid[0] if self.kernel.grid else 1
        call = self._calls.get((size, threads))
        if call is None:
            if len(self._calls) == MOST_CALLS:
                self._calls.clear()
            call = self._calls[size, threads] = self.bind([size], threads)
        call.set_addresses(0, addresses)
        call()


def compile_kernel(kernel: Kernel, library: Library | None = None) -> Compiled:
    """The machine code of a kernel: compiled, read from disk, or still here from the last time.

    Parameters
    ----------
    kernel : Kernel
    library : Library, optional
        What the code may call and how wide its vectors are; without it, all that this machine has.

    Raises
    ------
    NotImplementedError
        If a function of it is not `supported`.
    """
    start = time.perf_counter_ns()
    machine = _machine()
    library = library or host_library()
    layout = lay_out(kernel, library.vector_bytes)
    anywhere = (
        kernel._replace(grid=(0, *kernel.grid[1:])) if kernel.grid else kernel
    )  # only the layout knows the first axis
    name = cache.key(EMITTER, machine.description, library.description, repr(anywhere), repr(layout))
    with machine.lock:
        found = machine.compiled.get(name)
        if found is not None:
            return found
        image = cache.load(name)
        from_cache = image is not None
        if image is None:
            image = machine.assemble(emit(kernel, layout, library, "k_"))
            cache.store(name, image)
        compiled = Compiled(kernel, layout, machine.load(image), "k_")
        compiled.from_cache = from_cache
        compiled.compile_ns = time.perf_counter_ns() - start
        machine.compiled[name] = compiled
        return compiled


class Machine:
    """LLVM set up for this processor."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple = llvm.get_process_triple()
        processor = llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_triple(triple)
        self.target = target.create_target_machine(processor, features, opt=2, reloc="pic", jit=True)
        self.jit = llvm.create_lljit_compiler(target.create_target_machine(processor, features, opt=2, jit=True))
        self.symbols = host_library().addresses
        self.description = " ".join(
            [
                triple,
                processor,
                features,
                llvmlite.__version__,
                str(llvm.llvm_version_info),
                platform.libc_ver()[1],
            ]
        )
        self.compiled: weakref.WeakValueDictionary[str, Compiled] = weakref.WeakValueDictionary()
        self.lock = threading.RLock()
        self._numbers = itertools.count()

    def assemble(self, text: str) -> bytes:
        """The object file of a module's text."""
        llvm = self.llvm
        module = llvm.parse_assembly(text)
        module.verify()
        self._simplify(module)
        return self.target.emit_object(module)

    def _simplify(self, module: Any) -> None:
        """Registers instead of memory, no repeated work; our vectors are made already, so LLVM's vectorisers have nothing to do."""
        llvm = self.llvm
        builder = llvm.create_pass_builder(self.target, llvm.create_pipeline_tuning_options(speed_level=2))
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)

    def load(self, image: bytes) -> Any:
        """Bring an object file into memory; what is returned maps the names of its functions to addresses."""
        builder = self.llvm.JITLibraryBuilder()
        builder.add_object_img(image)
        for entry in ("k_run", "k_finish", "k_jobs"):
            builder.export_symbol(entry)
        builder.add_current_process()
        for name, address in self.symbols.items():
            if name.encode() in image:
                builder.import_symbol(name, address)
        return builder.link(self.jit, f"kernel{next(self._numbers)}")


@functools.cache
def _machine() -> Machine:
    return Machine()
