"""Derivatives of the methods of ufuncs: ``reduce``, ``accumulate`` and ``reduceat`` of every ufunc of two arguments that has a rule.

``accumulate`` follows from the slopes of the ufunc, ``reduce`` is its last entry, ``reduceat`` joins reductions. Where something
better is known (sums, products, extrema, logarithms of sums) it is entered instead. ``outer`` and ``at`` need no rule of their own: see
`gradviz.engine.protocols`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import bottom
from gradviz.engine.cotangent import zeros
from gradviz.engine.rule import COMPOSED, NO_GRADIENT, RULES, Like, composed, no_gradient, rule
from gradviz.engine.slope import conj
from gradviz.rules.elementwise import gap, gap2, win
from gradviz.rules.reductions import NONE, axes_of, plain, spread
from gradviz.rules.scans import carried_back, part

Slope = Callable[[Any, Any, Any], Any]  # of the new entry, what is carried, and the result


# ---- accumulate


def accumulates(ufunc: np.ufunc, to_new: Slope, to_carried: Slope) -> None:
    """Enter ``ufunc.accumulate``, by the slopes of the ufunc in the new entry and in what is carried."""

    def accumulate_to_a(ct, out, a, axis):
        (axis,) = axes_of(axis, a.ndim)
        carried, rest = out[part(axis, 0, -1)], part(axis, 1)
        slope_of_new = to_new(a[rest], carried, out[rest])
        first = np.ones_like(ct[part(axis, 0, 1)])
        slope_of_carried = np.concatenate([first, to_carried(a[rest], carried, out[rest])], axis=axis)
        return conj(np.concatenate([first, slope_of_new], axis=axis)) * carried_back(ct, conj(slope_of_carried), axis)

    RULES[ufunc.accumulate] = rule(
        lambda a, axis=0, dtype=None: ufunc.accumulate(a, axis, dtype),
        accumulate_to_a,
        name=f"{ufunc.__name__}.accumulate",
    )


def extremes(ufunc: np.ufunc, above: np.ufunc, level: np.ufunc) -> None:
    accumulates(
        ufunc,
        lambda new, carried, out: win(above(new, carried), level(new, carried), new, carried),
        lambda new, carried, out: win(above(carried, new), level(carried, new), new, carried),
    )


extremes(np.maximum, np.greater, np.greater_equal)
extremes(np.minimum, np.less, np.less_equal)
accumulates(
    np.logaddexp, lambda new, carried, out: np.exp(gap(new, out)), lambda new, carried, out: np.exp(gap(carried, out))
)
accumulates(
    np.logaddexp2,
    lambda new, carried, out: np.exp2(gap2(new, out)),
    lambda new, carried, out: np.exp2(gap2(carried, out)),
)
accumulates(np.subtract, lambda new, carried, out: -np.ones_like(new), lambda new, carried, out: np.ones_like(new))


def slope_in(ufunc: np.ufunc, target: str) -> Slope:
    """The slope that the rule of a ufunc has for one argument, filled up to the shape of the result; 0 if it has none."""
    derivative = RULES[ufunc].slopes.get(target)
    if derivative is None:
        return lambda new, carried, out: np.zeros_like(out)
    reads = tuple(inspect.signature(derivative).parameters)

    def slope(new, carried, out):
        values = {"x": carried, "y": new, "out": out}
        return np.zeros_like(out) + derivative(*(values[name] for name in reads))

    return slope


# ---- reduce: better ways


def reduces(ufunc: np.ufunc, pullback: Callable[..., Any]) -> None:
    RULES[ufunc.reduce] = rule(
        lambda a, axis=0, dtype=None, keepdims=False: ufunc.reduce(a, axis=axis, dtype=dtype, keepdims=keepdims),
        pullback,
        name=f"{ufunc.__name__}.reduce",
    )


def shares(exp: np.ufunc) -> Callable[..., Any]:
    def reduce_to_a(ct, out, a, axis, keepdims):
        out = spread(out, axis, keepdims)
        return exp(a - np.where(out == -math.inf, 0, out)) * spread(ct, axis, keepdims)

    return reduce_to_a


def hypot_reduce_to_a(ct, out, a, axis, keepdims):
    return a * spread(ct / np.where(out == 0, math.inf, out), axis, keepdims)


reduces(np.logaddexp, shares(np.exp))
reduces(np.logaddexp2, shares(np.exp2))
reduces(np.hypot, hypot_reduce_to_a)


# ---- reduce: the last entry of accumulate


def reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(a, axis=0, dtype=None, out=None, keepdims=False, initial=NONE, where=True):
        axes = axes_of(axis, a.ndim) if a.ndim else ()
        if len(axes) > 1:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
            )
        a = a if dtype is None else a.astype(dtype)
        if not axes:
            return np.copy(a) if initial is NONE else np.where(where, ufunc(initial, a), initial)
        result = last(ufunc, a, axes[0], None if initial is NONE else initial, where)
        return np.expand_dims(result, axes) if plain(keepdims) else result

    return reduce


def last(ufunc: np.ufunc, a: Any, axis: int, initial: Any, where: Any) -> Any:
    """What remains when ``ufunc`` has run along the axis, from ``initial`` on."""
    if where is not True and where is not NONE:
        return folded(ufunc, a, axis, initial, where)
    if initial is not None:
        a = np.concatenate([np.full_like(a[part(axis, 0, 1)], initial), a], axis=axis) if a.shape[axis] else a
    if not a.shape[axis]:
        if initial is None:
            raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
        return namespace(bottom(a)).full((*a.shape[:axis], *a.shape[axis + 1 :]), initial, a.dtype)
    return ufunc.accumulate(a, axis=axis)[(*(slice(None),) * axis, -1)]


def folded(ufunc: np.ufunc, a: Any, axis: int, initial: Any, where: Any) -> Any:
    """The same one entry after the other, leaving some out."""
    if initial is None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify 'initial'"
        )
    where = np.broadcast_to(where, a.shape)
    result = namespace(bottom(a)).full((*a.shape[:axis], *a.shape[axis + 1 :]), initial, a.dtype)
    for k in range(a.shape[axis]):
        here = (*(slice(None),) * axis, k)
        result = np.where(where[here], ufunc(result, a[here]), result)
    return result


# ---- reduceat


def sum_pieces_to_a(ct, a_like, starts, axis):
    lengths: Any = np.diff(np.append(starts, a_like.shape[axis]))
    pieces = np.repeat(ct, lengths, axis=axis)
    shape = (*a_like.shape[:axis], int(starts[0]), *a_like.shape[axis + 1 :])
    return np.concatenate([zeros(Like(shape, ct.dtype), ct), pieces], axis=axis)


def add_pieces(a, starts, axis):
    return np.add.reduceat(a, starts, axis=axis)


sum_pieces = rule(add_pieces, sum_pieces_to_a, name="add.reduceat", linear="each")


def pieces(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduceat``: each piece runs to where the next one starts; one that would run backward is a single entry."""

    def reduceat(a, indices, axis=0, dtype=None, out=None):
        (axis,) = axes_of(axis, a.ndim)
        a = a if dtype is None else a.astype(dtype)
        starts = np.asarray(bottom(indices))
        ends = np.append(starts[1:], a.shape[axis])
        if not starts.size:
            return a[part(axis, 0, 0)]
        if ufunc is np.add and np.all(starts < ends):
            return sum_pieces(a, starts, axis)
        lead = (slice(None),) * axis
        made = [
            ufunc.reduce(a[part(axis, i, j)], axis=axis) if i < j else a[(*lead, i)]
            for i, j in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        return np.stack(made, axis=axis)

    return reduceat


# ---- all of them


def enter(ufunc: np.ufunc) -> None:
    """The methods of one ufunc that nothing better has been entered for."""
    known = RULES.keys() | COMPOSED.keys()
    if ufunc.accumulate not in known:
        accumulates(ufunc, slope_in(ufunc, "y"), slope_in(ufunc, "x"))
    if ufunc.reduce not in known:
        composed(ufunc.reduce)(reduction(ufunc))
    if ufunc.reduceat not in known:
        composed(ufunc.reduceat)(pieces(ufunc))


def has_methods(ufunc: Any) -> bool:
    return isinstance(ufunc, np.ufunc) and ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None


def enter_all() -> None:
    """The methods of all ufuncs that have a rule, or that no gradient flows through; when all of those are known."""
    for ufunc in [u for u in RULES if has_methods(u)]:
        enter(ufunc)
    for ufunc in [u for u in NO_GRADIENT if has_methods(u)]:
        no_gradient(ufunc.reduce, ufunc.accumulate, ufunc.reduceat)
