"""Which functions make the host wait on their own: CuPy reads a value to find a shape or to check one.

From CuPy 14's sources, for each function the reads that end in ``ndarray.get``.
"""

from __future__ import annotations

from typing import Any

from gradviz.devices.sim.array import SimArray
from gradviz.devices.waiting import SHAPES

# Values are checked, or steer the algorithm.
CHECKS = {
    "bincount": ("int", "int"),
    "cond": ("bool",),
    "histogram": ("item",),
    "histogram2d": ("item",),
    "histogramdd": ("item",),
    "nanmax": ("bool",),
    "nanmin": ("bool",),
    "ravel_multi_index": ("bool",),
    "real_if_close": ("bool",),
    "shares_memory": ("bool",),
}


def hidden_reads(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """The triggers of a call, one for each time the host waits."""
    if name in SHAPES or (name == "where" and len(args) == 1 and not kwargs):
        return ("shape",)
    if name in CHECKS:
        return CHECKS[name]
    conditional = CONDITIONAL.get(name)
    return conditional(args, kwargs) if conditional else ()


def _repeat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    counts = args[1] if len(args) > 1 else kwargs.get("repeats")
    return ("item", "get") if counts.__class__ is SimArray else ()


def _average(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    weights = args[2] if len(args) > 2 else kwargs.get("weights")
    return () if weights is None else ("bool",)


def _percentile(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    q = args[1] if len(args) > 1 else kwargs.get("q")
    return ("bool",) if q.__class__ is SimArray else ()


def _gradient(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    return ("bool",) * sum(part.__class__ is SimArray and part.ndim > 0 for part in args[1:])


def _array_equal(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    return ("bool",) if kwargs.get("equal_nan") else ()


def _choose(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    mode = args[3] if len(args) > 3 else kwargs.get("mode", "raise")
    return ("bool",) if mode == "raise" else ()


CONDITIONAL = {
    "array_equal": _array_equal,
    "average": _average,
    "choose": _choose,
    "gradient": _gradient,
    "percentile": _percentile,
    "quantile": _percentile,
    "repeat": _repeat,
}
