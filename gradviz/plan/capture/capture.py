"""How a program is captured: run the function once on captured values, and keep the rows they write.

A row is an operation with its operands, and its position is the number of the value it makes. Rows are kept as two flat arrays, of
all operations and of all operands; how many belong to an operation is known.

Operands that are values have the number of a row; constants have negative numbers, so that a row met again in a later iteration of a
loop differs from the earlier one in nothing but numbers that move on.
"""

from __future__ import annotations

import sys
from array import array as Integers  # noqa: N812
from typing import Any

import numpy as np

from gradviz.engine.array import Array, strip
from gradviz.errors import CaptureError, EscapedArrayError
from gradviz.plan.capture.captured import (
    CAPTURED,
    CLASSES,
    FLOAT64,
    Captured,
    CapturedArray,
    CapturedView,
    captured,
    plain,
)
from gradviz.plan.capture.constants import Constants, Outside, memory, same
from gradviz.plan.capture.devices import on_device, place_on_device, stand_in
from gradviz.plan.capture.template import Parts
from gradviz.plan.program.operation import (
    Items,
    Nth,
    Operation,
    Sliced,
    Slot,
    filled,
    guard,
    meta_of,
    pick,
    put,
    put_seen,
    take,
)  # fmt: skip
from gradviz.plan.program.program import NO_NUMBER, Program, Rows, value_numbers
from gradviz.record.source import Lines, place_of

ndarray = np.ndarray
INPUT = 0  # the operation of the rows that stand for inputs

DATA_SHAPED = frozenset(
    {np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract, np.repeat, np.trim_zeros, np.delete}
    | {np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.unique_values, np.unique_counts, np.unique_inverse}
    | {np.unique_all, np.histogram_bin_edges, np.bincount}
)  # how large their result is depends on values


