"""What a captured array is: a value that writes down every call it takes part in.

It stands where a NumPy array would: below all derivatives, so that pullbacks are captured like any other call. The real value is
computed at the same time; that is how shapes, dtypes and views are known, and how the first call has a result.

Writing works as in NumPy, and is written down without side effects: an array has a number that changes when it is written to, and a
view looks again at what it was taken of.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.cotangent import owned
from gradviz.errors import ConversionError
from gradviz.plan.operation import add_at, updated

if TYPE_CHECKING:
    from gradviz.plan.capture import Capture

ndarray = np.ndarray
PYTHON_NUMBERS = frozenset({float, int, complex, bool})
MUTATING = frozenset({np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, np.copyto})

FACTS = frozenset(
    {np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.min_scalar_type, np.common_type, np.iscomplexobj, np.isrealobj}
    | {np.may_share_memory, np.shares_memory}
)  # about shapes and dtypes, not values


class Place(NamedTuple):
    """An address."""

    ptr: int


class Captured:
    """A value whose calls are captured.

    Attributes
    ----------
    value : the NumPy array or number it stands for
    number : that of the row which made it
    version : how often it was written to
    """

    __slots__ = ("__weakref__", "capture", "number", "value", "version")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, capture: Capture, value: Any, number: int) -> None:
        self.capture, self.value, self.number = capture, value, number
        self.version = 0

    # ---- facts, which are the same in every replay

    @property
    def shape(self) -> tuple[int, ...]:
        value = self.value
        return value.shape if hasattr(value, "shape") else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        value = self.value
        return value.dtype if hasattr(value, "dtype") else np.dtype(type(value))

    ndim = property(lambda self: len(self.shape), doc="Number of axes.")
    size = property(lambda self: int(np.size(self.value)), doc="Number of entries.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an entry.")
    nbytes = property(lambda self: self.size * self.dtype.itemsize, doc="Bytes of all entries.")
    strides = property(lambda self: getattr(self.value, "strides", ()), doc="Bytes to the next entry along each axis.")
    flags = property(lambda self: np.asarray(self.value).flags, doc="Layout.")
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

    def __repr__(self) -> str:
        return f"Captured(shape={self.shape}, dtype={self.dtype})"

    def _owned(self) -> bool:
        """Whether no other array can reach the memory."""
        value = self.value
        return type(value) is ndarray and owned(value, 1)

    # ---- what Python reads

    def __bool__(self) -> bool:
        return self.capture.read(self, "bool", bool)

    def __int__(self) -> int:
        return self.capture.read(self, "int", int)

    def __index__(self) -> int:
        return self.capture.read(self, "int", operator.index)

    def __float__(self) -> float:
        raise self.capture.unreadable("float(x)")

    def __complex__(self) -> complex:
        raise self.capture.unreadable("complex(x)")

    def item(self, *args: int) -> Any:
        """Refused: a plan would keep the number it had when it was captured."""
        raise self.capture.unreadable("x.item()")

    def tolist(self) -> Any:
        """Refused: a plan would keep the numbers it had when it was captured."""
        raise self.capture.unreadable("x.tolist()")

    def __format__(self, spec: str) -> str:
        if spec:
            raise self.capture.unreadable(f"f'{{x:{spec}}}'")
        return repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ConversionError(
            "An array inside a compiled function cannot become a plain NumPy array: a plan would keep the values it had when it was "
            "captured. Use np.<function>(x) on it directly, and make arrays to write into with np.zeros_like(x) or gradviz.numpy.zeros."
        )

    # ---- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Array) for x in inputs):
            return NotImplemented
        if method == "at":
            target, index, *value = inputs
            if not isinstance(target, Captured):
                return self.__array__()
            self.capture.update(target, add_at, (target, index, *value), {"ufunc": ufunc})
            return None
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        out = kwargs.pop("out", None)
        if out is None:
            return self.capture.call(function, inputs, kwargs)
        target = out[0]
        if len(out) > 1 or not isinstance(target, Captured):
            return self.__array__()
        if kwargs.get("where", True) is not True:
            kwargs = {**kwargs, "out": target}
        self.capture.compute_into(target, function, inputs, kwargs)
        return target

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(issubclass(kind, Array) for kind in types):
            return NotImplemented
        capture = self.capture
        if function in FACTS:
            return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        if function in MUTATING and isinstance(args[0], Captured):
            capture.update(args[0], updated, (function, *args), kwargs)
            return None
        out = kwargs.get("out")
        if isinstance(out, Captured):
            rest = {name: value for name, value in kwargs.items() if name != "out"}
            capture.compute_into(out, function, args, rest)
            return out
        return capture.call(function, args, kwargs)

    # ---- parts

    def __getitem__(self, index: Any) -> Any:
        return self.capture.take(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.capture.assign(self, index, value)

    def moved(self, number: int) -> None:
        """The array was written to: from now on its value is that of another row."""
        self.number = number
        self.version += 1

    def copy(self, order: Any = "C") -> Captured:
        """The same values in memory of their own. No call: a plan gives every value memory of its own where that matters."""
        value = self.value
        return Captured(self.capture, value.copy(order) if type(value) is ndarray else value, self.number)

    def __copy__(self) -> Captured:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Captured:
        return self.copy()


class CapturedView(Captured):
    """A captured array that shares memory with another: it looks again when that has been written to."""

    __slots__ = ("_number", "base", "row", "seen", "source")

    def __init__(self, capture: Capture, value: Any, number: int, source: Captured, row: tuple[int, ...]) -> None:
        self.capture, self.value = capture, value
        self._number = number
        self.source = source
        self.row = row  # the row that took it, whose first operand is the source
        self.base: Any = source if type(source) is Captured else source.base
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


def plain(argument: Any) -> Any:
    """An argument with values for the captured arrays in it."""
    if isinstance(argument, (tuple, list)):
        return type(argument)(map(plain, argument))
    return argument.value if isinstance(argument, Captured) else argument


# ---- operators and methods


def binary(operate: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x <op> y``, the shortest way: loops over numbers are made of these."""
    def compute(self: Captured, other: Any) -> Any:
        capture = self.capture
        kind = type(other)
        if kind is Captured or kind is CapturedView:
            b, y = other.number, other.value
        elif kind in PYTHON_NUMBERS:
            b, y = capture.constant(other), other
        elif isinstance(other, Array) or getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        else:
            return capture.call(ufunc, (self, other), {})
        return capture.computed(ufunc, self.number, b, operate(self.value, y))

    return compute


