"""The methods and properties of an `Array` that are not simply the function of the same name with the array first."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import Array, is_number, snapshot
from gradviz.engine.flat import Flat
from gradviz.engine.mutate import adopt, assign
from gradviz.engine.rule import COMPOSED, rule
from gradviz.errors import WriteError


def reshape(self: Any, *shape: Any, order: Any = "C") -> Any:
    """``np.reshape(self, shape)``; the shape may be given as separate integers."""
    return COMPOSED[np.reshape](self, shape[0] if len(shape) == 1 else shape, order)


def transpose(self: Array, *axes: Any) -> Any:
    """``np.transpose(self, axes)``; the axes may be given as separate integers."""
    return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)


def flatten(self: Any, order: Any = "C") -> Any:
    """A one-dimensional copy."""
    return np.copy(np.ravel(self, order=order))


def copy(self: Array, order: Any = "C") -> Any:
    """An array of the same values in memory of its own."""
    return snapshot(self) if is_number(self) else np.copy(self, order=order)


def sort(self: Array, axis: int = -1, **options: Any) -> None:
    """Sort in place."""
    adopt(self, np.sort(self, axis=axis, **options))


def partition(self: Array, kth: Any, axis: int = -1, **options: Any) -> None:
    """Partition in place."""
    adopt(self, np.partition(self, kth, axis=axis, **options))


def fill(self: Array, value: Any) -> None:
    """Set every entry to one value."""
    assign(self, Ellipsis, value)


def put(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
    """Set entries of the flattened array."""
    np.put(self, indices, values, mode)


def view(self: Any, dtype: Any = None) -> Any:
    """The same memory under another name, or as numbers of another dtype: complex as pairs of real ones, and back."""
    return self[...] if dtype is None or np.dtype(dtype) == self.dtype else view_as(self, np.dtype(dtype))


def viewed(a: Any, dtype: Any) -> Any:
    return a.view(dtype)


def viewed_to_a(ct: Any, a_like: Any) -> Any:
    return ct.copy().view(a_like.dtype)  # a copy is contiguous, of which alone there is such a view


view_as = rule(viewed, viewed_to_a, name="view", view=True, linear="each")


def set_shape(self: Array, shape: Any) -> None:
    """Refused: an array and its views would then differ in what they look at."""
    raise WriteError(
        f"The shape of a traced array cannot be set. Make a view of the same memory: a = a.reshape({shape!r})."
    )


def resize(self: Array, *shape: Any, refcheck: bool = True) -> None:
    """Refused, for the same reason."""
    raise WriteError(
        "A traced array cannot be resized in place. Make a new one: np.pad or np.concatenate to add zeros, a.reshape(-1)[:n] to drop "
        "entries, np.resize to repeat them."
    )


def set_real(self: Any, value: Any) -> None:
    """Write into the real parts."""
    assign(np.real(self) if self.dtype.kind == "c" else self, Ellipsis, value)


def set_imag(self: Any, value: Any) -> None:
    """Write into the imaginary parts."""
    assign(np.imag(self), Ellipsis, value)


def set_flat(self: Array, value: Any) -> None:
    """Write all entries in C order, beginning anew when the values run out."""
    Flat(self)[...] = value


DEFINED: dict[str, Any] = {
    "reshape": reshape, "transpose": transpose, "flatten": flatten, "copy": copy, "sort": sort, "partition": partition, "fill": fill,
    "put": put, "view": view, "resize": resize, "T": property(np.transpose), "mT": property(lambda self: np.swapaxes(self, -1, -2)),
    "real": property(np.real, set_real), "imag": property(np.imag, set_imag), "flat": property(Flat, set_flat),
    "shape": property(Array.shape.fget, set_shape),
}  # fmt: skip
