"""The numbers in a slope: their precision, and quotients of two zeros."""

from __future__ import annotations

from typing import Any

import numpy as np


def settled(value: Any, *inputs: Any) -> Any:
    """A slope in the precision that NumPy would give the inputs together; several of SciPy's ufuncs read a Python number as a float64."""
    kind = np.result_type(*inputs)
    return value.astype(kind) if getattr(value, "dtype", kind) != kind else value


def number(value: Any, *parameters: Any) -> Any:
    """What was computed from ``parameters``, as a Python number if they all are: NumPy's own would make float64 of float32 arrays."""
    return float(value) if all(type(p) in (int, float) for p in parameters) else value


def quotient(value: Any, x: Any, at_zero: Any) -> Any:
    """``value / x``, and its limit where x is 0."""
    zero = x == 0
    return np.where(zero, at_zero, value / np.where(zero, 1, x))
