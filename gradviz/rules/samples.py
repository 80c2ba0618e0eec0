"""Derivatives of functions that read an axis as samples: differences, integrals, interpolation, convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.cotangent import unbroadcast
from gradviz.engine.rule import RULES, composed, rule
from gradviz.rules.joining import gathered
from gradviz.rules.reductions import NONE, axes_of
from gradviz.rules.scans import part
from gradviz.rules.statistics import in_dtype

# ---- differences, integrals, interpolation


def as_piece(value: Any, a: Any, axis: int) -> Any:
    """``value`` as a piece that can be joined to ``a``: a scalar becomes a slice of length 1."""
    if np.ndim(value):
        return gathered(value)
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    dtype = value.dtype if hasattr(value, "dtype") else np.dtype(type(value))
    return np.full_like(a, value, dtype=dtype, shape=shape)


@composed(np.diff)
def diff(a, n=1, axis=-1, prepend=NONE, append=NONE):
    a = gathered(a)
    if n == 0:
        return a
    (axis,) = axes_of(axis, np.ndim(a))
    parts = [as_piece(piece, a, axis) for piece in (prepend, a, append) if piece is not NONE]
    a = np.concatenate(parts, axis=axis) if len(parts) > 1 else a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    for _ in range(n):
        a = a[part(axis, 1)] - a[part(axis, 0, -1)]
    return a


@composed(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    ary = np.ravel(ary)
    pieces = [as_piece(piece, ary, 0) for piece in (to_begin, diff(ary), to_end) if piece is not None]
    return np.concatenate([in_dtype(np.ravel(piece), ary.dtype) for piece in pieces])


@composed(np.gradient)
def gradient(f, *varargs: Any, axis=None, edge_order=1):
    f, varargs = gathered(f), tuple(gathered(spacing) for spacing in varargs)
    axes = axes_of(axis, np.ndim(f))
    spacings = (
        [1.0] * len(axes)
        if not varargs
        else list(varargs) * len(axes)
        if len(varargs) == 1 and np.ndim(varargs[0]) == 0
        else list(varargs)
    )
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    made = [slopes_along(f, spacing, i, edge_order) for spacing, i in zip(spacings, axes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def slopes_along(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    if f.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, edge_order + 1 elements are required."
        )
    rise = f[part(axis, 1)] - f[part(axis, 0, -1)]
    if np.ndim(spacing):
        steps = np.reshape(diff(spacing), [-1 if i == axis else 1 for i in range(f.ndim)])
        before, after = steps[part(axis, 0, -1)], steps[part(axis, 1)]
        share = before / (before + after)
        at_first, at_last = share[part(axis, 0, 1)], 1 - share[part(axis, -1)]
    else:
        steps, share, at_first, at_last = spacing, 0.5, 0.5, 0.5
    slopes = rise / steps
    inside = (1 - share) * slopes[part(axis, 0, -1)] + share * slopes[part(axis, 1)]
    first, last = slopes[part(axis, 0, 1)], slopes[part(axis, -1)]
    if edge_order == 2:
        first = first + (first - slopes[part(axis, 1, 2)]) * at_first
        last = last + (last - slopes[part(axis, -2, -1)]) * at_last
    return in_dtype(np.concatenate([first, inside, last], axis=axis), f.dtype)


@composed(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, x = gathered(y), None if x is None else gathered(x)
    (axis,) = axes_of(axis, np.ndim(y))
    if x is None:
        widths = dx
    elif np.ndim(x) == 1:
        widths = np.reshape(diff(x), [-1 if i == axis else 1 for i in range(np.ndim(y))])
    else:
        widths = diff(x, axis=axis)
    return np.sum(widths * (y[part(axis, 1)] + y[part(axis, 0, -1)]) / 2.0, axis=axis)


@composed(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = gathered(x), gathered(xp), gathered(fp)
    if period is not None:
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    at = np.clip(np.searchsorted(bottom(xp), bottom(x), side="right") - 1, 0, len(xp) - 2)
    value = fp[at] + (fp[at + 1] - fp[at]) / (xp[at + 1] - xp[at]) * (x - xp[at])
    if period is not None:
        return value
    value = np.where(x < xp[0], fp[0] if left is None else left, value)
    return np.where(x > xp[-1], fp[-1] if right is None else right, value)


def unwrap_to_p(ct):
    return ct


def unwrap_to_period(ct, p, out, period):
    """The whole number of periods that each entry was moved by."""
    return unbroadcast(ct * np.rint((out - p) / period), np.shape(period))


def unwrapped(p, discont=None, axis=-1, *, period=2 * np.pi):
    return np.unwrap(p, discont, axis, period=period)


RULES[np.unwrap] = rule(unwrapped, unwrap_to_p, unwrap_to_period, name="unwrap")


# ---- windows, convolution


@composed(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis: Any = None, **options: Any):
    """The windows as a copy, one axis after the other."""
    lengths = tuple(window_shape) if hasattr(window_shape, "__len__") else (window_shape,)
    axes = axes_of(tuple(axis) if np.ndim(axis) else axis, np.ndim(x))
    if len(axes) != len(lengths):
        raise ValueError("Must provide matching length window_shape and axis")
    for along, length in zip(axes, lengths, strict=True):
        count = x.shape[along] - length + 1
        if count < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        numbers = np.reshape(np.add.outer(np.arange(count), np.arange(length)), -1)
        shape = (*x.shape[:along], count, length, *x.shape[along + 1 :])
        x = np.moveaxis(np.reshape(x[(*(slice(None),) * along, numbers)], shape), along + 1, -1)
    return x


def convolve_to_a(ct, v):
    return np.correlate(ct, v, "valid")


def convolve_to_v(ct, a):
    return np.correlate(ct, a, "valid")


full = rule(lambda a, v: np.convolve(a, v), convolve_to_a, convolve_to_v, name="convolve", linear="each")


@composed(np.convolve)
def convolve(a, v, mode="full"):
    whole = full(np.atleast_1d(a), np.atleast_1d(v))
    short, long = sorted((np.size(a), np.size(v)))
    if mode == "full":
        return whole
    start, length = ((short - 1) // 2, long) if mode == "same" else (short - 1, long - short + 1)
    return whole[start : start + length]


@composed(np.correlate)
def correlate(a, v, mode="valid"):
    return convolve(a, np.conj(v[::-1]), mode)
