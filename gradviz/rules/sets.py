"""Derivatives of functions that treat an array as a set: which entries they pick, and in which order, is constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.rule import composed
from gradviz.rules.joining import gathered
from gradviz.rules.selection import beside


@composed(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, **options: Any):
    ar = gathered(ar)
    _, first, *others = np.unique(bottom(ar), True, return_inverse, return_counts, axis, **options)
    values = np.ravel(ar)[beside(ar, first)] if axis is None else np.take(ar, first, axis)
    found = (values, *([first] if return_index else []), *others)
    return found if len(found) > 1 else values


def first_places(x: Any, values: Any) -> Any:
    """Where each of the different values of ``x`` stands first, in the order in which NumPy gave them; NaN differs from NaN."""
    places = np.unique(x, return_index=True, equal_nan=False)[1]
    made = np.empty_like(places)
    made[np.argsort(values, kind="stable")] = places
    return made


@composed(np.unique_values)
def unique_values(x, /):
    return np.ravel(x)[beside(x, first_places(bottom(x), np.unique_values(bottom(x))))]


def with_facts(function: Any) -> Callable[..., Any]:
    """``unique_all`` and its like: the values, and plain arrays about them."""

    def answer(x, /):
        plain = function(bottom(x))
        return type(plain)(np.ravel(x)[beside(x, first_places(bottom(x), plain.values))], *plain[1:])

    return answer


for _function in (np.unique_all, np.unique_counts, np.unique_inverse):
    composed(_function)(with_facts(_function))


@composed(np.union1d)
def union1d(ar1, ar2):
    return unique(np.concatenate([ar1, ar2], axis=None))


@composed(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    mine = np.ravel(ar1) if assume_unique else unique(ar1)
    return mine[beside(mine, np.flatnonzero(~np.isin(bottom(mine), bottom(ar2))))]


@composed(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    both = np.sort(np.concatenate([ar if assume_unique else unique(ar) for ar in (ar1, ar2)], axis=None))
    if not both.size:
        return both
    differs = np.concatenate([[True], bottom(both)[1:] != bottom(both)[:-1], [True]])
    return both[beside(both, np.flatnonzero(differs[1:] & differs[:-1]))]
