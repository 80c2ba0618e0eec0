"""What one kind of call is: a function with everything about it that does not change from call to call.

Calls of the same operation differ in their operands only. Operands are numbers of values, and plain integers where an index is meant
(``p[3]`` and ``p[4]`` are one operation with the operands ``(p, 3)`` and ``(p, 4)``), so that a loop shows as a period.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Meta(NamedTuple):
    """What is known of a value before it is computed."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: str  # "array"; "number" (a NumPy scalar); "weak" (a Python number, which adopts the dtype it meets)

    def __str__(self) -> str:
        size = f"[{', '.join(map(str, self.shape))}]" if self.kind == "array" else ""
        return f"{self.dtype.name}{size}"

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for n in self.shape:
            size *= n
        return size


class Slot(NamedTuple):
    """Where operand number ``k`` of a call goes in its arguments."""

    k: int
    integer: bool = False  # a plain integer, not the number of a value


class Sliced(NamedTuple):
    """A slice, whose ends may be slots."""

    start: Any
    stop: Any
    step: Any


class Operation:
    """A function with its fixed arguments and what it returns.

    Attributes
    ----------
    function : what is called; markers such as `PUT` stand for what Python has no function for
    args, kwargs : the arguments, with a `Slot` for each operand
    meta : what it returns; for a function with several results a tuple of them
    view : the result shares memory with the first operand
    site : where the user's program called it first
    """

    __slots__ = ("args", "code", "function", "integers", "kwargs", "meta", "name", "site", "view")

    def __init__(
        self,
        code: int,
        function: Any,
        args: tuple[Any, ...],
        kwargs: tuple[tuple[str, Any], ...],
        meta: Any,
        integers: tuple[bool, ...],
        view: bool = False,
        site: Any = None,
    ) -> None:
        self.code, self.function, self.args, self.kwargs = code, function, args, kwargs
        self.meta, self.integers, self.view, self.site = meta, integers, view, site
        self.name: str = name_of(function)

    def __repr__(self) -> str:
        return f"<{self.name} -> {self.meta}>"

    def arguments(self, operands: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with values in the places of the operands."""
        return [filled(a, operands) for a in self.args], {name: filled(a, operands) for name, a in self.kwargs}

    def run(self, operands: list[Any]) -> Any:
        """Call the function on values."""
        args, kwargs = self.arguments(operands)
        out = self.function(*args, **kwargs)
        return out.item() if isinstance(out, np.generic) and self.meta.kind == "weak" else out


def name_of(function: Any) -> str:
    if isinstance(function, Nth):
        return f"{name_of(function.function)}[{function.k}]"
    name = getattr(function, "__name__", None) or getattr(function, "title", str(function))
    ufunc = getattr(function, "__self__", None)
    return f"{ufunc.__name__}.{name}" if isinstance(ufunc, np.ufunc) else name


def filled(template: Any, operands: list[Any]) -> Any:
    """A template with values in its slots."""
    kind = type(template)
    if kind is Slot:
        return operands[template.k]
    if kind is Sliced:
        return slice(*(filled(part, operands) for part in template))
    if kind is tuple:
        return tuple(filled(item, operands) for item in template)
    if kind is Items:
        return [filled(item, operands) for item in template]
    return template


class Items(tuple[Any, ...]):
    """A list in a template, where it has to be hashable."""

    __slots__ = ()


def meta_of(value: Any) -> Any:
    """What can be known of a value, or of each of several."""
    if type(value) is np.ndarray:
        return Meta(value.shape, value.dtype, "array")
    if isinstance(value, np.generic):
        return Meta((), value.dtype, "number")
    if isinstance(value, (bool, int, float, complex)):
        return Meta((), np.dtype(type(value)), "weak")
    if isinstance(value, (tuple, list)):
        return tuple(meta_of(item) for item in value)
    if hasattr(value, "dtype") and hasattr(value, "strides"):  # of a device
        return Meta(value.shape, value.dtype, "array")
    return None


# ---- what NumPy has no function without side effects for


def take(array: Any, index: Any) -> Any:
    """``array[index]``."""
    return array[index]


def take_number(array: Any, index: int) -> Any:
    """One entry as a number of Python's own."""
    return array[index].item()


def put(array: Any, value: Any, index: Any) -> Any:
    """A copy of ``array`` with ``value`` at ``index``."""
    array = array.copy(order="K")
    array[index] = value
    return array


def put_seen(array: Any, value: Any, view: Callable[..., Any], *rest: Any, **options: Any) -> Any:
    """A copy of ``array`` of which ``view(copy, *rest)`` is ``value``."""
    made = np.array(array, order="K")
    seen = view(made, *rest, **options)
    if np.may_share_memory(seen, made):
        seen.flags.writeable = True  # np.diagonal's views
        seen[...] = value
        return made
    made = array.copy()  # a layout of which no such view exists
    made.reshape(-1)[view(np.arange(made.size).reshape(made.shape), *rest, **options)] = value
    return made


def add_at(array: Any, index: Any, value: Any, ufunc: np.ufunc = np.add) -> Any:
    """A copy of ``array`` with ``ufunc.at`` done to it."""
    array = array.copy(order="K")
    ufunc.at(array, index, value)
    return array


def updated(function: Callable[..., Any], array: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of ``array`` with an in-place function done to it."""
    array = array.copy(order="K")
    function(array, *args, **kwargs)
    return array


def viewed(array: Any, dtype: Any) -> Any:
    """The same memory, with entries of another dtype."""
    return array.view(dtype)


def pick(results: Any, k: int) -> Any:
    """One of several results."""
    return results[k]


class Nth(NamedTuple):
    """A function with several results, of which one is meant: a view."""

    function: Any
    k: int

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)[self.k]


def in_kind_of(value: Any, array: bool, dtype: Any) -> Any:
    """The same value as an array or a NumPy number of that dtype."""
    made: Any = np.asarray(value)
    if made.dtype != dtype:
        made = (made.real if made.dtype.kind == "c" and dtype.kind != "c" else made).astype(dtype)
    if not array:
        return made[()]
    return made.copy() if made is value else made


def python_number(value: Any, kind: type) -> Any:
    """The same value as a number of Python's own."""
    return kind(value)


def guard(value: Any, kind: str, expected: Any) -> None:
    """Python looked at a value: the calls that follow are those for this answer."""
