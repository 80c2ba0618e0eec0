"""What runs kernels here: machine code where llvmlite is installed (``pip install gradviz[jit]``), else NumPy, block by block."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gradviz.plan.kernels import run_blocks, run_llvm
from gradviz.plan.kernels.kernel import Kernel


@functools.cache
def runner() -> Any:
    """The module that does it. Asked for by the first plan only: llvmlite takes 50 ms to import."""
    return run_llvm if run_llvm.available() else run_blocks


def supported(function: str, inputs: Sequence[str], dtype: str) -> bool:
    """Whether a call can be part of a kernel here."""
    return runner().supported(function, inputs, dtype)


def compile_kernel(kernel: Kernel) -> Any:
    """A kernel made ready to run."""
    return runner().compile_kernel(kernel)
