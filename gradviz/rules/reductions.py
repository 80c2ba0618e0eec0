"""Derivatives of functions that shorten axes: sums, means, spreads, products, extrema.

Each has one rule for its plain form ``f(a, axis, dtype, keepdims)``. ``where=`` and ``initial=`` are added around it by
other functions. Options left at their defaults are not passed on: CuPy does not know them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import bottom
from gradviz.engine.rule import composed, rule
from gradviz.engine.slope import conj

Axis = int | tuple[int, ...] | None
NONE: Any = np._NoValue


def given(**options: Any) -> dict[str, Any]:
    return {
        name: value for name, value in options.items() if value is not None and value is not NONE and value is not False
    }


def plain(keepdims: Any) -> bool:
    return keepdims is not NONE and bool(keepdims)


def spread(ct: Any, axis: Axis, keepdims: bool) -> Any:
    """A cotangent of the result with the shortened axes back, at length 1; a number fits anywhere."""
    return ct if axis is None or keepdims or ct.shape == () else np.expand_dims(ct, axis)


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(int(i) % ndim if ndim else int(i) for i in axes)


def count_of(shape: tuple[int, ...], axis: Axis) -> int:
    """How many entries one entry of the result is made from."""
    return math.prod(shape[i] for i in axes_of(axis, len(shape))) if shape else 1


# ---- sums


def repeated(ct: Any, axis: Axis, keepdims: bool, shape: tuple[int, ...]) -> Any:
    """A cotangent of the result, once for each entry it was made from; no memory is filled."""
    if axis is None and isinstance(ct, np.generic):  # 0.5 µs; np.broadcast_to takes 2.8
        return np.ndarray(shape, ct.dtype, np.asarray(ct), 0, (0,) * len(shape))
    return np.broadcast_to(spread(ct, axis, keepdims), shape)


def sum_to_a(ct, a_like, axis, keepdims):
    return repeated(ct, axis, keepdims, a_like.shape)


def add_up(a, axis=None, dtype=None, keepdims=False):
    return np.add.reduce(a, axis=axis, dtype=dtype, keepdims=keepdims)


total = rule(add_up, sum_to_a, name="sum", linear="each")


def sum_of(a: Any, axis: Axis, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    if where is not True and where is not NONE:
        a = np.where(where, a, 0)
    result = total(a, axis, dtype, plain(keepdims))
    return result if initial is NONE or initial is None else result + initial


@composed(np.sum)
def sum_(a, axis=None, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return sum_of(a, axis, dtype, keepdims, initial, where)


@composed(np.add.reduce)
def add_reduce(a, axis=0, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return sum_of(a, axis, dtype, keepdims, initial, where)


@composed(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return sum_of(np.where(np.isnan(a), 0, a), axis, dtype, keepdims, initial, where)


# ---- means


def mean_to_a(ct, a_like, axis, keepdims):
    return repeated(ct / count_of(a_like.shape, axis), axis, keepdims, a_like.shape)


def take_mean(a, axis=None, dtype=None, keepdims=False):
    if type(a) is np.ndarray and a.dtype.char in "fd" and a.size and dtype is None:  # as np.mean does, 3 µs sooner
        return np.add.reduce(a, axis=axis, keepdims=keepdims) / count_of(a.shape, axis)
    return np.mean(a, axis, **given(dtype=dtype, keepdims=keepdims))


average_of = rule(take_mean, mean_to_a, name="mean", linear="each")


def counted(a: Any, where: Any, axis: Axis, keepdims: bool, dtype: Any) -> Any:
    """The number of entries that ``where`` leaves, in a dtype that a sum can be divided by."""
    return np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=keepdims, dtype=dtype)


@composed(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    if where is True or where is NONE:
        return average_of(a, axis, dtype, plain(keepdims))
    result = sum_of(a, axis, dtype, keepdims, None, where)
    return result / counted(a, where, axis, plain(keepdims), result.dtype)


@composed(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    present = ~np.isnan(a)
    return mean(a, axis, dtype, None, keepdims, where=present if where is True or where is NONE else present & where)


def weights_like(a: Any, weights: Any, axis: Axis) -> Any:
    """Weights for each entry, where those for the named axes are given."""
    if np.shape(weights) == np.shape(a):
        return weights
    axes = axes_of(axis, np.ndim(a))
    if axis is None or np.shape(weights) != tuple(a.shape[i] for i in axes):
        raise TypeError("weights must have the shape of a, or the lengths of its axes named by axis=")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    weights = np.reshape(np.transpose(weights, order), [n if i in axes else 1 for i, n in enumerate(a.shape)])
    return np.broadcast_to(weights, np.shape(a))


@composed(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    if weights is None:
        result = mean(a, axis, None, None, keepdims)
        scale = count_of(np.shape(a), axis)
    else:
        weights = weights_like(a, weights, axis)
        scale = np.sum(weights, axis=axis, keepdims=plain(keepdims))
        result = np.sum(a * weights, axis=axis, keepdims=plain(keepdims)) / scale
    return (result, np.broadcast_to(scale, np.shape(result))) if returned else result


# ---- spreads


def var_to_a(ct, a, a_like, axis, ddof, keepdims):
    freedom = count_of(a_like.shape, axis) - ddof
    scale = spread(ct * (2 / freedom if freedom > 0 else math.inf), axis, keepdims)
    centred = a - np.mean(a, axis=axis, keepdims=True)
    if type(centred) is np.ndarray and type(scale) is np.ndarray:
        return np.multiply(centred, scale, out=centred)
    return centred * scale


def std_to_a(ct, out, a, a_like, axis, ddof, keepdims):
    return var_to_a(ct / np.where(out == 0, math.inf, 2 * out), a, a_like, axis, ddof, keepdims)


def take_var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return np.var(a, axis, **given(dtype=dtype, ddof=ddof, keepdims=keepdims))


def take_std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return np.std(a, axis, **given(dtype=dtype, ddof=ddof, keepdims=keepdims))


variance = rule(take_var, var_to_a, name="var")
deviation = rule(take_std, std_to_a, name="std")


def sum_of_squares(a: Any) -> Any:
    return np.real(a) ** 2 + np.imag(a) ** 2 if a.dtype.kind == "c" else a * a


def var_where(a: Any, axis: Axis, dtype: Any, ddof: float, keepdims: Any, where: Any, centre: Any = NONE) -> Any:
    """About the mean of what ``where`` leaves, or about a centre that was given."""
    apart = a - (mean(a, axis, dtype, None, True, where=where) if centre is NONE else centre)
    if where is True or where is NONE:
        return total(sum_of_squares(apart), axis, None, plain(keepdims)) / (count_of(np.shape(a), axis) - ddof)
    result = total(sum_of_squares(np.where(where, apart, 0)), axis, None, plain(keepdims))
    return result / (counted(a, where, axis, plain(keepdims), result.dtype) - ddof)


@composed(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NONE, correction=NONE):
    ddof = ddof if correction is NONE else correction
    if mean is NONE and (where is True or where is NONE):
        return variance(a, axis, dtype, ddof, plain(keepdims))
    return var_where(a, axis, dtype, ddof, keepdims, where, mean)


def root(value: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    positive = value > 0
    return np.where(positive, np.sqrt(np.where(positive, value, 1)), value)


@composed(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NONE, correction=NONE):
    ddof = ddof if correction is NONE else correction
    if mean is NONE and (where is True or where is NONE):
        return deviation(a, axis, dtype, ddof, plain(keepdims))
    return root(var_where(a, axis, dtype, ddof, keepdims, where, mean))


@composed(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NONE, correction=NONE):
    ddof = ddof if correction is NONE else correction
    present = ~np.isnan(a) if where is True or where is NONE else ~np.isnan(a) & where
    return var_where(a, axis, dtype, ddof, keepdims, present, mean)


@composed(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NONE, correction=NONE):
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


# ---- products


def rows(a: Any, axes: tuple[int, ...]) -> Any:
    """The named axes moved to the end and joined."""
    if not a.ndim:
        return np.reshape(a, (1,))
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    return np.reshape(np.transpose(a, rest + axes), (*(a.shape[i] for i in rest), math.prod(a.shape[i] for i in axes)))


def unrows(joined: Any, axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """What `rows` did, undone."""
    if not shape:
        return np.reshape(joined, ())
    order = (*(i for i in range(len(shape)) if i not in axes), *axes)
    back = tuple(order.index(i) for i in range(len(shape)))
    return np.transpose(np.reshape(joined, tuple(shape[i] for i in order)), back)


def prod_to_a(ct, a, axis, keepdims):
    """The product of all other entries, from both sides: exact with zeros, and no look at the values."""
    if not np.shape(a):
        return ct
    axes = axes_of(axis, a.ndim)
    joined = rows(a, axes)
    one = np.ones_like(joined[..., :1])
    others = np.cumprod(np.concatenate([one, joined[..., :-1]], -1), axis=-1)
    others = others * np.cumprod(np.concatenate([one, joined[..., :0:-1]], -1), axis=-1)[..., ::-1]
    return unrows(conj(others), axes, a.shape) * spread(ct, axis, keepdims)


def multiply_up(a, axis=None, dtype=None, keepdims=False):
    return np.multiply.reduce(a, axis=axis, dtype=dtype, keepdims=keepdims)


product = rule(multiply_up, prod_to_a, name="prod")


def prod_of(a: Any, axis: Axis, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    if where is not True and where is not NONE:
        a = np.where(where, a, 1)
    result = product(a, axis, dtype, plain(keepdims))
    return result if initial is NONE or initial is None else result * initial


@composed(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return prod_of(a, axis, dtype, keepdims, initial, where)


@composed(np.multiply.reduce)
def multiply_reduce(a, axis=0, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return prod_of(a, axis, dtype, keepdims, initial, where)


@composed(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
    return prod_of(np.where(np.isnan(a), 1, a), axis, dtype, keepdims, initial, where)


# ---- extrema


def extremum_to_a(ct, out, a, axis, keepdims):
    """Shared equally among all entries that hold the extremum."""
    holds = np.equal(a, spread(out, axis, keepdims))
    ct = spread(ct, axis, keepdims)
    return np.where(holds, ct / np.sum(holds, axis=axis, keepdims=True, dtype=ct.dtype), 0)


def without_nan(extreme: Any, worst: float) -> Callable[..., Any]:
    """`np.nanmax` and `np.nanmin` on a device: CuPy's own read a value back, to warn of rows that are all NaN."""

    def reduce(a: Any, axis: Axis, keepdims: bool) -> Any:
        missing = np.isnan(a)
        found = extreme(np.where(missing, worst, a), axis=axis, keepdims=keepdims)
        return np.where(np.all(missing, axis=axis, keepdims=keepdims), np.nan, found).astype(a.dtype)

    return reduce