class Capture:
    """The rows of one run, and what they refer to.

    Attributes
    ----------
    rows : the operation of each row
    operands : those of all rows, one after the other
    operations : what the numbers in ``rows`` refer to
    constants : what negative numbers refer to
    inputs : the captured values that each call brings along
    lazy : values are computed only where they are needed (`gradviz.plan.capture.by_shape`)
    """

    lazy = False

    def __init__(self) -> None:
        self.rows: Any = Integers("q")
        self.operands: Any = Integers("q")
        self.operations: list[Operation] = [Operation(INPUT, None, (), (), None, ())]
        self.codes: dict[Any, int] = {}
        self.constants = Constants()
        self.floats = self.constants.floats
        self.short = [0, 0, 0, 0]  # codes of +, -, *, / on float64 numbers
        self.inputs: list[Any] = []
        self.outside: dict[int, Captured] = {}  # id of an array that the function refers to -> the input it is
        self.devices: dict[
            Any, Captured
        ] = {}  # the same for arrays on a device, by their memory, and those without a name
        self.copies: dict[
            int, tuple[ndarray, ndarray]
        ] = {}  # id of a copy that the engine made -> (of which array, the copy)
        self.lines = Lines()

    # ---- values

    def input(self, value: Any) -> Any:
        """A value that each call of the plan brings along. What is computed while capturing does not touch the caller's array."""
        if type(value) is ndarray:
            return self._input(like_layout(value))
        return self._input(stand_in(value) if on_device(value) else value)

    def refer(self, array: ndarray) -> None:
        """Let an array from outside that the function refers to be an input as well."""
        if on_device(array):
            self.devices[place_on_device(array)] = self._input(stand_in(array))
        else:
            self.outside[id(array)] = self._input(array)

    def of_device(self, array: Any) -> Captured:
        """What stands for an array on a device that the function did not get as an argument."""
        place = place_on_device(array)
        found = self.devices.get(place)
        if found is None or (found.number < 0 and not same(found.value, stand_in(array))):
            held = stand_in(array)
            named = any(place[0] == other[0] and known.number >= 0 for other, known in self.devices.items())
            number = self.constants.on_device(array, held, self.lines.site(sys._getframe(1)), named)
            found = self.devices[place] = captured(self, held, number)
        return found

    def _input(self, value: Any) -> Any:
        self.rows.append(INPUT)
        made = captured(self, value, len(self.rows) - 1)
        self.inputs.append(made)
        return made

    def constant(self, value: Any) -> int:
        """The number of a value that is the same in every call."""
        if type(value) is not ndarray:
            return self.constants.number(value)
        found = self.outside.get(id(value))
        if found is not None and found.value is value:
            return found.number
        copied = self.copies.get(id(value))
        if copied is not None and same(*copied):
            return self.constant(copied[0])
        return self.constants.array(value, self.lines.site(sys._getframe(1)))

    def copied(self, array: ndarray, copy: ndarray) -> None:
        """Note what a copy is a copy of."""
        self.copies[id(copy)] = array, copy

    def row(self, code: int, *operands: int) -> int:
        self.rows.append(code)
        self.operands.extend(operands)
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
        try:
            code = self.codes.get(key)
        except TypeError:
            raise self.refused(f"{function} with arguments that cannot be compared", "it cannot be captured") from None
        if code is None:
            code = self.codes[key] = self.operation(function, args, kwargs, out, integers, view)
        return code

    # ---- calls

    def operands_only(self, key: Any, ufunc: np.ufunc, count: int, out: Any) -> int:
        """The code of a ufunc of captured values and constants alone, met for the first time; ``key`` finds it from then on."""
        captured(self, out, 0)  # makes the class for such results
        slots = tuple(Slot(k) for k in range(count))
        code = self.codes[key] = self.find(ufunc, slots, (), out, (False,) * count)
        return code

    def short_code(self, place: int, ufunc: np.ufunc, out: Any) -> int:
        """The code of an arithmetic operation on float64 numbers, met for the first time."""
        code = self.codes.get((ufunc, type(out))) or self.operands_only((ufunc, type(out)), ufunc, 2, out)
        self.short[place] = code
        return code

    def computed(self, ufunc: np.ufunc, operands: tuple[int, ...], out: Any) -> Any:
        """Write down a ufunc that has been computed."""
        kind = type(out)
        key = (ufunc, kind) if kind is not ndarray else (ufunc, out.shape, out.dtype)
        code = self.codes.get(key) or self.operands_only(key, ufunc, len(operands), out)
        return captured(self, out, self.row(code, *operands))

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function and write it down."""
        parts = Parts(self, isinstance(function, np.ufunc))
        templates = tuple([parts.template(a) for a in args])
        options = tuple([(name, parts.template(kwargs[name])) for name in sorted(kwargs)])
        values = parts.values
        out: Any = self.run(function, templates, options, values, parts.operands, parts.integers)
        if type(out) in (tuple, list) or hasattr(out, "_fields"):
            return self.results(function, templates, options, parts, out)
        if type(out) is not ndarray and not isinstance(out, (np.generic, float, complex, int)):
            return self.fact(function, out)
        source: Any = None
        if type(out) is ndarray:
            for x in parts.captured:
                if x.value is out:
                    return x
            source = next((x for x in parts.captured[:1] if looks_at(out, x.value)), None)
        viewed = source is not None and parts.operands[:1] == [source.number]
        code = self.find(function, templates, options, out, tuple(parts.integers), viewed)
        number = self.row(code, *parts.operands)
        if source is not None and viewed:
            return CapturedView(self, out, number, source, (code, *parts.operands))
        if type(out) is ndarray and out.base is not None and any(looks_at(out, x.value) for x in parts.captured):
            out = out.copy(order="K")
        if function in DATA_SHAPED:
            self.shape_is(number, np.shape(out))
        return captured(self, out, number)

    def run(self, function: Any, templates: Any, options: Any, values: Any, operands: Any, integers: Any) -> Any:
        """The result of a function."""
        return function(*[filled(t, values) for t in templates], **{n: filled(t, values) for n, t in options})

    def leaves(self, ufunc: np.ufunc, *values: Any) -> bool:
        """Whether an operator had better not be computed."""
        return False

    def fact(self, function: Any, out: Any) -> Any:
        """What a function returned that is no array: the same in every call if it is about dtypes, else refused."""
        if out is None or isinstance(out, (np.dtype, type, str)):
            return out
        raise self.refused(
            f"{getattr(function, '__name__', function)}, which gave a {type(out).__name__}", "it cannot be captured"
        )

    def results(self, function: Any, templates: Any, options: Any, parts: Parts, out: Any) -> Any:
        """A call with several results."""
        sized = function in DATA_SHAPED or (function is np.where and len(templates) == 1)
        integers = tuple(parts.integers)
        number, made = None, []
        for k, part in enumerate(out):
            if not hasattr(part, "dtype"):
                raise self.refused(
                    f"{getattr(function, '__name__', function)}, which gave a {type(part).__name__}",
                    "it cannot be captured",
                )
            if (
                parts.captured
                and looks_at(part, parts.captured[0].value)
                and parts.operands[0] == parts.captured[0].number
            ):
                code = self.find(Nth(function, k), templates, options, part, integers, True)
                row = self.row(code, *parts.operands)
                made.append(CapturedView(self, part, row, parts.captured[0], (code, *parts.operands)))  # type: ignore[arg-type]
                continue
            if any(looks_at(part, x.value) for x in parts.captured):
                part = part.copy(order="K")
            if number is None:
                number = self.row(self.find(function, templates, options, out, integers), *parts.operands)
            made.append(captured(self, part, self.row(self.find(pick, (Slot(0), k), (), part, (False,)), number)))
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
                captured(self, out, 0)  # makes the class for such results
                code = self.codes[key] = self.operation(
                    take, (Slot(0), Slot(1, True)), (), out, (False, True), kind is ndarray
                )
            self.rows.append(code)
            self.operands.append(number)
            self.operands.append(index)
            if kind is ndarray:
                return CapturedView(self, out, len(self.rows) - 1, array, (code, number, index))  # type: ignore[arg-type]
            return CLASSES[kind](self, out, len(self.rows) - 1)
        parts = Parts(self)
        whole = parts.template(array)
        at = parts.index(index)
        out = value[filled(at, self.index_values(parts, 1))]
        view = looks_at(out, value)
        code = self.find(take, (whole, at), (), out, tuple(parts.integers), view)
        number = self.row(code, *parts.operands)
        if any(plain(x).dtype.kind == "b" for x in parts.captured[1:] if hasattr(x, "dtype")):
            self.shape_is(number, out.shape)
        return CapturedView(self, out, number, array, (code, *parts.operands)) if view else captured(self, out, number)  # type: ignore[arg-type]

    # ---- writes

    def assign(self, array: CapturedArray, index: Any, value: Any) -> None:
        """``array[index] = value``."""
        if type(index) is not int and type(index) is not slice:
            index = self.index_here(index)
        if type(value) is CapturedView and value.value.base is not None and type(index) is not ndarray:
            place = array.value[self.seen(index)]
            if type(place) is ndarray and same_place(place, value.value) and value.seen == value.base.version:
                return  # the second half of ``a[i] += v``
        if type(value) is Array:
            value = strip(value, 0) if value.tape is None else value.__array__()
        if type(value) not in CAPTURED and on_device(value):
            value = self.of_device(value)
        kind = type(value)
        if type(index) is int and (kind is FLOAT64 or kind is float):
            number, memory = value.number if kind is FLOAT64 else self.constant(value), array.value
            key = PUT_ONE, memory.shape, memory.dtype, kind
            code = self.codes.get(key)
            if code is None:
                slots = (Slot(0), Slot(1), Slot(2, True))
                code = self.codes[key] = self.find(put, slots, (), memory, (False, False, True))
            before = array.number
            memory[index] = value.value if kind is FLOAT64 else value
            self.row(code, before, number, index)
            array.moved(len(self.rows) - 1)
            return
        if kind not in CAPTURED:
            value = np.asarray(value, dtype=array.dtype)[()]
        parts = Parts(self)
        whole, what, at = parts.template(array), parts.template(value), parts.index(index)
        memory = array.value
        memory[filled(at, self.index_values(parts, 2))] = filled(what, parts.values)
        if at == Ellipsis and meta_of(parts.values[1]) == meta_of(memory):
            array.moved(parts.operands[1])
            return
        code = self.find(put, (whole, what, at), (), memory, tuple(parts.integers))
        array.moved(self.row(code, *parts.operands))

    def index_here(self, index: Any) -> Any:
        """An index with captured values for arrays of a device in it."""
        if type(index) is tuple:
            return tuple(map(self.index_here, index))
        if type(index) is Array and index.tape is None:
            index = strip(index, 0)
        return self.of_device(index) if type(index) not in CAPTURED and on_device(index) else index

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

    def update(self, array: CapturedArray, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let ``function(*args)`` be what an array is from now on; the function is free of side effects."""
        made = self.call(function, args, kwargs)
        self.write(array, made)
        array.moved(made.number)

    def write(self, array: CapturedArray, made: Any) -> None:
        """Let an array hold what a value is."""
        array.value[...] = made.value

    def copy_of(self, array: ndarray, order: Any) -> ndarray:
        """A copy of what an array holds."""
        return array.copy(order)

    def compute_into(self, array: CapturedArray, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """``function(*args, out=array)``."""
        if "out" in kwargs:  # with where=: what is there stays
            where = kwargs.pop("where")
            kwargs.pop("out")
            made = self.call(np.where, (where, self.call(function, args, kwargs), array), {})
        else:
            made = self.call(function, args, kwargs)
        if not np.can_cast(made.dtype, array.dtype, "same_kind"):
            raise TypeError(f"Cannot cast the result of {function} from {made.dtype} to {array.dtype}")
        if np.shape(made.value) != array.shape:
            np.broadcast_to(made.value, array.shape)
            made = self.call(np.broadcast_to, (made, array.shape), {})
        made = array.in_kind(made)
        self.write(array, made)
        array.moved(made.number)

    # ---- reads

    def seen(self, value: Any) -> Any:
        """What a captured value is, or what is in a list of them."""
        return plain(value)

    def index_values(self, parts: Parts, first: int) -> list[Any]:
        """The values of operands, of which those from ``first`` on are used as an index."""
        return parts.values

    def read(self, value: Captured, kind: str, convert: Any) -> Any:
        """Python looks at a value. The plan is for calls in which it sees the same."""
        found = convert(self.seen(value))
        code = self.find(guard, (Slot(0), kind, found), (), None, (False,))
        self.row(code, value.number)
        return found

    def refused(self, what: str, why: str) -> CaptureError:
        """An error that names the line."""
        return CaptureError(f"{what} inside a compiled function{self.where()}: {why}.")

    def unreadable(self, what: str) -> CaptureError:
        """The error for a read whose result would be kept for ever."""
        return self.refused(
            what,
            "a plan would keep the number it had when it was captured. Compute with x itself, with NumPy's functions; return it to look "
            "at it after the call; or compare it (if x > 0:), which a plan can follow",
        )

    def where(self) -> str:
        """``, at model.py:12`` for the line of the user that is being run."""
        site = self.lines.site(sys._getframe(1))
        return f", at {self.line(site)}" if site >= 0 else ""

    def line(self, site: int) -> str:
        """``file:line`` of a site."""
        return place_of(*self.lines.found[site])

    # ---- the result

    def as_rows(self) -> Rows:
        """The rows as NumPy arrays."""
        codes = np.frombuffer(self.rows, np.int64) if self.rows else np.empty(0, np.int64)
        operands = np.frombuffer(self.operands, np.int64) if self.operands else np.empty(0, np.int64)
        widths = np.array([len(made.integers) for made in self.operations])
        starts = np.zeros(len(codes) + 1, np.int64)
        np.cumsum(widths[codes], out=starts[1:])
        return Rows(codes, operands, starts)

    def program(self, outputs: tuple[int, ...]) -> tuple[Program, list[Outside]]:
        """What was captured, and the arrays it has to be given after its other inputs: those met that live on."""
        alive, alike = self.constants.settle()
        rows, values = self.as_rows(), self.constants.values
        metas = tuple(meta_of(x.value) for x in self.inputs)
        if not alive and not alike:
            return Program(self.operations, rows, values, metas, outputs), []
        first, count = len(metas), len(alive)
        became = -1 - np.arange(len(values))  # constant -1 - k -> its number from now on
        for k, number in enumerate(alive):
            became[-1 - number] = first + k
        for number, earlier in alike.items():
            became[-1 - number] = earlier
        for number in (*alive, *alike):
            values[-1 - number] = None
        numbers, operands = value_numbers(self.operations, rows), rows.operands.copy()
        constant = (numbers < 0) & (numbers != NO_NUMBER)
        operands[numbers >= first] += count
        operands[constant] = became[-1 - operands[constant]]
        codes = np.insert(rows.codes, first, [INPUT] * count)
        rows = Rows(codes, operands, np.insert(rows.starts, first, [rows.starts[first]] * count))
        metas = (*metas, *(meta_of(outside.array) for outside in alive.values()))
        outputs = tuple(int(became[-1 - n]) if n < 0 else n + count * (n >= first) for n in outputs)
        return Program(self.operations, rows, values, metas, outputs), list(alive.values())

    def close(self) -> None:
        """The run is over; to use its values from now on is an error."""
        self.rows = Over()
        self.copies.clear()


class Over:
    """The rows of a capture that is over."""

    def __len__(self) -> int:
        return 0

    def append(self, code: int) -> None:
        """Refused."""
        raise EscapedArrayError(
            "A value of a compiled function was used after the call. Return what you need from the function instead of keeping it."
        )


class PUT_ONE:  # noqa: N801
    """``array[integer] = number``."""


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


def looks_at(out: Any, value: Any) -> bool:
    """Whether a result is a view of an argument."""
    return type(out) is ndarray and type(value) is ndarray and out.base is not None and memory(out) is memory(value)


def like_layout(array: ndarray) -> ndarray:
    """A copy with the same strides, so that what is a view of the one is a view of the other."""
    copy = array.copy(order="K")
    if copy.strides != array.strides and array.size:
        low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
        copy = np.ndarray(
            array.shape, array.dtype, np.empty(high - low + array.itemsize, np.uint8), -low, array.strides
        )
        copy[...] = array
    copy.flags.writeable = array.flags.writeable
    return copy


def shape_of(value: Any) -> tuple[Any, ...]:
    """A cheap key that tells what `meta_of` would."""
    if type(value) is ndarray:
        return value.shape, value.dtype
    return (meta_of(value),) if isinstance(value, (tuple, list)) else (type(value),)
