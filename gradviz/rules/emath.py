"""Derivatives of `numpy.emath`: functions whose results become complex outside their domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.rule import composed
from gradviz.rules.joining import gathered


def widened(x: Any, leaves: Callable[[Any], Any]) -> Any:
    """``x``, as complex numbers if any of it is real and leaves the domain."""
    x = gathered(x)
    plain = np.asarray(bottom(x))
    return x + 0j if plain.dtype.kind != "c" and np.any(leaves(plain)) else x


def negative(x: Any) -> Any:
    return x < 0


def beyond_one(x: Any) -> Any:
    return np.abs(x) > 1


DOMAINS = {
    "sqrt": negative, "log": negative, "log2": negative, "log10": negative,
    "arccos": beyond_one, "arcsin": beyond_one, "arctanh": beyond_one,
}  # fmt: skip


def enter(name: str, leaves: Callable[[Any], Any]) -> None:
    inside = getattr(np, name)
    composed(getattr(np.emath, name))(lambda x: inside(widened(x, leaves)))


for _name, _leaves in DOMAINS.items():
    enter(_name, _leaves)


@composed(np.emath.logn)
def logn(n, x):
    return np.log(widened(x, negative)) / np.log(widened(n, negative))


@composed(np.emath.power)
def power(x, p):
    return np.power(widened(x, negative), p)
