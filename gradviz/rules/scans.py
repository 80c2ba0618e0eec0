"""Derivatives of functions that run along an axis: cumulative sums, products and extrema.

``out[i] = combine(out[i - 1], a[i])`` is undone by ``g[i] = ct[i] + carry[i + 1] * g[i + 1]``, where ``carry`` is the
slope of the combination in what it carries on. Its slope in the new entry, times ``g``, is the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import bottom
from gradviz.engine.rule import composed, rule
from gradviz.engine.slope import conj
from gradviz.rules.reductions import axes_of, given


def part(axis: int, start: int | None = None, stop: int | None = None, step: int | None = None) -> tuple[Any, ...]:
    """The index of a slice along one axis."""
    return (*(slice(None),) * axis, slice(start, stop, step))


def carried_back(ct: Any, carry: Any, axis: int) -> Any:
    """``g[i] = ct[i] + carry[i + 1] * g[i + 1]`` for all i at once, in as many steps as the length has binary digits.

    Exact where entries of ``carry`` are zero, and without a look at the values.
    """
    length, reach = ct.shape[axis], 1
    g, factor = ct, carry[part(axis, 1)]  # factor[i] carries g[i + reach] to g[i]
    while reach < length:
        head = g[part(axis, 0, length - reach)] + factor * g[part(axis, reach)]
        g = np.concatenate([head, g[part(axis, length - reach)]], axis=axis)
        factor = factor[part(axis, 0, length - 2 * reach)] * factor[part(axis, reach)] if length > 2 * reach else factor
        reach *= 2
    return g


def previous(out: Any, first: Any, axis: int) -> Any:
    """``out`` moved on by one entry, with ``first`` in front."""
    return np.concatenate([np.full_like(out[part(axis, 0, 1)], first), out[part(axis, 0, -1)]], axis=axis)


# ---- sums


def cumsum_to_a(ct, a_like, axis):
    if axis is None or not a_like.shape:
        return np.reshape(np.cumsum(ct[::-1])[::-1], a_like.shape)
    (axis,) = axes_of(axis, len(a_like.shape))
    backwards = part(axis, None, None, -1)
    return np.cumsum(ct[backwards], axis=axis)[backwards]


def run_cumsum(a, axis=None, dtype=None):
    return np.cumsum(a, axis, **given(dtype=dtype))


cumulated = rule(run_cumsum, cumsum_to_a, name="cumsum", linear="each")


@composed(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    return cumulated(a, axis, dtype)


@composed(np.add.accumulate)
def add_accumulate(a, axis=0, dtype=None, out=None):
    return cumulated(a, axis, dtype)


@composed(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    return cumulated(np.where(np.isnan(a), 0, a), axis, dtype)


# ---- products


def cumprod_to_a(ct, out, a, axis):
    if not np.shape(a):
        return np.reshape(ct, ())
    shape = a.shape
    if axis is None:
        a, axis = np.ravel(a), 0
    (axis,) = axes_of(axis, len(shape) if a.ndim == len(shape) else 1)
    return np.reshape(conj(previous(out, 1, axis)) * carried_back(ct, conj(a), axis), shape)


def run_cumprod(a, axis=None, dtype=None):
    return np.cumprod(a, axis, **given(dtype=dtype))


multiplied = rule(run_cumprod, cumprod_to_a, name="cumprod")


@composed(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    return multiplied(a, axis, dtype)


@composed(np.multiply.accumulate)
def multiply_accumulate(a, axis=0, dtype=None, out=None):
    return multiplied(a, axis, dtype)


@composed(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return multiplied(np.where(np.isnan(a), 1, a), axis, dtype)


def from_the_start(made: Callable[..., Any], first: int) -> Callable[..., Any]:
    def cumulative(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        if axis is None and np.ndim(x) != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        (axis,) = axes_of(axis, np.ndim(x))
        result = made(x, axis, dtype)
        if not include_initial:
            return result
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return np.concatenate([namespace(bottom(x)).full(shape, first, dtype=result.dtype), result], axis=axis)

    return cumulative


composed(np.cumulative_sum)(from_the_start(cumulated, 0))
composed(np.cumulative_prod)(from_the_start(multiplied, 1))
