"""What ``a.flat`` is for a traced array: its entries in C order, to read, to iterate over, and to write to, whatever its layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.cotangent import is_basic
from gradviz.engine.mutate import below_index


class Flat:
    """Stands for `numpy.flatiter`: parts are copies, writes go into the array, and NumPy's functions see one axis.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> def f(x):
    ...     a = x.T * 1.0
    ...     a.flat[1] = 5.0  # the entry a[0, 1]
    ...     return np.sum(a * a)
    >>> gv.grad(f)(np.ones((2, 2)))
    array([[2., 2.],
           [0., 2.]])
    """

    __slots__ = ("base",)

    def __init__(self, base: Array) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __getitem__(self, index: Any) -> Any:
        return np.ravel(self.base)[index] if not is_basic(index) else self.copy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        places = np.arange(self.base.size)[below_index(index)]
        value = unwrapped(value)
        if not np.ndim(places) and (type(value) in (list, tuple) or np.ndim(value)):
            raise ValueError("Error setting single item of array.")
        np.put(self.base, places, value)  # pyright: ignore[reportArgumentType]

    def copy(self) -> Any:
        """The entries in an array of their own."""
        return np.copy(np.ravel(self.base))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(unwrapped, inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*map(unwrapped, args), **{name: unwrapped(value) for name, value in kwargs.items()})


def unwrapped(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(unwrapped(item) for item in value)
    return value.copy() if isinstance(value, Flat) else value
