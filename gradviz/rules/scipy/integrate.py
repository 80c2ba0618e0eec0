"""Derivatives of `scipy.integrate`'s rules for samples, which are linear in them: weights that SciPy itself gives for unit samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from gradviz.engine.array import Array
from gradviz.engine.rule import composed

composed(integrate.trapezoid)(lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis))


@composed(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    y = np.moveaxis(y, axis, -1)
    width = dx if x is None else np.diff(x) if np.ndim(x) == 1 else np.diff(np.moveaxis(x, axis, -1))
    made = np.cumsum(width * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    if initial is not None:
        made = np.concatenate([np.zeros_like(made[..., :1]), made], -1)
    return np.moveaxis(made, -1, axis)


def _weights(rule: Callable[..., Any], y: Any, axis: int, x: Any, name: str) -> Any:
    if isinstance(x, Array) or np.ndim(x) > 1:
        raise NotImplementedError(f"{name} of traced arrays takes plain sample points, in one dimension.")
    return rule(np.eye(np.shape(y)[axis])).astype(y.dtype)


@composed(integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    weights = _weights(lambda unit: integrate.simpson(unit, x=x, dx=1.0), y, axis, x, "simpson")
    made = np.matmul(np.moveaxis(y, axis, -1), weights)
    return made * dx if x is None else made


@composed(integrate.cumulative_simpson)
def cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    weights = _weights(lambda unit: integrate.cumulative_simpson(unit, x=x, dx=1.0), y, axis, x, "cumulative_simpson")
    made = np.matmul(np.moveaxis(y, axis, -1), weights)
    made = made * dx if x is None else made
    if initial is not None:
        made = np.concatenate([np.zeros_like(made[..., :1]), made], -1) + initial
    return np.moveaxis(made, -1, axis)


@composed(integrate.romb)
def romb(y, dx=1.0, axis=-1, show=False):
    weights = _weights(lambda unit: integrate.romb(unit, dx=1.0), y, axis, None, "romb")
    return np.matmul(np.moveaxis(y, axis, -1), weights) * dx
