"""RMSProp: gradients divided by the root of their running mean square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradviz.optim.optimizer import Optimizer, Schedule, real_zeros, squared


class RMSPropState(NamedTuple):
    """Steps taken, the running mean of squared gradients, of gradients (if centered), and the velocity (with momentum)."""

    count: float
    v: Any
    mean: Any = None
    velocity: Any = None


def rmsprop(
    learning_rate: float | Schedule = 1e-2,
    decay: float = 0.99,
    eps: float = 1e-8,
    momentum: float = 0.0,
    centered: bool = False,
    weight_decay: float = 0.0,
) -> Optimizer:
    """RMSProp: ``p -= learning_rate * g / (sqrt(mean of g²) + eps)``.

    Parameters
    ----------
    learning_rate : a number, or a function of the number of steps taken before
    decay : how much of the running mean of squares is kept
    eps : added to the root, outside of it
    momentum : how much of the velocity is kept
    centered : subtract the square of the running mean from the mean square, so that it is a variance
    weight_decay : adds ``weight_decay * p`` to the gradient

    Notes
    -----
    Tieleman and Hinton, *Lecture 6.5* (2012); centered as in Graves, *Generating sequences with recurrent neural networks*
    (2013), eq. 38–45.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> rmsprop = gv.optim.rmsprop(0.01, decay=0.75)
    >>> w = np.array([1.0])
    >>> rmsprop.step(w, np.array([3.0]), rmsprop.init(w))[0]
    array([0.98])
    """

    def rule(count: Any, rate: Any, p: Any, g: Any, v: Any, mean: Any, velocity: Any) -> tuple[Any, Any, Any, Any]:
        if weight_decay:
            g = g + weight_decay * p
        v += (1 - decay) * (squared(g) - v)
        if mean is None:
            step = g / (np.sqrt(v) + eps)
        else:
            mean += (1 - decay) * (g - mean)
            step = g / (np.sqrt(v - squared(mean)) + eps)
        if velocity is not None:
            velocity *= momentum
            velocity += step
            step = velocity
        p -= rate * step
        return p, v, mean, velocity

    def begin(zeros: Callable[..., Any]) -> RMSPropState:
        return RMSPropState(0.0, zeros(real_zeros), zeros() if centered else None, zeros() if momentum else None)

    return Optimizer(rule, begin, learning_rate, "rmsprop")
