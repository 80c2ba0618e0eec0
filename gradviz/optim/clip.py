"""Gradients that are too long, made shorter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.optim.optimizer import squared, weak
from gradviz.transforms.trees import flatten, tree_map


def global_norm(tree: Any) -> Any:
    """The Euclidean length of all entries of a tree together.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> print(gv.optim.global_norm({"w": np.array([3.0]), "b": np.array([4.0])}))
    5.0
    """
    leaves, _ = flatten(tree)
    return np.sqrt(sum(np.sum(squared(leaf)) for leaf in leaves)) if leaves else 0.0


def clip_by_norm(grads: Any, most: float) -> Any:
    """The gradients, all scaled alike so that their `global_norm` is at most ``most``; the direction stays.

    Notes
    -----
    Pascanu et al., *On the difficulty of training recurrent neural networks* (2013), algorithm 1. A length that is not finite gives
    NaN: a broken gradient is not hidden.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.optim.clip_by_norm(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    if not most > 0:
        raise ValueError(f"most={most}: the longest length that is left must be positive")
    norm = global_norm(grads)
    scale = most / np.maximum(norm, most)
    return tree_map(lambda g: g * weak(scale, g), grads)


def clip_by_value(grads: Any, most: float) -> Any:
    """The gradients, each entry between ``-most`` and ``most``; the direction changes.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.optim.clip_by_value(np.array([-3.0, 0.5]), 1.0)
    array([-1. ,  0.5])
    """
    if not most > 0:
        raise ValueError(f"most={most}: the largest size that is left must be positive")
    return tree_map(lambda g: np.clip(g, -most, most), grads)
