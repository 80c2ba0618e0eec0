"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradviz.errors import OptimizerError
from gradviz.optim.optimizer import Optimizer, Schedule


class SGDState(NamedTuple):
    """Steps taken, and the velocity (None without momentum)."""

    count: float
    velocity: Any = None


def sgd(
    learning_rate: float | Schedule, momentum: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Optimizer:
    """Gradient descent: ``v = momentum * v + g; p -= learning_rate * v``.

    Parameters
    ----------
    learning_rate : a number, or a function of the number of steps taken before
    momentum : how much of the velocity is kept
    nesterov : look ahead: ``p -= learning_rate * (g + momentum * v)``
    weight_decay : adds ``weight_decay * p`` to the gradient

    Notes
    -----
    As in Sutskever et al., *On the importance of initialization and momentum in deep learning* (2013), with the learning rate
    outside the velocity, which is PyTorch's and Optax's way.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> sgd = gv.optim.sgd(0.1, momentum=0.9)
    >>> w = np.array([1.0])
    >>> w, state = sgd.step(w, np.array([2.0]), sgd.init(w))
    >>> w, state
    (array([0.8]), SGDState(count=1.0, velocity=array([2.])))
    """
    if nesterov and not momentum:
        raise OptimizerError("nesterov=True looks ahead along the velocity: give a momentum, such as 0.9")

    def rule(count: Any, rate: Any, p: Any, g: Any, v: Any) -> tuple[Any, Any]:
        if weight_decay:
            g = g + weight_decay * p
        if v is None:
            p -= rate * g
            return p, v
        v *= momentum
        v += g
        p -= rate * (g + momentum * v if nesterov else v)
        return p, v

    def begin(zeros: Callable[..., Any]) -> SGDState:
        return SGDState(0.0, zeros() if momentum else None)

    return Optimizer(rule, begin, learning_rate, "sgd")
