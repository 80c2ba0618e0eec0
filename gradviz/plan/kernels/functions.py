"""NumPy's functions as kernels have them: which there are, what they cost, and how reductions combine."""

from __future__ import annotations

import math
from typing import Any

from gradviz.plan.kernels import complex_functions, formulas, real_functions
from gradviz.plan.kernels.code import Code, itemsize
from gradviz.plan.kernels.table import ALIASES, TABLE, Function

WRITERS = (real_functions, formulas, complex_functions)  # importing them has filled the table


def find(function: str, kind: str) -> Function | None:
    return TABLE.get((ALIASES.get(function, function), kind))


def combine(c: Code, function: str, dtype: str, x: Any, y: Any) -> Any:
    """Two results of a reduction made one."""
    return TABLE[function, dtype[0]].write(c, dtype, x, y)


def identity(function: str, dtype: str) -> Any:
    """The number that changes nothing when it is combined with others; -0 for sums, as 0 would change -0."""
    kind = dtype[0]
    match function:
        case "add":
            return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(kind, 0)
        case "multiply" | "logical_and":
            return 1
        case "logical_or":
            return 0
    lowest = function == "maximum"
    if kind == "f":
        return -math.inf if lowest else math.inf
    if kind == "b":
        return not lowest
    bits = 8 * itemsize(dtype)
    if kind == "u":
        return 0 if lowest else (1 << bits) - 1
    return -(1 << (bits - 1)) if lowest else (1 << (bits - 1)) - 1
