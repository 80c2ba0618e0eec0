"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradviz.optim.optimizer import Optimizer, Schedule, real_zeros, squared


class AdamState(NamedTuple):
    """Steps taken, and the running means of gradients and of their squares."""

    count: float
    m: Any
    v: Any


def adam(
    learning_rate: float | Schedule = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> Optimizer:
    """Adam: steps of about ``learning_rate`` in each entry, whatever the size of its gradient.

    Parameters
    ----------
    learning_rate : a number, or a function of the number of steps taken before
    b1, b2 : how much of the running means of gradients and of their squares is kept
    eps : added to the root of the mean square
    weight_decay : adds ``weight_decay * p`` to the gradient; `adamw` has the kind that is not scaled with it

    Notes
    -----
    Kingma and Ba, *Adam: a method for stochastic optimization* (2015), algorithm 1. Complex parameters use ``|g|²``.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> adam = gv.optim.adam(0.1)
    >>> w = np.array([1.0, 1.0])
    >>> w, state = adam.step(w, np.array([2.0, -0.01]), adam.init(w))
    >>> w.round(3)
    array([0.9, 1.1])
    """
    return make(learning_rate, b1, b2, eps, weight_decay, decoupled=False)


def adamw(
    learning_rate: float | Schedule = 1e-3,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> Optimizer:
    """Adam that shrinks the parameters by ``learning_rate * weight_decay`` in each step, apart from the gradient. See `adam`.

    Notes
    -----
    Loshchilov and Hutter, *Decoupled weight decay regularization* (2019), algorithm 2, with the learning rate as a factor of the
    decay, which is PyTorch's and Optax's way.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> adamw = gv.optim.adamw(0.1, weight_decay=0.5)
    >>> w = np.array([1.0])
    >>> adamw.step(w, np.array([0.0]), adamw.init(w))[0]
    array([0.95])
    """
    return make(learning_rate, b1, b2, eps, weight_decay, decoupled=True)


def make(
    learning_rate: float | Schedule, b1: float, b2: float, eps: float, weight_decay: float, decoupled: bool
) -> Optimizer:
    """Adam with either kind of weight decay."""

    def rule(count: Any, rate: Any, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
        if weight_decay and not decoupled:
            g = g + weight_decay * p
        m += (1 - b1) * (g - m)
        v += (1 - b2) * (squared(g) - v)
        size = rate / (1 - b1**count)
        scale = (1 - b2**count) ** -0.5
        if weight_decay and decoupled:
            p *= 1 - rate * weight_decay
        p -= size * m / (scale * np.sqrt(v) + eps)
        return p, m, v

    def begin(zeros: Callable[..., Any]) -> AdamState:
        return AdamState(0.0, zeros(), zeros(real_zeros))

    return Optimizer(rule, begin, learning_rate, "adamw" if decoupled else "adam")
