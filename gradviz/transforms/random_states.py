"""The states of random number generators, to draw the same numbers twice."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

States = tuple[Any, Any, list[tuple[np.random.Generator, Any]]]


def random_states(leaves: list[Any]) -> States:
    """Those of NumPy's and Python's global generators, and of every `numpy.random.Generator` among the leaves."""
    generators = [leaf for leaf in leaves if isinstance(leaf, np.random.Generator)]
    return np.random.get_state(), random.getstate(), [(g, g.bit_generator.state) for g in generators]


def put_back(states: States) -> None:
    """Let the generators continue from these states."""
    numpy_state, python_state, generators = states
    np.random.set_state(numpy_state)
    random.setstate(python_state)
    for generator, state in generators:
        generator.bit_generator.state = state


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, dict):
        return all(same(value, b[name]) for name, value in a.items())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or (type(a) is type(b) and not isinstance(a, np.random.Generator) and a == b)