def extremum(
    ufunc: np.ufunc, name: str, *functions: Any, on_device: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Enter the reduction by a ufunc that picks one of its arguments, and the functions that are that reduction."""
    elsewhere = on_device or functions[0]

    def pick(a, axis=None, keepdims=False):
        if namespace(bottom(a)) is np:
            return ufunc.reduce(a, axis=axis, keepdims=keepdims)
        return elsewhere(a, axis=axis, keepdims=keepdims)  # CuPy's ufuncs reduce sums and products only

    found = rule(pick, extremum_to_a, name=name)

    def of(a: Any, axis: Axis, keepdims: Any, initial: Any, where: Any) -> Any:
        started = initial is not NONE and initial is not None
        if where is not True and where is not NONE:
            if not started:
                raise ValueError(
                    f"np.{name} of a masked array (where=) needs initial=, as the maximum of nothing is not defined"
                )
            a = np.where(where, a, initial)
        if started and count_of(np.shape(a), axis) == 0:
            return total(a, axis, None, plain(keepdims)) + initial
        result = found(a, axis, plain(keepdims))
        return ufunc(result, initial) if started else result

    for function in functions:

        @composed(function)
        def over_axis(a, axis=None, out=None, keepdims=False, initial=NONE, where=True):
            return of(a, axis, keepdims, initial, where)

    @composed(ufunc.reduce)
    def reduce(a, axis=0, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
        return of(a, axis, keepdims, initial, where)

    return of


max_of = extremum(np.maximum, "max", np.max, np.amax)
min_of = extremum(np.minimum, "min", np.min, np.amin)
extremum(np.fmax, "nanmax", np.nanmax, on_device=without_nan(np.max, -math.inf))
extremum(np.fmin, "nanmin", np.nanmin, on_device=without_nan(np.min, math.inf))


@composed(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return max_of(a, axis, keepdims, None, True) - min_of(a, axis, keepdims, None, True)
