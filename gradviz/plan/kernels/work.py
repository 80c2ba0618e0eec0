"""How much a kernel does: bytes, operations, and how many statements follow each other."""

from __future__ import annotations

import math
from typing import Any

from gradviz.plan.kernels.code import is_complex, itemsize
from gradviz.plan.kernels.functions import find
from gradviz.plan.kernels.kernel import Compute, Kernel, Load, Loop, Reduce, Store


def moved(kernel: Kernel) -> int:
    """Bytes that its loads and stores move."""
    positions = math.prod(kernel.grid)

    def of(body: tuple[Any, ...], times: int) -> int:
        total = 0
        for s in body:
            if isinstance(s, Loop):
                total += of(s.body, times * s.count)
            elif isinstance(s, (Load, Store, Reduce)):
                p = kernel.parameters[s.parameter]
                everywhere = any(p.strides)
                total += itemsize(p.dtype) * times * (positions if everywhere else 1)
        return total

    return of(kernel.body, 1)


def operations(kernel: Kernel) -> float:
    """Operations on numbers, in additions."""

    def of(body: tuple[Any, ...]) -> float:
        total = 0.0
        for s in body:
            if isinstance(s, Loop):
                total += s.count * of(s.body)
            elif isinstance(s, Compute):
                function = find(s.function, s.dtype[0])
                total += (function.cost if function else 1.0) * (2 if is_complex(s.dtype) else 1)
        return total

    return math.prod(kernel.grid) * of(kernel.body)


def depth(kernel: Kernel) -> int:
    """Statements that a position runs one after the other."""

    def of(body: tuple[Any, ...]) -> int:
        return sum(s.count * of(s.body) if isinstance(s, Loop) else 1 for s in body)

    return of(kernel.body)
