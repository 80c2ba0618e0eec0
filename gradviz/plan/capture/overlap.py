"""Which arrays share memory with one that is going to be overwritten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from gradviz.plan.capture.devices import on_device

ndarray = np.ndarray


def overlapping(values: Sequence[Any], written: Collection[int]) -> tuple[int, int] | None:
    """The positions of an array among ``written`` and of another that shares memory with it; None if there are none.

    Arrays that are no views share memory with none but themselves, so that most calls end at the first test.
    """
    arrays = [
        (k, value) for k, value in enumerate(values) if (type(value) is ndarray or on_device(value)) and value.size
    ]
    if all(value.base is None for _, value in arrays) and len({id(value) for _, value in arrays}) == len(arrays):
        return None
    spans = sorted((*span(value), k) for k, value in arrays)
    reached: list[tuple[int, int]] = []  # (last byte, position) of arrays that began earlier and reach on
    for first, last, k in spans:
        reached = [(end, other) for end, other in reached if end > first]
        for _, other in reached:
            if (k in written or other in written) and share(values[k], values[other]):
                return (k, other) if k in written else (other, k)
        reached.append((last, k))
    return None


def share(a: Any, b: Any) -> bool:
    """Whether arrays whose bytes lie between each other share any; on a device that is taken for granted."""
    return type(a) is not ndarray or np.shares_memory(a, b)


def span(value: Any) -> tuple[int, int]:
    """First byte, and the one behind the last."""
    if type(value) is ndarray:
        return np.lib.array_utils.byte_bounds(value)
    reach = [(n - 1) * s for n, s in zip(value.shape, value.strides, strict=True)]
    start = value.data.ptr
    return start + sum(r for r in reach if r < 0), start + sum(r for r in reach if r > 0) + value.itemsize


def address(array: Any) -> int:
    """Where the first entry of an array lies."""
    return array.__array_interface__["data"][0]
