"""What a program holds that no call brings along: numbers written in the source, and arrays it did not get as arguments.

An array that dies with the call was made inside the function, and a copy of what it held is kept. One that outlives the call belongs
to somebody who may write into it, so it is kept itself and read anew in each call.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

ndarray = np.ndarray
SMALL_NBYTES = (
    1024  # arrays that are compared by what they hold, so that a loop which makes one in each turn uses one constant
)


class Met(NamedTuple):
    """An array that was met: weakly, with a copy of what it held, and how it looks at the memory it is part of."""

    array: weakref.ref[ndarray]
    owner: weakref.ref[ndarray]
    number: int
    held: ndarray
    offset: int
    strides: tuple[int, ...]


class Constants:
    """The constants of one program; the number of the first is -1.

    Attributes
    ----------
    values : in order
    sites : where each array was met first, by number
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.known: dict[Any, int] = {}
        self.floats: dict[float, int] = {}  # the same for ordinary floats, the short way
        self.arrays: dict[int, Met] = {}
        self.met: list[Met] = []
        self.sites: dict[int, int] = {}

    def number(self, value: Any) -> int:
        """The number of one of NumPy's or Python's numbers."""
        kind = type(value)
        if kind is float and value == value and value != 0:
            found = self.floats.get(value)
            if found is None:
                found = self.floats[value] = self._add(value)
            return found
        key = kind, repr(value)  # tells 0.0 from -0.0, and one NaN from nothing
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._add(value)
        return found

    def array(self, value: ndarray, site: int) -> int:
        """The number of an array, as it is now."""
        if value.nbytes <= SMALL_NBYTES and value.dtype != object:
            key = value.shape, value.dtype, value.strides, value.tobytes()
            found = self.known.get(key)
            if found is not None and self._mortal(found, value):
                return found
            number = self._keep(value, site)
            self.known[key] = number
            return number
        met = self.arrays.get(id(value))
        if met is not None and met.array() is value and same(met.held, value):
            return met.number
        return self._keep(value, site)

    def _mortal(self, number: int, value: ndarray) -> bool:
        """Whether an array may stand for one of the same content: it is the same one, or the other was a passing one."""
        met = next(m for m in reversed(self.met) if m.number == number)
        return met.array() is value or met.owner() is None

    def _add(self, value: Any) -> int:
        self.values.append(value)
        return -len(self.values)

    def _keep(self, value: ndarray, site: int) -> int:
        owner = memory(value)
        offset = address(value) - address(owner)
        number = self._add(value.copy(order="K"))
        met = Met(weakref.ref(value), weakref.ref(owner), number, self.values[-1], offset, value.strides)
        self.arrays[id(value)] = met
        self.met.append(met)
        self.sites[number] = site
        return number

    def settle(self) -> dict[int, weakref.ref[ndarray]]:
        """After the run: what is still alive takes the place of its copy. Returns those, and for each whose memory it is."""
        live = {}
        for met in self.met:
            owner = met.owner()
            if owner is not None:
                self.values[-1 - met.number] = part_of(owner, met.offset, met.held, met.strides)
                live[met.number] = met.owner
        return live

    def changed(self) -> int | None:
        """The number of an array that the function itself has written into while it ran."""
        for met in self.met:
            array = met.array()
            if array is not None and met.owner() is not None and not same(met.held, array):
                return met.number
        return None


def memory(value: ndarray) -> ndarray:
    """The array whose memory a view looks at."""
    while type(value.base) is ndarray:
        value = value.base
    return value


def address(value: ndarray) -> int:
    return value.__array_interface__["data"][0]


def part_of(owner: ndarray, offset: int, like: ndarray, strides: tuple[int, ...]) -> ndarray:
    """A view of memory, which a view that is gone looked at."""
    if owner.shape == like.shape and owner.strides == strides and owner.dtype == like.dtype and not offset:
        return owner
    whole = np.lib.stride_tricks.as_strided(owner, (1,) * owner.ndim)
    start = np.lib.stride_tricks.as_strided(whole.reshape(-1)[:1].view(np.uint8), (offset + like.dtype.itemsize,), (1,))
    first = start[offset : offset + like.dtype.itemsize].view(like.dtype)
    return np.lib.stride_tricks.as_strided(first, like.shape, strides)


def same(a: ndarray, b: ndarray) -> bool:
    """Whether two arrays of one shape hold the same, NaN included."""
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
