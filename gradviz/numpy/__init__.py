"""NumPy's functions as a namespace of `gradviz.Array`: ``import gradviz.numpy as np``.

Every function is NumPy's own, so it gives plain arrays for plain arrays and traced ones for traced ones. What differs is creation:
``zeros``, ``empty``, ``array`` and the like give an `Array` that traced values can be written into, which a plain array cannot hold.
"""

from __future__ import annotations

from typing import Any

import numpy as _np

from gradviz.engine.array import FOREIGN, Array, bottom, constant
from gradviz.numpy import array_api
from gradviz.numpy.creation import (
    arange,
    array,
    asarray,
    copy,
    empty,
    empty_like,
    eye,
    full_like,
    identity,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)  # fmt: skip
from gradviz.numpy.joiners import c_, r_
from gradviz.numpy.undispatched import (
    asanyarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    full,
    interp,
    kaiser,
    require,
    vectorize,
)

ndarray = Array


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_np)})


__all__ = [
    "FOREIGN",
    "Array",
    "arange",
    "array",
    "array_api",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "bottom",
    "c_",
    "constant",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "interp",
    "kaiser",
    "linspace",
    "ndarray",
    "ones",
    "ones_like",
    "r_",
    "require",
    "vectorize",
    "zeros",
    "zeros_like",
]  # fmt: skip
