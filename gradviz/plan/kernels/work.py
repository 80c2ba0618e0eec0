"""How much a kernel does: bytes, operations, and how many statements wait for each other."""

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


def in_a_row(kernel: Kernel) -> tuple[int, int]:
    """(statements, loads inside loops) that a position runs one after the other."""

    def of(body: tuple[Any, ...], inside: bool) -> tuple[int, int]:
        statements = loads = 0
        for s in body:
            if isinstance(s, Loop):
                more = of(s.body, True)
                statements, loads = statements + s.count * more[0], loads + s.count * more[1]
            else:
                statements, loads = statements + 1, loads + (inside and isinstance(s, Load))
        return statements, loads

    return of(kernel.body, False)
