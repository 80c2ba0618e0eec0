"""What of a Python value can stand in strict JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def jsonable(value: Any) -> Any:
    """``value`` made of dicts, lists, texts, finite numbers, booleans and None only.

    NumPy scalars and arrays become numbers and lists, NaN and infinities become None, anything unknown its text.

    Examples
    --------
    >>> jsonable({"share": float("nan"), "count": np.int64(3), "events": (1, 2)})
    {'share': None, 'count': 3, 'events': [1, 2]}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return jsonable(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    return str(value)