def reflected(operate: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x <op> y`` where only ``y`` is captured."""

    def compute(self: Captured, other: Any) -> Any:
        capture = self.capture
        if type(other) not in PYTHON_NUMBERS:
            return NotImplemented if isinstance(other, Array) else capture.call(ufunc, (other, self), {})
        return capture.computed(ufunc, capture.constant(other), self.number, operate(other, self.value))

    return compute


def in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def compute(self: Captured, other: Any) -> Any:
        if isinstance(other, Array):
            return NotImplemented
        if type(self.value) is not ndarray:
            return self.capture.call(ufunc, (self, other), {})
        self.capture.compute_into(self, ufunc, (self, other), {})
        return self

    return compute


def unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda self: self.capture.call(ufunc, (self,), {})


def method(function: Any) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: self.capture.call(function, (self, *args), kwargs)


def reshape(self: Any, *shape: Any, order: Any = "C") -> Any:
    """``np.reshape(self, shape)``; the shape may be given as separate integers."""
    return self.capture.call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), {"order": order})


def transpose(self: Any, *axes: Any) -> Any:
    """``np.transpose(self, axes)``; the axes may be given as separate integers."""
    return self.capture.call(np.transpose, (self, axes[0] if len(axes) == 1 else axes or None), {})


def fill(self: Any, value: Any) -> None:
    """Set every entry to one value."""
    self[...] = value


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power, "matmul": np.matmul,
    "mod": np.remainder, "floordiv": np.floor_divide, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARING = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "choose", "clip", "compress", "conj", "conjugate", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum",
    "swapaxes", "take", "trace", "var",
)  # fmt: skip

for _name, _ufunc in BINARY.items():
    setattr(Captured, f"__{_name}__", binary(getattr(operator, f"__{_name}__"), _ufunc))
    setattr(Captured, f"__r{_name}__", reflected(getattr(operator, f"__{_name}__"), _ufunc))
    setattr(Captured, f"__i{_name}__", in_place(_ufunc))
for _name, _ufunc in COMPARING.items():
    setattr(Captured, f"__{_name}__", binary(getattr(operator, f"__{_name}__"), _ufunc))
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Captured, f"__{_name}__", unary(_ufunc))
for _name in METHODS:
    setattr(Captured, _name, method(getattr(np, _name)))
Captured.reshape, Captured.transpose, Captured.fill = reshape, transpose, fill  # type: ignore[attr-defined]
Captured.flatten = lambda self, order="C": self.ravel(order).copy()  # type: ignore[attr-defined]
Captured.T = property(transpose)  # type: ignore[attr-defined]
Captured.mT = property(lambda self: np.swapaxes(self, -1, -2))  # type: ignore[attr-defined]
Captured.real = property(lambda self: self.capture.call(np.real, (self,), {}))  # type: ignore[attr-defined]
Captured.imag = property(lambda self: self.capture.call(np.imag, (self,), {}))  # type: ignore[attr-defined]
