"""Whether a cotangent has decayed into subnormal numbers, on which processors are slow."""

from __future__ import annotations

from typing import Any

import numpy as np

TINIEST = 2.2250738585072014e-308  # smallest normal double


def denormals(value: Any) -> int:
    """How many entries of a cotangent are subnormal; -1 where looking would cost more than it tells."""
    if isinstance(value, float):
        return int(0.0 < abs(value) < TINIEST)
    if type(value) is np.ndarray and 0 < value.size <= 64 and value.dtype == np.float64 and value.flags.c_contiguous:
        size = np.abs(value)
        return int(np.count_nonzero((size < TINIEST) & (size > 0)))
    return -1
