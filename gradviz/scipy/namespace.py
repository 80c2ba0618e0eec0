"""How a SciPy function is let through to its rule when an argument is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from gradviz.engine.array import Array


def attribute_of(module: ModuleType) -> Callable[[str], Any]:
    """``__getattr__`` of a namespace: what the module has, its functions made traceable."""
    made: dict[str, Any] = {}

    def find(name: str) -> Any:
        if name not in made:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type | np.ufunc):
                value = traceable(value)
            made[name] = value
        return made[name]

    return find


def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, which for traced arguments does what its rule says."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if holds_traced((*args, *kwargs.values())):
            traced: Any = Array
            return traced.__array_function__(None, function, (), args, kwargs)
        return function(*args, **kwargs)

    return run


def holds_traced(arguments: Any) -> bool:
    """Whether any argument, or any item of a list among them, is an `Array`."""
    return any(isinstance(a, Array) or (type(a) in (list, tuple) and holds_traced(a)) for a in arguments)
