"""Learning rates that change: each makes a function of the number of steps taken before.

They compute and never branch on the count, so a compiled step has one plan for all counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradviz.optim.optimizer import Schedule


def constant(value: float) -> Schedule:
    """The same value at each step.

    Examples
    --------
    >>> import gradviz as gv
    >>> gv.optim.constant(0.1)(5)
    0.1
    """
    return lambda count: value


def linear(start: float, end: float, steps: int) -> Schedule:
    """From ``start`` to ``end`` in equal parts, then ``end``.

    Examples
    --------
    >>> import gradviz as gv
    >>> rate = gv.optim.linear(1.0, 0.0, steps=10)
    >>> [float(rate(n)) for n in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    positive(steps)
    return lambda count: start + (end - start) * np.minimum(count / steps, 1.0)


def exponential_decay(start: float, factor: float, steps: int, end: float = 0.0) -> Schedule:
    """``start * factor ** (count / steps)``, at least ``end``.

    Examples
    --------
    >>> import gradviz as gv
    >>> float(gv.optim.exponential_decay(1.0, 0.5, steps=10)(20))
    0.25
    """
    positive(steps)
    return lambda count: np.maximum(start * factor ** (count / steps), end)


def step_decay(start: float, factor: float, steps: int) -> Schedule:
    """``start``, multiplied with ``factor`` after each ``steps`` steps.

    Examples
    --------
    >>> import gradviz as gv
    >>> rate = gv.optim.step_decay(1.0, 0.5, steps=10)
    >>> [float(rate(n)) for n in (9, 10, 25)]
    [1.0, 0.5, 0.25]
    """
    positive(steps)
    return lambda count: start * factor ** np.floor(count / steps)


def cosine_decay(start: float, steps: int, end: float = 0.0) -> Schedule:
    """Half a cosine from ``start`` to ``end``, then ``end``.

    Notes
    -----
    Loshchilov and Hutter, *SGDR: stochastic gradient descent with warm restarts* (2017), eq. 5, without restarts.

    Examples
    --------
    >>> import gradviz as gv
    >>> rate = gv.optim.cosine_decay(1.0, steps=10)
    >>> [round(float(rate(n)), 6) for n in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    positive(steps)
    return lambda count: end + (start - end) * 0.5 * (1.0 + np.cos(np.pi * np.minimum(count / steps, 1.0)))


def warmup_cosine(peak: float, warmup: int, steps: int, start: float = 0.0, end: float = 0.0) -> Schedule:
    """From ``start`` up to ``peak`` in ``warmup`` equal parts, then half a cosine down to ``end`` at ``steps``.

    Examples
    --------
    >>> import gradviz as gv
    >>> rate = gv.optim.warmup_cosine(1.0, warmup=10, steps=110)
    >>> [round(float(rate(n)), 6) for n in (0, 5, 10, 60, 110)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if not 0 < warmup < steps:
        raise ValueError(f"warmup={warmup} must lie between 0 and steps={steps}")
    up, down = linear(start, peak, warmup), cosine_decay(peak, steps - warmup, end)
    return lambda count: np.where(count < warmup, up(count), down(np.maximum(count - warmup, 0.0)))


def piecewise_constant(values: Sequence[float], boundaries: Sequence[int]) -> Schedule:
    """``values[k]`` up to step ``boundaries[k]``, and the last value from the last boundary on.

    Examples
    --------
    >>> import gradviz as gv
    >>> rate = gv.optim.piecewise_constant([1.0, 0.1, 0.01], boundaries=[10, 20])
    >>> [round(float(rate(n)), 6) for n in (9, 10, 25)]
    [1.0, 0.1, 0.01]
    """
    if len(values) != len(boundaries) + 1 or any(a >= b for a, b in pairwise(boundaries)):
        raise ValueError(
            f"{len(values)} values need {len(values) - 1} boundaries, each larger than the one before; there are {list(boundaries)}"
        )

    def rate(count: Any) -> Any:
        value: Any = values[0]
        for boundary, later in zip(boundaries, values[1:], strict=True):
            value = np.where(count < boundary, value, later)
        return value

    return rate


def positive(steps: int) -> None:
    """A schedule lasts at least one step."""
    if steps < 1:
        raise ValueError(f"steps={steps}: a schedule lasts at least one step")
