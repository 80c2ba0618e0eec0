"""What a program holds that no call brings along: numbers written in the source, and arrays it did not get as arguments.

An array that dies with the call was made inside the function, and a copy of what it held is kept. One that outlives the call belongs
to somebody who may write into it, so it is kept itself and read anew in each call.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from gradviz.devices.find import device_of
from gradviz.plan.capture.overlap import address

ndarray = np.ndarray
SMALL_NBYTES = 1024  # arrays of which one is kept for all that hold the same, so that a loop may make one in each turn


class Met(NamedTuple):
    """An array that was met: weakly, with a copy of what it held."""

    array: weakref.ref[ndarray]
    owner: weakref.ref[ndarray]
    held: ndarray
    address: int
    strides: tuple[int, ...]
    site: int


class OnDevice(NamedTuple):
    """An array on a device that was met, with a copy on the host of what it held."""

    array: Any
    held: ndarray
    site: int
    named: bool  # it is a view of one that the function refers to by name


class Outside(NamedTuple):
    """An array that outlives the call, and whose memory it is."""

    array: ndarray
    owner: ndarray


class Constants:
    """The constants of one program; the number of the first is -1.

    Attributes
    ----------
    values : in order
    met : the arrays among them, by number
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.known: dict[Any, int] = {}
        self.floats: dict[float, int] = {}  # the same for ordinary floats, the short way
        self.arrays: dict[int, int] = {}  # id -> number
        self.met: dict[int, Met] = {}
        self.devices: dict[int, OnDevice] = {}

    def number(self, value: Any) -> int:
        """The number of one of NumPy's or Python's numbers."""
        kind = type(value)
        if kind is float and value == value and value != 0:  # not NaN
            found = self.floats.get(value)
            if found is None:
                found = self.floats[value] = self._add(value)
            return found
        key = kind, repr(value)  # tells 0.0 from -0.0, and takes NaN for NaN
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._add(value)
        return found

    def array(self, value: ndarray, site: int) -> int:
        """The number of an array, as it is now."""
        number = self.arrays.get(id(value))
        if number is not None:
            met = self.met[number]
            if met.array() is value and same(met.held, value):
                return number
        number = self.arrays[id(value)] = self._add(value.copy(order="K"))
        owner = weakref.ref(memory(value))
        self.met[number] = Met(weakref.ref(value), owner, self.values[-1], address(value), value.strides, site)
        return number

    def on_device(self, array: Any, held: ndarray, site: int, named: bool) -> int:
        """The number of an array on a device. It is held, and read anew in each call, whether or not it outlives this one."""
        number = self._add(held)
        self.devices[number] = OnDevice(array, held, site, named)
        return number

    def _add(self, value: Any) -> int:
        self.values.append(value)
        return -len(self.values)

    def settle(self) -> tuple[dict[int, Outside], dict[int, int]]:
        """After the run: which arrays are still alive, and which of the others hold the same as an earlier one."""
        alive: dict[int, Outside] = {
            number: Outside(met.array, memory(met.array)) for number, met in self.devices.items()
        }
        alike: dict[int, int] = {}
        contents: dict[Any, int] = {}
        for number, met in self.met.items():
            owner = met.owner()
            if owner is not None:
                alive[number] = Outside(part_of(owner, met.address, met.held, met.strides), owner)
            elif met.held.nbytes <= SMALL_NBYTES:
                key = met.held.shape, met.held.dtype, met.held.strides, met.held.tobytes()
                alike[number] = contents.setdefault(key, number)
        return alive, {number: first for number, first in alike.items() if number != first}

    def derived(self) -> bool:
        """Whether some may have been computed from arrays that the function refers to. 0 and 1 are what derivatives begin with."""
        made = any(met.owner() is None for met in self.met.values())
        made = made or not all(met.named for met in self.devices.values())
        return made or any(isinstance(value, np.generic) and value not in (0, 1) for value in self.values)

    def changed(self) -> int:
        """The line that met an array which the function itself has written into; -1 if there is none."""
        for met in self.met.values():
            array = met.array()
            if array is not None and not same(met.held, array):
                return met.site
        return next((met.site for met in self.devices.values() if not same(met.held, met.array.get())), -1)


def memory(value: Any) -> Any:
    """The array whose memory a view looks at, or what owns it on a device."""
    if type(value) is not ndarray:
        return device_of(value).owner(value)
    while type(value.base) is ndarray:
        value = value.base
    return value


class Window:
    """What NumPy reads to make an array of a piece of memory; ``owner`` keeps it."""

    def __init__(self, owner: ndarray, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def part_of(owner: ndarray, place: int, like: ndarray, strides: tuple[int, ...]) -> ndarray:
    """The view at an address of memory that ``owner`` holds."""
    if address(owner) == place and (owner.shape, owner.dtype, owner.strides) == (like.shape, like.dtype, strides):
        return owner
    interface = {**like.__array_interface__, "data": (place, False), "strides": strides}
    return np.asarray(Window(owner, interface))


def same(a: ndarray, b: ndarray) -> bool:
    """Whether two arrays hold the same, NaN included."""
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
