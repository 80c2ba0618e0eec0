"""The table of NumPy's functions in LLVM IR: who writes what.

It maps (function, kind of its inputs) to a writer, which writes one vector; kinds are the first letter of a dtype: f, c, i, u, b.
`real_functions`, `formulas` and `complex_functions` fill it, `functions` reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Function(NamedTuple):
    """How a function is written: ``write(code, dtype of the inputs, *inputs)``."""

    write: Callable[..., Any]
    inputs: int
    result: str  # "same", "bool", or "part": the dtype of a complex number's parts
    calls: tuple[str, ...] = ()  # functions of libm without which it cannot be written
    cost: float = 1.0  # roughly, in additions


TABLE: dict[tuple[str, str], Function] = {}

ALIASES = {
    "abs": "absolute", "conj": "conjugate", "true_divide": "divide", "mod": "remainder", "bitwise_not": "invert",
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh", "asinh": "arcsinh",
    "atanh": "arctanh", "pow": "power", "float_power": "power", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip


def writes(
    names: str, kinds: str, inputs: int, result: str = "same", calls: tuple[str, ...] = (), cost: float = 1.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a writer into the table."""

    def enter(write: Callable[..., Any]) -> Callable[..., Any]:
        for name in names.split():
            for kind in kinds:
                TABLE[name, kind] = Function(write, inputs, result, calls, cost)
        return write

    return enter
