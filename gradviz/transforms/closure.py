"""The traced arrays that a function keeps outside its arguments, and how it is made to find others there."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.transforms.trees import flatten, unflatten

Spots = dict[int, tuple[Any, str]]  # where something is kept: (object, attribute)
TRACED = (Array, np.random.Generator)
VALUES = (*TRACED, np.ndarray, np.inexact, float, complex)


def spots_of(f: Any, found: Spots, kinds: tuple[type, ...] = TRACED, visited: frozenset[int] = frozenset()) -> Spots:
    """Where a function, and those it refers to, keep traced arrays and generators (or others of these kinds) outside their arguments."""
    if not isinstance(f, types.FunctionType) or id(f) in visited:
        return found
    visited |= {id(f)}
    spots = [(cell, "cell_contents") for cell in f.__closure__ or ()] + [(f, "__defaults__"), (f, "__kwdefaults__")]
    for spot in spots:
        key = id(spot[0]) if spot[1] == "cell_contents" else id(spot[0]) ^ hash(spot[1])
        try:
            inside = flatten(getattr(*spot))[0]
        except ValueError:  # a variable that has no value yet
            continue
        if key in found or not inside:
            continue
        if any(isinstance(leaf, kinds) for leaf in inside):
            found[key] = spot
        for leaf in inside:
            spots_of(leaf, found, kinds, visited)
    return found


@contextmanager
def swapped(spots: list[tuple[Any, str]], contents: list[Any]) -> Iterator[None]:
    """Let functions find other values there for a while."""
    before = [getattr(*spot) for spot in spots]
    try:
        for spot, value in zip(spots, contents, strict=True):
            setattr(*spot, value)
        yield
    finally:
        for spot, value in zip(spots, before, strict=True):
            setattr(*spot, value)


def _is_traced(content: Any) -> bool:
    return any(isinstance(leaf, Array) for leaf in flatten(content)[0])


class Parameters:
    """All traced arrays that functions get: as arguments, within trees of them, or from their closures.

    A number in a closure, where a traced array has come back since, is put there again: a pullback runs when those who called the
    functions, and had put that number there (`swapped`), have left.

    Attributes
    ----------
    traced : these arrays
    """

    def __init__(self, functions: Sequence[Any], args: Any) -> None:
        found: Spots = {}
        for function in functions:
            spots_of(function, found, VALUES)
        contents = [(spot, getattr(*spot)) for spot in found.values()]
        holds = [any(isinstance(leaf, TRACED) for leaf in flatten(content)[0]) for _, content in contents]
        self.spots = [spot for (spot, _), traced in zip(contents, holds, strict=True) if traced]
        self.others = [each for each, traced in zip(contents, holds, strict=True) if not traced]
        self.leaves, self.structure = flatten((args, [getattr(*spot) for spot in self.spots]))
        self.places = [k for k, leaf in enumerate(self.leaves) if isinstance(leaf, Array)]
        self.traced = [self.leaves[k] for k in self.places]

    def call(self, function: Callable[..., Any], values: Sequence[Any], *before: Any) -> Any:
        """``function(*before, *args)``, which finds ``values`` where the traced arrays were."""
        filled = list(self.leaves)
        for k, value in zip(self.places, values, strict=True):
            filled[k] = value
        args, contents = unflatten(self.structure, filled)
        others = [each for each in self.others if _is_traced(getattr(*each[0]))]
        with swapped([*self.spots, *(spot for spot, _ in others)], [*contents, *(content for _, content in others)]):
            return function(*before, *args)
