"""How a program is captured: run the function once on captured arrays, and keep the rows they write.

A row is a flat tuple, and its position is the number of the value it makes:

    (operation, operand, operand, ...)

Operands that are values have the number of a row; constants have negative numbers, so that a row met again in a later iteration of a
loop differs from the earlier one in nothing but numbers that move on.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gradviz.errors import CaptureError
from gradviz.plan.captured import Captured, CapturedView, plain
from gradviz.plan.operation import Items, Operation, Sliced, Slot, filled, guard, meta_of, pick, put, put_seen, take
from gradviz.record.source import Lines

ndarray = np.ndarray
INPUT = 0  # the operation of the rows that stand for inputs
LITERALS = (str, bytes, type(None), type(Ellipsis), np.dtype, type)

DATA_SHAPED = frozenset(
    {np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract, np.repeat, np.trim_zeros, np.delete}
    | {np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.unique_values, np.unique_counts, np.unique_inverse}
    | {np.unique_all, np.histogram_bin_edges, np.bincount}
)  # how large their result is depends on values


class Capture:
    """The rows of one run, and what they refer to.

    Attributes
    ----------
    rows : one tuple for each value
    operations : what the first number of a row refers to
    constants : what negative numbers refer to: -1 is the first
    """

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.operations: list[Operation] = [Operation(INPUT, None, (), (), None, ())]
        self.codes: dict[Any, int] = {}
        self.constants: list[Any] = []
        self.known: dict[Any, int] = {}
        self.inputs: list[Captured] = []
        self.lines = Lines()

    # ---- values

    def input(self, value: Any) -> Captured:
        """A value that each call of the plan brings along. What is computed while capturing does not touch the caller's array."""
        self.rows.append((INPUT,))
        made = Captured(self, value.copy(order="K") if type(value) is ndarray else value, len(self.rows) - 1)
        self.inputs.append(made)
        return made

    def constant(self, value: Any) -> int:
        """The number of a value that is the same in every call."""
        kind = type(value)
        key = (kind, id(value)) if kind is ndarray else (kind, value or str(value))
        try:
            return self.known[key]
        except KeyError:
            self.constants.append(value)
            number = self.known[key] = -len(self.constants)
            return number

    def row(self, code: int, *operands: int) -> int:
        self.rows.append((code, *operands))
        return len(self.rows) - 1

    def operation(
        self, function: Any, args: Any, kwargs: Any, out: Any, integers: tuple[bool, ...], view: bool = False
    ) -> int:
        """A new entry among the operations."""
        code = len(self.operations)
        site = self.lines.site(sys._getframe(2))
        self.operations.append(Operation(code, function, args, kwargs, meta_of(out), integers, view, site))
        return code

    def find(
        self, function: Any, args: Any, kwargs: Any, out: Any, integers: tuple[bool, ...], view: bool = False
    ) -> int:
        """The code of the operation of that description."""
        key = (function, args, kwargs, view, *shape_of(out))
        code = self.codes.get(key)
        if code is None:
            code = self.codes[key] = self.operation(function, args, kwargs, out, integers, view)
        return code

    # ---- calls

    def computed(self, ufunc: np.ufunc, a: int, b: int, out: Any) -> Captured:
        """Write down a ufunc of two operands that has been computed."""
        kind = type(out)
        key = (ufunc, kind) if kind is not ndarray else (ufunc, out.shape, out.dtype)
        code = self.codes.get(key)
        if code is None:
            code = self.codes[key] = self.operation(ufunc, (Slot(0), Slot(1)), (), out, (False, False))
        rows = self.rows
        rows.append((code, a, b))
        return Captured(self, out, len(rows) - 1)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function and write it down."""
        parts = Parts(self)
        templates = tuple(parts.template(a) for a in args)
        options = tuple((name, parts.template(kwargs[name])) for name in sorted(kwargs))
        out = function(*[filled(t, parts.values) for t in templates], **{n: filled(t, parts.values) for n, t in options})
        if type(out) in (tuple, list) or hasattr(out, "_fields"):
            return self.results(function, templates, options, parts, out)
        if type(out) is not ndarray and not isinstance(out, (np.generic, float, complex, int)):
            return out  # a dtype, a string: facts
        source = next((x for x in parts.captured if x.value is out), None)
        if source is not None and type(out) is ndarray:
            return source
        source = next((x for x in parts.captured[:1] if looks_at(out, x.value)), None)
        code = self.find(function, templates, options, out, tuple(parts.integers), source is not None)
        number = self.row(code, *parts.operands)
        if source is not None and parts.operands and parts.operands[0] == source.number:
            return CapturedView(self, out, number, source, self.rows[number])
        if type(out) is ndarray and out.base is not None and any(looks_at(out, x.value) for x in parts.captured):
            out = out.copy(order="K")
        if function in DATA_SHAPED:
            self.shape_is(number, out.shape)
        return Captured(self, out, number)

    def results(self, function: Any, templates: Any, options: Any, parts: Parts, out: Any) -> Any:
        """A call with several results."""
        sized = function in DATA_SHAPED or (function is np.where and len(templates) == 1)
        code = self.find(function, templates, options, out, tuple(parts.integers))
        number = self.row(code, *parts.operands)
        made = []
        for k, part in enumerate(out):
            if any(looks_at(part, x.value) for x in parts.captured):
                part = part.copy(order="K")
            if not hasattr(part, "dtype"):
                made.append(part)
                continue
            made.append(Captured(self, part, self.row(self.find(pick, (Slot(0), k), (), part, (False,)), number)))
            if sized:
                self.shape_is(made[-1].number, part.shape)
        return type(out)(*made) if hasattr(out, "_fields") else type(out)(made)

    def shape_is(self, number: int, shape: tuple[int, ...]) -> None:
        """The plan is for calls in which a function that finds how much there is finds as much."""
        self.row(self.find(guard, (Slot(0), "shape", shape), (), None, (False,)), number)

    def take(self, array: Captured, index: Any) -> Any:
        """``array[index]``."""
        value, number = array.value, array.number
        if type(index) is int:
            out = value[index]
            kind = type(out)
            key = (TAKE_ONE, kind) if kind is not ndarray else (TAKE_ONE, out.shape, out.dtype)
            code = self.codes.get(key)
            if code is None:
                code = self.codes[key] = self.operation(take, (Slot(0), Slot(1, True)), (), out, (False, True), kind is ndarray)
            row = (code, number, index)
            self.rows.append(row)
            if kind is ndarray:
                return CapturedView(self, out, len(self.rows) - 1, array, row)
            return Captured(self, out, len(self.rows) - 1)
        parts = Parts(self)
        whole = parts.template(array)
        at = parts.index(index)
        out = value[filled(at, parts.values)]
        view = looks_at(out, value)
        code = self.find(take, (whole, at), (), out, tuple(parts.integers), view)
        number = self.row(code, *parts.operands)
        if any(x.dtype.kind == "b" for x in parts.captured[1:]):
            self.shape_is(number, out.shape)
        return CapturedView(self, out, number, array, self.rows[number]) if view else Captured(self, out, number)

    # ---- writes

    def assign(self, array: Captured, index: Any, value: Any) -> None:
        """``array[index] = value``."""
        if type(value) is CapturedView and value.value.base is not None and type(index) is not ndarray:
            place = array.value[plain(index)]
            if type(place) is ndarray and same_place(place, value.value) and value.seen == value.base.version:
                return  # the second half of ``a[i] += v``
        if type(value) not in (Captured, CapturedView):
            value = np.asarray(value, dtype=array.dtype)[()]
        parts = Parts(self)
        whole, what, at = parts.template(array), parts.template(value), parts.index(index)
        memory = array.value
        memory[filled(at, parts.values)] = filled(what, parts.values)
        if at == Ellipsis and meta_of(parts.values[1]) == meta_of(memory):
            array.moved(parts.operands[1])
            return
        code = self.find(put, (whole, what, at), (), memory, tuple(parts.integers))
        array.moved(self.row(code, *parts.operands))

    def put_back(self, view: CapturedView, number: int) -> int:
        """The row for an array of which a view was written to."""
        source = view.source
        code, _, *rest = view.row
        taken = self.operations[code]
        moved = {k: k + 1 for k in range(1, len(rest) + 1)}
        if taken.function is take:
            args: Any = (Slot(0), Slot(1), shifted(taken.args[1], moved))
            function: Any = put
        else:
            args = (Slot(0), Slot(1), taken.function, *(shifted(a, moved) for a in taken.args[1:]))
            function = put_seen
        integers = (False, False, *taken.integers[1:])
        kwargs = tuple((name, shifted(a, moved)) for name, a in taken.kwargs)
        return self.row(self.find(function, args, kwargs, source.value, integers), source.number, number, *rest)

    def update(self, array: Captured, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let ``function(*args)`` be what an array is from now on; the function is free of side effects."""
        made = self.call(function, args, kwargs)
        array.value[...] = made.value
        array.moved(made.number)

    def compute_into(self, array: Captured, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """``function(*args, out=array)``."""
        if "out" in kwargs:  # with where=: what is there stays
            where = kwargs.pop("where")
            kwargs.pop("out")
            made = self.call(np.where, (where, self.call(function, args, kwargs), array), {})
        else:
            made = self.call(function, args, kwargs)
        if not np.can_cast(made.dtype, array.dtype, "same_kind"):
            raise TypeError(f"Cannot cast the result of {function} from {made.dtype} to {array.dtype}")
        if made.shape != array.shape:
            np.broadcast_to(made.value, array.shape)
            made = self.call(np.broadcast_to, (made, array.shape), {})
        if made.dtype != array.dtype:
            made = self.call(np.astype, (made, array.dtype), {}) if hasattr(made.value, "strides") else made
        array.value[...] = made.value
        array.moved(made.number)

    # ---- reads

    def read(self, array: Captured, kind: str, convert: Any) -> Any:
        """Python looks at a value. The plan is for calls in which it sees the same."""
        found = convert(array.value)
        code = self.find(guard, (Slot(0), kind, found), (), None, (False,))
        self.row(code, array.number)
        return found

    def unreadable(self, what: str) -> CaptureError:
        """The error for a read whose result would be kept for ever."""
        return CaptureError(
            f"{what} inside a compiled function{self.where()}: a plan would keep the number it had when it was captured. Compute with x "
            f"itself; return it to look at it after the call; or compare it (if x > 0:), which a plan can follow."
        )

    def where(self) -> str:
        """``, at model.py:12`` for the line of the user that is being run."""
        frame = sys._getframe(1)
        site = self.lines.site(frame)
        if site < 0:
            return ""
        code, _ = self.lines.found[site]
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back  # type: ignore[assignment]
        return f", at {code.co_filename}:{frame.f_lineno}" if frame is not None else ""


class Parts:
    """The operands of one call, collected while its arguments become a template."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.operands: list[int] = []
        self.values: list[Any] = []
        self.integers: list[bool] = []
        self.captured: list[Captured] = []

    def slot(self, operand: int, value: Any, integer: bool = False) -> Slot:
        self.operands.append(operand)
        self.values.append(value)
        self.integers.append(integer)
        return Slot(len(self.operands) - 1, integer)

    def template(self, argument: Any) -> Any:
        """An argument with slots for the values in it."""
        kind = type(argument)
        if kind is Captured or kind is CapturedView:
            self.captured.append(argument)
            return self.slot(argument.number, argument.value)
        if kind is ndarray or isinstance(argument, np.generic) or kind is float or kind is complex:
            return self.slot(self.capture.constant(argument), argument)
        if kind is tuple:
            return tuple(self.template(item) for item in argument)
        if kind is list:
            return Items(self.template(item) for item in argument)
        if kind is slice:
            return Sliced(self.template(argument.start), self.template(argument.stop), self.template(argument.step))
        if kind is dict:
            raise CaptureError(f"a call with a dict among its arguments cannot be captured{self.capture.where()}")
        return argument

    def index(self, index: Any) -> Any:
        """The same for an index, in which integers may change from call to call."""
        kind = type(index)
        if kind is tuple:
            return tuple(self.index(item) for item in index)
        if kind is int or isinstance(index, np.integer):
            return self.slot(int(index), int(index), True)
        if kind is slice:
            return Sliced(self.end(index.start), self.end(index.stop), index.step)
        return self.template(index)

    def end(self, end: Any) -> Any:
        return end if end is None else self.slot(int(end), int(end), True)


class TAKE_ONE:  # noqa: N801 - a mark in keys
    """``array[integer]``."""


def shifted(template: Any, moved: dict[int, int]) -> Any:
    """A template with other slots."""
    kind = type(template)
    if kind is Slot:
        return Slot(moved[template.k], template.integer)
    if kind is Sliced:
        return Sliced(*(shifted(part, moved) for part in template))
    if kind is tuple or kind is Items:
        return kind(shifted(item, moved) for item in template)
    return template


def same_place(a: Any, b: Any) -> bool:
    return (
        a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
        and a.shape == b.shape
        and a.strides == b.strides
    )


def memory(value: Any) -> Any:
    while type(value) is ndarray and value.base is not None:
        value = value.base
    return value


def looks_at(out: Any, value: Any) -> bool:
    """Whether a result is a view of an argument."""
    return type(out) is ndarray and type(value) is ndarray and out.base is not None and memory(out) is memory(value)


def shape_of(value: Any) -> tuple[Any, ...]:
    """A cheap key that tells what `meta_of` would."""
    if type(value) is ndarray:
        return value.shape, value.dtype
    return (meta_of(value),) if isinstance(value, (tuple, list)) else (type(value),)
