"""What runs kernels here: machine code where llvmlite is installed (``pip install gradviz[jit]``), else NumPy, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz.plan import run_blocks, run_llvm
from gradviz.plan.kernel import Kernel

RUNNER: Any = run_llvm if run_llvm.available() else run_blocks


def supported(function: str, inputs: Sequence[str], dtype: str) -> bool:
    """Whether a call can be part of a kernel here."""
    return RUNNER.supported(function, inputs, dtype)


def compile_kernel(kernel: Kernel) -> Any:
    """A kernel made ready to run."""
    return RUNNER.compile_kernel(kernel)
