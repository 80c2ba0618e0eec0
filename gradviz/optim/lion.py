"""Lion: steps by the sign of a running mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradviz.optim.optimizer import Optimizer, Schedule


class LionState(NamedTuple):
    """Steps taken, and the running mean of the gradients."""

    count: float
    m: Any


def lion(
    learning_rate: float | Schedule = 1e-4, b1: float = 0.9, b2: float = 0.99, weight_decay: float = 0.0
) -> Optimizer:
    """Lion: ``p -= learning_rate * sign(b1 * m + (1 - b1) * g)``; needs half the memory of `adam`.

    Parameters
    ----------
    learning_rate : a number, or a function of the number of steps taken before; 3 to 10 times smaller than for `adam`
    b1 : how much of the running mean goes into a step
    b2 : how much of the running mean is kept
    weight_decay : shrinks the parameters by ``learning_rate * weight_decay`` in each step

    Notes
    -----
    Chen et al., *Symbolic discovery of optimization algorithms* (2023), algorithm 2.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> lion = gv.optim.lion(0.25)
    >>> w = np.array([1.0, 1.0])
    >>> lion.step(w, np.array([5.0, -0.1]), lion.init(w))[0]
    array([0.75, 1.25])
    """

    def rule(count: Any, rate: Any, p: Any, g: Any, m: Any) -> tuple[Any, Any]:
        direction = np.sign(b1 * m + (1 - b1) * g)
        if weight_decay:
            direction = direction + weight_decay * p
        p -= rate * direction
        m += (1 - b2) * (g - m)
        return p, m

    def begin(zeros: Callable[..., Any]) -> LionState:
        return LionState(0.0, zeros())

    return Optimizer(rule, begin, learning_rate, "lion")
