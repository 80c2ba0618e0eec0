"""Loops with their structure told: `scan`, `fold` and `while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.errors import GradvizError
from gradviz.transforms.trees import flatten, unflatten


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any = None, length: int | None = None
) -> tuple[Any, Any]:
    """Thread a value through the rows of ``xs`` and collect what each step gives.

    Parameters
    ----------
    f : ``f(carry, x) -> (carry, y)``
    carry : the first value, an array or a tree
    xs : an array or a tree of arrays whose first axes agree; None to run ``length`` steps with ``x = None``
    length : number of steps, needed only without ``xs``

    Returns
    -------
    (carry, ys) : the last carry, and the ``y`` of all steps stacked along a new first axis

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.scan(lambda total, x: (total + x, total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 1., 3.]))
    """
    columns: list[list[Any]] = []
    structure = None
    for x in _rows(xs, length):
        carry, y = f(carry, x)
        leaves, structure = flatten(y)
        columns = columns or [[] for _ in leaves]
        for column, leaf in zip(columns, leaves, strict=True):
            column.append(leaf)
    if not columns:
        return carry, None
    return carry, unflatten(structure, [np.stack(column) for column in columns])


def fold(f: Callable[[Any, Any], Any], carry: Any, xs: Any = None, length: int | None = None) -> Any:
    """Thread a value through the rows of ``xs``: ``carry = f(carry, x)`` for each. See `scan`.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.fold(lambda value, coefficient: value * 2.0 + coefficient, 0.0, np.array([1.0, 0.0, 1.0]))
    np.float64(5.0)
    """
    for x in _rows(xs, length):
        carry = f(carry, x)
    return carry


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
    """Replace a value by ``body(value)`` as long as ``cond(value)`` is true.

    Parameters
    ----------
    cond : ``cond(carry)`` gives one truth value
    body : ``body(carry)`` gives the next carry
    carry : the first value, an array or a tree

    Returns
    -------
    carry : the first for which ``cond`` is false

    Notes
    -----
    It can be differentiated in either mode; gradients flow through ``body``, not through ``cond``. A compiled function makes a plan for
    each number of steps it meets.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> def root(a):
    ...     return gv.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> root(2.0), gv.grad(root)(2.0)
    (1.414213562373095, 0.35355339059327373)
    """
    while cond(carry):
        carry = body(carry)
    return carry


def _rows(xs: Any, length: int | None) -> Any:
    leaves, structure = flatten(xs)
    if not leaves:
        if length is None:
            raise GradvizError("a loop without xs needs length=")
        return (xs for _ in range(length))
    lengths = {np.shape(leaf)[0] if np.shape(leaf) else -1 for leaf in leaves}
    if len(lengths) != 1 or -1 in lengths or (length is not None and lengths != {length}):
        raise GradvizError(
            f"the first axes of xs do not agree on the number of steps: {sorted(lengths)}, length={length}"
        )
    return (unflatten(structure, [leaf[i] for leaf in leaves]) for i in range(lengths.pop()))
