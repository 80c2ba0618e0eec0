"""The traced arrays that a function keeps outside its arguments, and how it is made to find others there."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.transforms.trees import flatten


def spots_of(f: Any, found: dict[int, tuple[Any, str]]) -> dict[int, tuple[Any, str]]:
    """Where a function, and those it refers to, keep traced arrays and generators outside their arguments: (object, attribute)."""
    if not isinstance(f, types.FunctionType):
        return found
    spots = [(cell, "cell_contents") for cell in f.__closure__ or ()] + [(f, "__defaults__"), (f, "__kwdefaults__")]
    for spot in spots:
        key = id(spot[0]) if spot[1] == "cell_contents" else id(spot[0]) ^ hash(spot[1])
        try:
            inside = flatten(getattr(*spot))[0]
        except ValueError:  # a variable that has no value yet
            continue
        if key in found or not inside:
            continue
        if any(isinstance(leaf, (Array, np.random.Generator)) for leaf in inside):
            found[key] = spot
        for leaf in inside:
            if isinstance(leaf, types.FunctionType) and leaf is not f:
                spots_of(leaf, found)
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
