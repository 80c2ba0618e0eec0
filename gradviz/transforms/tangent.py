"""Directional derivatives by forward mode: `jvp`, and `hvp` as forward over reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, strip
from gradviz.engine.forward import Forward, tangent_below, value_below
from gradviz.engine.tape import alive
from gradviz.errors import NotDifferentiableError
from gradviz.record.current import current_recorder
from gradviz.transforms.foreign import run as call_foreign
from gradviz.transforms.gradient import grad, where_argument
from gradviz.transforms.trees import check_leaf, flatten, unflatten


def jvp(f: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Value and directional derivative of ``f`` at ``args`` along ``tangents``.

    Parameters
    ----------
    args, tangents : sequences of the same length; each tangent has the structure and shapes of its argument

    Returns
    -------
    (y, dy) : both with the structure of the result of ``f``

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.jvp(np.sin, (0.0,), (1.0,))
    (np.float64(0.0), np.float64(1.0))
    """
    if len(args) != len(tangents):
        raise NotDifferentiableError(
            f"jvp was given {len(args)} arguments and {len(tangents)} tangents; it needs one for each"
        )
    level = Forward(current_recorder())
    traced = [_trace(level, f, k, arg, tangent) for k, (arg, tangent) in enumerate(zip(args, tangents, strict=True))]
    try:
        outs, structure = flatten(call_foreign(f, traced, {}))
    finally:
        level.finish()
    values = [value_below(out, level) for out in outs]
    along = [tangent_below(out, level) for out in outs]
    along = [_in_kind(t, value) for t, value in zip(along, values, strict=True)]
    if not any(isinstance(leaf, Array) for leaf in flatten((args, tangents))[0]):
        values, along = [_released(v) for v in values], [_released(t) for t in along]
    return unflatten(structure, values), unflatten(structure, along)


def _released(value: Any) -> Any:
    """A result that no enclosing derivative takes part in, as a plain array."""
    untraced = isinstance(value, Array) and value.tape is None and not any(tape.open for tape in alive())
    return strip(value, 0) if untraced else value


def _in_kind(tangent: Any, value: Any) -> Any:
    """A tangent as its value is: zeros where there is none, a scalar where the value is one."""
    if tangent is None:
        tangent = np.zeros_like(value)
    if hasattr(value, "in_kind"):
        return value.in_kind(tangent)
    return tangent[()] if isinstance(value, np.generic | float | complex) and type(tangent) is np.ndarray else tangent


def _trace(level: Forward, f: Callable[..., Any], argnum: int, arg: Any, tangent: Any) -> Any:
    leaves, structure = flatten(arg)
    directions, _ = flatten(tangent)
    if len(directions) != len(leaves):
        raise NotDifferentiableError(
            f"the tangent of argument {argnum} has {len(directions)} leaves, the argument has {len(leaves)}"
        )
    traced = []
    for k, (leaf, direction) in enumerate(zip(leaves, directions, strict=True)):
        if not isinstance(leaf, Array):
            check_leaf(leaf, where_argument, f, argnum, arg, k)
        if np.shape(leaf) != np.shape(direction):
            raise NotDifferentiableError(
                f"a tangent of shape {np.shape(direction)} was given for {where_argument(f, argnum, arg, k)}, "
                f"which has shape {np.shape(leaf)}"
            )
        traced.append(level.input(leaf, direction))
    return unflatten(structure, traced)


def hvp(f: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a scalar function with respect to its first argument, times a direction, without forming the Hessian.

    Costs a few gradients, whatever the size.

    Parameters
    ----------
    args : the arguments of ``f``
    tangents : a sequence holding the direction for the first argument

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    return jvp(lambda x: grad(f)(x, *args[1:]), (args[0],), (tangents[0],))[1]
