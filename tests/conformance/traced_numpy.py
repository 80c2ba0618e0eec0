"""`gradviz.numpy` with every array of floating numbers on a tape, as inside a function that is being differentiated.

What array-api-tests makes with this namespace is traced from the start, so that the suite sees what such a function sees.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gradviz as gv
from gradviz.engine.array import Array
from gradviz.engine.tape import Tape

INPUTS = 1000  # arrays on one tape, after which the next array starts another
_free: list[tuple[Tape, int]] = []


def traced(array: Any) -> Any:
    """The same values as an input of the gradient being taken; integers and truth values have none."""
    if not isinstance(array, Array) or array.tape is not None or array.dtype.kind not in "fc":
        return array
    if not _free:
        tape = Tape()
        _free.extend((tape, tape.leaf()) for _ in range(INPUTS))  # a tape's inputs come before all calls
    return Array(array.value, *_free.pop())


def _tracing(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def created(*args: Any, **kwargs: Any) -> Any:
        return traced(create(*args, **kwargs))

    return created


CREATION = (
    "arange", "array", "asarray", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "linspace", "ones", "ones_like",
    "zeros", "zeros_like",
)  # fmt: skip
globals().update({name: _tracing(getattr(gv.numpy, name)) for name in CREATION})


def __getattr__(name: str) -> Any:
    return getattr(gv.numpy, name)
