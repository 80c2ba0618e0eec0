"""particle and saddle: derivatives of programs that take derivatives themselves, by forward and reverse mode in all combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradviz as gv


def forward(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by one run for each input."""

    def gradient(x: Any) -> Any:
        if np.ndim(x) == 0:
            return gv.jvp(f, (x,), (np.ones_like(x),))[1]
        return np.stack([gv.jvp(f, (x,), (row,))[1] for row in np.eye(len(x))])

    return gradient


MODES = {"f": forward, "r": gv.grad}


def particle(inner: str, outer: str) -> float:
    """The charge's offset that makes a particle, repelled by two charges, cross y = 0 at x = 0, by one step of Newton's method."""

    def landing(w: Any) -> Any:
        def potential(x: Any) -> Any:
            ends = (gv.numpy.asarray([10.0 + 0 * w, 10.0 - w]), np.array([10.0, 0.0]))
            return sum(1 / np.sqrt(np.sum((x - end) ** 2)) for end in ends)

        force = MODES[inner](potential)
        x, v, step = np.array([0.0, 8.0]), np.array([0.75, 0.0]), 2.0
        while True:
            push = -force(x + 0 * w)
            ahead = x + step * v
            if ahead[1] <= 0:
                return (x + -x[1] / v[1] * v)[0] ** 2
            x, v = ahead, v + step * push

    slope, bend = MODES[outer](landing)(0.0), MODES[outer](MODES[outer](landing))(0.0)
    return float(-slope / bend)


def saddle(inner: str, outer: str) -> np.ndarray:
    """The point (x, y) of least x among those of largest y, of |x|² + x·y − |y|², by descents within a descent."""

    def value(x: Any, y: Any) -> Any:
        return np.sum(x**2) + np.sum(x * y) - np.sum(y**2)

    def best(x: Any) -> Any:
        y = np.zeros(2)
        for _ in range(12):
            y = y + 0.4 * MODES[inner](lambda y: value(x, y))(y + 0 * x)
        return y

    x = np.array([1.0, 1.0])
    for _ in range(12):
        x = x - 0.35 * MODES[outer](lambda x: value(x, best(x)))(x)
    return np.concatenate([x, best(x)])
