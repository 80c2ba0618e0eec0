"""What a captured value is: an array or a number that writes down every call it takes part in.

It stands where NumPy's would: below all derivatives, so that pullbacks are captured like any other call. The real value is computed
at the same time; that is how shapes, dtypes and views are known, and how the first call has a result.

Writing works as in NumPy, and is written down without side effects: an array has a number that changes when it is written to, and a
view looks again at what it was taken of. What a captured value answers to operators and methods is put on it in
`gradviz.plan.capture.answers`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.engine.array import Array, stored_by
from gradviz.engine.backward import NUMBERS, NUMBERS_OR_NONE
from gradviz.engine.cotangent import owned
from gradviz.engine.straight import ARRAYS, REALS, SCALARS
from gradviz.errors import ConversionError
from gradviz.plan.capture.devices import on_device
from gradviz.plan.program.operation import in_kind_of, python_number

if TYPE_CHECKING:
    from gradviz.plan.capture.capture import Capture

ndarray = np.ndarray


class Place(NamedTuple):
    """An address."""

    ptr: int


class Captured:
    """A value whose calls are captured.

    Attributes
    ----------
    value : the NumPy array or number it stands for
    number : that of the row which made it
    """

    __slots__ = ("capture", "number", "value")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, capture: Capture, value: Any, number: int) -> None:
        self.capture, self.value, self.number = capture, value, number

    if TYPE_CHECKING:  # gradviz.plan.capture.answers puts these, the operators and the methods on the class

        def __getattr__(self, name: str) -> Any: ...

    @property
    def whole(self) -> bool:
        """Whether it can be an index."""
        return np.result_type(self.value).kind in "biu"

    def __repr__(self) -> str:
        return f"Captured(shape={np.shape(self.value)}, dtype={np.result_type(self.value)})"

    # ---- what Python reads

    def __bool__(self) -> bool:
        return self.capture.read(self, "bool", bool)

    def __int__(self) -> int:
        return self.capture.read(self, "int", int)

    def __index__(self) -> int:
        return self.capture.read(self, "int", operator.index)

    def __float__(self) -> float:
        if stored_by(1):
            raise ConversionError(NO_STORE)
        raise self.capture.unreadable("float(x)")

    def __complex__(self) -> complex:
        if stored_by(1):
            raise ConversionError(NO_STORE)
        raise self.capture.unreadable("complex(x)")

    def __round__(self, *digits: int) -> Any:
        raise self.capture.unreadable("round(x)")

    def __trunc__(self) -> int:
        raise self.capture.unreadable("math.trunc(x)")

    def __floor__(self) -> int:
        raise self.capture.unreadable("math.floor(x)")

    def __ceil__(self) -> int:
        raise self.capture.unreadable("math.ceil(x)")

    def item(self, *args: int) -> Any:
        """Refused: a plan would keep the number it had when it was captured."""
        raise self.capture.unreadable("x.item()")

    def tolist(self) -> Any:
        """Refused: a plan would keep the numbers it had when it was captured."""
        raise self.capture.unreadable("x.tolist()")

    def tobytes(self, order: Any = "C") -> Any:
        """Refused: a plan would keep the bytes it had when it was captured."""
        raise self.capture.unreadable("x.tobytes()")

    def __format__(self, spec: str) -> str:
        if spec:
            raise self.capture.unreadable(f"f'{{x:{spec}}}'")
        return repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ConversionError(
            "An array inside a compiled function cannot become a plain NumPy array: a plan would keep the values it had when it was "
            "captured. Use np.<function>(x) on it directly, and make arrays to write into with np.zeros_like(x) or gradviz.numpy.zeros."
            + (" To pick from a plain array by it, write gradviz.numpy.asarray(table)[i]." if self.whole else "")
        )

    # ---- what the engine asks

    def lift(self, array: ndarray) -> Captured:
        """A plain array as a captured one, because this value is going to be written into it."""
        if on_device(array):
            found = self.capture.of_device(array)
            return captured(self.capture, found.value.copy(order="K"), found.number)
        return captured(self.capture, array, self.capture.constant(array))

    def in_kind(self, value: Any) -> Any:
        """A gradient or tangent as its argument is: an array, one of NumPy's numbers, or one of Python's."""
        kind = ndarray if type(self.value) is ndarray else self.value.__class__
        plain = value.value if isinstance(value, Captured) else value
        dtype = getattr(self.value, "dtype", None)
        if type(plain) is kind and getattr(plain, "dtype", None) == dtype:
            return value
        if kind is ndarray or dtype is not None:
            return self.capture.call(in_kind_of, (value, kind is ndarray, dtype), {})
        return self.capture.call(python_number, (value, kind), {})


NO_STORE = (
    "A value of a compiled function was written into a plain NumPy array, which would keep it for ever. Make the array with "
    "np.zeros_like(x), x.copy() or gradviz.numpy.zeros(...)."
)


class CapturedArray(Captured):
    """A captured array, in memory of its own.

    Attributes
    ----------
    version : how often it was written to
    """

    __slots__ = ("__weakref__", "version")

    def __init__(self, capture: Capture, value: Any, number: int) -> None:
        self.capture, self.value, self.number = capture, value, number
        self.version = 0

    # facts, which are the same in every replay

    shape = property(attrgetter("value.shape"), doc="Length of each axis.")
    dtype = property(attrgetter("value.dtype"), doc="Kind of its entries.")
    ndim = property(attrgetter("value.ndim"), doc="Number of axes.")
    size = property(attrgetter("value.size"), doc="Number of entries.")
    itemsize = property(attrgetter("value.itemsize"), doc="Bytes of an entry.")
    nbytes = property(attrgetter("value.nbytes"), doc="Bytes of all entries.")
    strides = property(attrgetter("value.strides"), doc="Bytes to the next entry along each axis.")
    flags = property(attrgetter("value.flags"), doc="Layout.")
    device = property(lambda self: "cpu", doc="Where it lives.")
    base: Any = None  # the array that owns its memory

    @property
    def data(self) -> Place:
        """Where the value lies while capturing."""
        return Place(self.value.__array_interface__["data"][0])

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _owned(self) -> bool:
        """Whether no other array can reach the memory."""
        value = self.value
        return owned(value, 1)

    def __getitem__(self, index: Any) -> Any:
        return self.capture.take(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.capture.assign(self, index, value)

    def moved(self, number: int) -> None:
        """The array was written to: from now on its value is that of another row."""
        self.number = number
        self.version += 1

    def copy(self, order: Any = "C") -> CapturedArray:
        """The same values in memory of their own. No call: a plan gives every value memory of its own where that matters."""
        return CapturedArray(self.capture, self.capture.copy_of(self.value, order), self.number)

    def __copy__(self) -> CapturedArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> CapturedArray:
        return self.copy()


class CapturedView(CapturedArray):
    """A captured array that shares memory with another: it looks again when that has been written to."""

    __slots__ = ("_number", "base", "row", "seen", "source")

    def __init__(self, capture: Capture, value: Any, number: int, source: CapturedArray, row: tuple[int, ...]) -> None:
        self.capture, self.value = capture, value
        self._number = number
        self.source = source
        self.row = row  # the row that took it, whose first operand is the source
        self.base: Any = source if type(source) is CapturedArray else source.base
        self.seen = self.base.version

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.base.version

    @property
    def number(self) -> int:  # type: ignore[override]
        if self.seen != self.base.version:
            code, _, *rest = self.row
            self._number = self.capture.row(code, self.source.number, *rest)
            self.seen = self.base.version
        return self._number

    def moved(self, number: int) -> None:
        self.source.moved(self.capture.put_back(self, number))
        self._number, self.seen = number, self.base.version


class CapturedNumber(Captured):
    """A captured number of NumPy's, which cannot be written to. There is a class for each dtype."""

    __slots__ = ()
    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any]
    itemsize: int
    ndim, size, device = 0, 1, "cpu"
    nbytes = property(lambda self: self.itemsize, doc="Bytes of it.")

    def __getitem__(self, index: Any) -> Any:
        return self.capture.take(self, index)

    def copy(self, order: Any = "C") -> CapturedNumber:
        """The number."""
        del order
        return self


