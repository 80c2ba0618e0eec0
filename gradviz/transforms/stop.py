"""Values that derivatives leave alone: `stop_gradient`."""

from __future__ import annotations

from typing import Any

from gradviz.engine.array import Array, strip
from gradviz.transforms.trees import tree_map


def stop_gradient(x: Any) -> Any:
    """The same values, through which no derivative flows.

    Parameters
    ----------
    x : an array, a number or a tree of them

    Returns
    -------
    The plain value of each leaf (of a traced array: its value one level down, in memory that later writes to ``x`` do not reach).

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.grad(lambda x: x * gv.stop_gradient(x))(3.0)
    3.0
    """
    return tree_map(_stop, x)


def _stop(leaf: Any) -> Any:
    if not isinstance(leaf, Array):
        return leaf
    value = strip(leaf, max(leaf.level, 1))
    return value.copy() if getattr(value, "shape", ()) != () else value
