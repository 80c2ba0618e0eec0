"""Functions that make arrays shaped or placed like a traced one: writable, and free of derivatives until written to."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import Array, bottom, constant
from gradviz.engine.rule import CREATING, composed


def _like(function: Any) -> None:
    @composed(function)
    def make(a: Any, *args: Any, **kwargs: Any) -> Array:
        return constant(function(bottom(a), *args, **kwargs))


def _near(function: Any) -> None:
    def make(near: Array, *args: Any, **kwargs: Any) -> Array:  # NumPy passes on device=, which CuPy's do not take
        kwargs = {name: value for name, value in kwargs.items() if name != "device" or value is not None}
        return constant(getattr(namespace(bottom(near)), function.__name__)(*args, **kwargs))

    CREATING[function] = make


for _function in (np.zeros_like, np.ones_like, np.empty_like):
    _like(_function)
for _function in (np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.arange, np.tri):
    _near(_function)


@composed(np.full_like)
def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Array:
    if not isinstance(fill_value, Array):
        return constant(np.full_like(bottom(a), fill_value, *args, **kwargs))
    made = constant(np.zeros_like(bottom(a), *args, **kwargs))
    made[...] = fill_value
    return made
