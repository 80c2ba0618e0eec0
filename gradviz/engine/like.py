"""What is kept of an array of which only shape and dtype are needed."""

from __future__ import annotations

from typing import Any, NamedTuple


class Like(NamedTuple):
    """What can be known of an array without keeping it."""

    shape: tuple[int, ...]
    dtype: Any  # np.dtype, or the type ``float`` / ``complex`` of a Python scalar, which adopts the dtype it meets


def like(value: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype, as records keep them: a plain tuple, which the garbage collector can forget about."""
    try:
        return value.shape, value.dtype
    except AttributeError:
        return (), value.__class__
