"""What a traced array is: a value, the tape it is on, and the number of its variable there.

How it answers NumPy (``np.sin(x)``, ``x @ w``, ``x[2:]``, ``a[i] = v``) is put on it in `gradviz.engine.protocols`.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.engine.cotangent import owned
from gradviz.errors import ConversionError


class Mark(int):
    """The index of an untraced array. Equal marks mean the same; a new one tells views that the array has other memory."""

    __slots__ = ()


FRESH = Mark(-1)  # its memory is its own
FOREIGN = Mark(-2)  # its memory belongs to the caller
USED = Mark(-3)  # it has been an operand, so that a pullback may have kept it


class Array:
    """A traced array. Users meet it inside functions that are being differentiated; it behaves like a NumPy array.

    Attributes
    ----------
    value : the array one level down: a NumPy or device array, a scalar, or an `Array` of an enclosing derivative
    tape : the tape it is recorded on; None for an array that no derivative has touched yet (``gradviz.numpy.zeros``)
    index : the number of its variable; changes when the array is written to

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> def total(x):
    ...     print(x)
    ...     return np.sum(x)
    >>> g = gv.grad(total)(np.ones(3))  # doctest: +ELLIPSIS
    Array(shape=(3,), dtype=float64, traced by level ...)
    """

    __slots__ = ("index", "tape", "value")
    __array_priority__ = 200
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, tape: Any, index: Any) -> None:
        self.value = value
        self.tape = tape
        self.index = index

    if TYPE_CHECKING:  # gradviz.engine.protocols puts these, the operators and the methods on the class

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

    # ---- facts

    @property
    def level(self) -> int:
        return 0 if self.tape is None else self.tape.level

    @property
    def shape(self) -> tuple[int, ...]:
        value = self.value
        return value.shape if hasattr(value, "shape") else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        value = self.value
        return value.dtype if hasattr(value, "dtype") else np.dtype(value.__class__)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return getattr(self.value, "strides", ())

    @property
    def flags(self) -> Any:
        return self.value.flags

    @property
    def device(self) -> Any:
        return getattr(bottom(self), "device", "cpu")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        traced = "" if self.tape is None else f", traced by level {self.tape.level}"
        return f"Array(shape={self.shape}, dtype={self.dtype}{traced})"

    def _owned(self) -> bool:
        """Whether nobody else can reach the memory; see `gradviz.engine.cotangent.owned`."""
        value = self.value
        return owned(value, 1)

    # ---- reading values

    def __bool__(self) -> bool:
        return bool(read(self, "bool"))

    def __int__(self) -> int:
        return int(read(self, "int"))

    def __float__(self) -> float:
        refuse_store(self)
        return float(read(self, "float"))

    def __complex__(self) -> complex:
        refuse_store(self)
        return complex(read(self, "complex"))

    def __index__(self) -> int:
        return operator.index(read(self, "int"))

    def item(self, *args: int) -> Any:
        """The value of one entry as a Python scalar. Reads it from the device; no gradient flows through it."""
        value = read(self, "item")
        return value.item(*args) if hasattr(value, "item") else value

    def tolist(self) -> Any:
        """All values as nested lists. Reads them from the device; no gradient flows through them."""
        value = read(self, "tolist")
        return value.tolist() if hasattr(value, "tolist") else value

    def __format__(self, spec: str) -> str:
        return format(read(self, "print"), spec) if spec else repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.tape is None:
            return np.array(strip(self, 0), dtype=dtype, copy=copy)
        raise ConversionError(
            "A traced array cannot become a plain NumPy array: its gradient would be lost. Use np.<function>(x) on it directly; make "
            "arrays to write into with gradviz.numpy.zeros, np.zeros_like(x) or x.copy() instead of np.zeros; join values with np.stack. "
            "If no gradient should flow, read it with gv.stop_gradient(x) and x.tolist()."
        )


class View(Array):
    """An array that shares memory with another one, as ``x[2:]`` or ``x.T`` do.

    It remembers how it was made. After a write to the array it looks at (or to another view of it) its next use looks again, so it
    sees what a NumPy view would see.
    """

    __slots__ = ("_index", "_tape", "_value", "root", "seen", "views")

    def __init__(self, value: Any, tape: Any, index: Any, source: Array, view: tuple[Any, tuple[Any, ...]]) -> None:
        self._value, self._tape, self._index = value, tape, index
        if isinstance(source, View):
            self.root: Array = source.root
            self.views: tuple[Any, ...] = (*source.views, view)
        else:
            self.root, self.views = source, (view,)
        self.seen = self.root.index

    def look(self) -> None:
        """Take the view again from the array as it is now."""
        seen: Any = Array(self.root.value, self.root.tape, self.root.index)
        for rule, rest in self.views:
            seen = rule(seen, *rest)
        self._value, self._tape, self._index = seen.value, seen.tape, seen.index
        self.seen = self.root.index

    @property
    def value(self) -> Any:  # type: ignore[override]
        if self.seen is not self.root.index:
            self.look()
        return self._value

    @property
    def tape(self) -> Any:  # type: ignore[override]
        if self.seen is not self.root.index:
            self.look()
        return self._tape

    @property
    def index(self) -> Any:  # type: ignore[override]
        if self.seen is not self.root.index:
            self.look()
        return self._index

    def _owned(self) -> bool:
        return False


def strip(value: Any, level: int) -> Any:
    """The value below all levels from ``level`` up; untraced arrays become plain on the way."""
    if isinstance(value, Array) and value.tape is not None and value.tape.level < level:
        return snapshot(value)
    while isinstance(value, Array) and (value.tape is None or value.tape.level >= level):
        if value.tape is None and value.index == FRESH:
            if type(value) is View:
                value.root.index = value.seen = value._index = USED
            else:
                value.index = USED
        value = value.value
    return value


def snapshot(value: Any) -> Any:
    """What an array is now, in a handle that later updates of it (``a += b``) do not reach."""
    if not isinstance(value, Array) or value.tape is None:
        return value
    return Array(value.value, value.tape, value.index)


def is_number(array: Array) -> bool:
    """Whether NumPy would have a scalar here, which cannot be written to."""
    if array.shape != ():
        return False
    value = bottom(array)
    return isinstance(value, (np.generic, float, complex)) or not hasattr(value, "strides")


def can_be_shared(value: Any) -> bool:
    """Whether two names of this value could be two names of one piece of memory."""
    return hasattr(value, "strides") and not isinstance(bottom(value), (np.generic, float, complex))


def bottom(value: Any) -> Any:
    """The plain or device array underneath."""
    while isinstance(value, Array):
        value = value.value
    return value


def constant(value: Any, index: int = FRESH) -> Array:
    """An untraced array, which becomes traced when something traced is written into it."""
    return Array(value, None, index)


def read(array: Array, trigger: str) -> Any:
    """The plain value of a traced array, for Python to look at; noted by the recorder."""
    recorder = getattr(array.tape, "recorder", None)
    value = bottom(array)
    if recorder is not None:
        recorder.read(trigger, value)
    return value


def refuse_store(array: Array) -> None:
    """Stop ``plain[i] = traced``: NumPy asks such a value for ``float(traced)``, which would drop the gradient without a word.

    NumPy's own code does the same with arguments that it does not look at, such as the ``left`` of ``np.interp``.
    """
    if array.tape is None:
        return
    frame = sys._getframe(2)
    if stores(frame.f_code, frame.f_lasti):
        raise ConversionError(
            "A traced value was written into a plain NumPy array: its gradient would be lost. Make the array with "
            "gradviz.numpy.zeros(...), np.zeros_like(x) or x.copy(), which can hold traced values."
        )
    if frame.f_globals.get("__name__", "").startswith("numpy."):
        raise ConversionError(
            f"np.{frame.f_code.co_name} was about to read a traced value as a number: its gradient would be lost. NumPy does not hand "
            f"this argument on; call gradviz.numpy.{frame.f_code.co_name}, or pass float(x) if no gradient should flow through it."
        )


def stored_by(depth: int) -> bool:
    """Whether the function that many calls up asks for a value because NumPy puts it into a plain array."""
    frame = sys._getframe(depth + 1)
    return stores(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=4096)
def stores(code: CodeType, at: int) -> bool:
    """Whether an instruction puts a value into a container: ``a[i] = v``, ``a.fill(v)``, ``np.fromiter(v, float)``."""
    name = dis.opname[code.co_code[at]]
    if not name.startswith("CALL"):
        return name.startswith("STORE_")
    around = {i.offset: i for i in dis.get_instructions(code)}
    start = around[at].positions
    called = [
        i
        for i in around.values()
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD") and i.offset < at and begins(i.positions) == begins(start)
    ]
    return bool(called) and called[-1].argval in STORING


def begins(positions: Any) -> tuple[int | None, int | None]:
    return positions.lineno, positions.col_offset


STORING = {"fill", "fromiter", "setitem"}
