"""``r_`` and ``c_``, which join what stands between their brackets. NumPy's own make plain arrays of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.numpy.creation import asarray


class Joiner:
    """`numpy.r_` and `numpy.c_`: arrays, numbers and slices (for ranges), joined along an axis.

    A first item such as ``"1,2,0"`` says along which axis, to how many dimensions each item is brought, and where its own axes
    then stand. See `numpy.r_`.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.grad(lambda x: np.sum(gv.numpy.r_[x, 0.0, 1:3, x] * np.arange(7.0)))(np.ones(2))
    array([5., 7.])
    """

    def __init__(self, numpys: Any, axis: int, ndmin: int, start: int) -> None:
        self.numpys = numpys
        self.axis, self.ndmin, self.start = axis, ndmin, start

    def __getitem__(self, items: Any) -> Any:
        """The items joined."""
        if not _holds_traced(items):
            return self.numpys[items]
        items = items if isinstance(items, tuple) else (items,)
        axis, ndmin, start = self.axis, self.ndmin, self.start
        if isinstance(items[0], str):
            axis, ndmin, start = _directive(items[0], axis, ndmin, start)
            items = items[1:]
        return np.concatenate([_raised(_array(item), ndmin, start) for item in items], axis=axis)

    def __len__(self) -> int:
        return 0


def _holds_traced(items: Any) -> bool:
    return isinstance(items, Array) or (isinstance(items, (tuple, list)) and any(map(_holds_traced, items)))


def _directive(text: str, *defaults: int) -> tuple[int, ...]:
    """``"0,2"``; what is not said stays."""
    if text in ("r", "c"):
        raise TypeError(f"{text!r} asks for a matrix, of which there are no traced ones: leave it out")
    said = [int(number) for number in text.split(",")]
    return (*said, *defaults[len(said) :])


def _array(item: Any) -> Any:
    return asarray(np.r_[item] if isinstance(item, slice) else item)


def _raised(item: Any, ndmin: int, start: int) -> Any:
    """The item with axes of length 1 around its own, of one dimension at least."""
    shape = np.shape(item)
    missing = max(ndmin - len(shape), 0)
    before = min(start if start >= 0 else start + missing + 1, missing) if shape else missing
    return np.reshape(item, (1,) * before + shape + (1,) * (missing - before))


r_ = Joiner(np.r_, 0, 1, -1)
c_ = Joiner(np.c_, -1, 2, 0)