class PythonNumber(Captured):
    """A captured number of Python's: no dtype, so that it adopts the one it meets. There is a class for each type."""

    __slots__ = ()
    kind: type

    # isinstance(x, float) is true, type(x) is float is not: functions in C ask the latter, and must not read the value
    __class__ = property(lambda self: type(self).kind)  # type: ignore[assignment]

    def conjugate(self) -> Any:
        """The complex conjugate."""
        return self.capture.call(np.conjugate, (self,), {})


CLASSES: dict[type, Any] = {ndarray: CapturedArray}  # a value's type -> the class of captured values that stand for it
CAPTURED: set[type] = {CapturedArray, CapturedView}  # all of them


def class_for(kind: type) -> Any:
    """The class for values of a type, made when the first such value is met."""
    found = CLASSES.get(kind)
    if found is None:
        numpys = issubclass(kind, np.generic)
        facts = {"dtype": np.dtype(kind), "itemsize": np.dtype(kind).itemsize} if numpys else {"kind": kind}
        base = CapturedNumber if numpys else PythonNumber
        found = CLASSES[kind] = type(f"Captured[{kind.__name__}]", (base,), {"__slots__": (), **facts})
        CAPTURED.add(found)
        if kind in SCALARS:
            SCALARS.add(found)
    return found


FLOAT64, FLOAT = class_for(np.float64), class_for(float)
ARRAYS.update((CapturedArray, CapturedView))
REALS.update((FLOAT64, FLOAT))
NUMBERS.add(FLOAT64)
NUMBERS_OR_NONE.add(FLOAT64)


def captured(capture: Capture, value: Any, number: int) -> Any:
    """The captured value that stands for ``value``, made by row ``number``."""
    kind = type(value)
    return (CLASSES.get(kind) or class_for(kind))(capture, value, number)


def plain(argument: Any) -> Any:
    """An argument with values for the captured ones in it."""
    kind = type(argument)
    if kind in CAPTURED:
        return argument.value
    if kind is tuple or kind is list:
        return kind(map(plain, argument))
    return plain(argument.value) if kind is Array else argument
