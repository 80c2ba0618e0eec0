"""The paths that small arrays spend their time on: operators, ufuncs of one argument and ``p[i]``, written out for each rule.

A 10-element multiplication takes NumPy 0.3 µs. Going through `gradviz.engine.call.call`, which handles any mixture of levels, costs
2 µs more; these paths cost 0.4 µs. Each is the same few lines with the rule's record filled in, so they are written by a template
rather than by hand; what the templates say, straight.c says once more for a compiler, and then a path costs 0.1 µs. Whatever is not
ordinary (another level, an untraced array, a device, a recorder) leaves through ``otherwise``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.compiled import compiled
from gradviz.engine.array import Array, View
from gradviz.engine.call import call
from gradviz.engine.like import like
from gradviz.engine.mutate import below_index, take
from gradviz.engine.rule import RULES, Rule
from gradviz.engine.tape import Tape
from gradviz.engine.variant import Variant

ndarray = np.ndarray
SCALARS = {float, complex, np.float64, np.float32, np.complex128, np.complex64}  # one type, one dtype; plans add theirs
ARRAYS: set[Any] = {ndarray}  # arrays whose parts are taken on the short path; plans add theirs
REALS = {float, np.float64}  # a number of either takes the cotangent of a number as it is; plans add theirs
HOST = frozenset({ndarray, *SCALARS})  # values whose calls are recorded on a short path too
FLOAT64 = np.dtype(np.float64)
X, Y, A = (("x",), False), (("y",), False), (("a",), False)
XY, XY_FIT = (("x", "y"), False), (("x", "y"), True)

UNARY: dict[Any, Callable[[Array], Any]] = {}
BINARY: dict[Any, Callable[[Array, Any], Any]] = {}
REFLECTED: dict[Any, Callable[[Array, Any], Any]] = {}
CONSTANTS: dict[float, np.ndarray] = {}
SLOTS = ("x", "y", "out", "like(x)", "like(y)")  # as straight.c numbers them
PART: list[int] = []  # the step of ``a[index]``, once its rule is complete

# the type of a constant does not choose the algorithm, as it does in x**2
STEADY = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/"}
SYMBOLS = {**STEADY, np.power: "**"}

UNARY_SOURCE = """
def watched(self):
    tape, x = self.tape, self.value
    if type(tape) is not Tape or not tape.open or type(x) not in HOST:
        return otherwise(self)
    recorder = tape.recorder
    clock = recorder.clock
    start_ns = clock()
    out = ufunc(x)
    end_ns = clock()
    log = tape.log
    index = len(log)
    log.append(({code}, self.index, {slots}))
    recorder.quick(tape, index, {name!r}, start_ns, end_ns, x, None, out, {saves})
    return Array(out, tape, index)

def operate(self):
    tape = self.tape
    if tape is None or not tape.quick:
        return watched(self)
    x = self.value
    out = ufunc(x)
    log = tape.log
    index = len(log)
    log.append(({code}, self.index, {slots}))
    return Array(out, tape, index)
"""

BINARY_SOURCE = """
def watched(self, other):
    tape, x, kind = self.tape, self.value, type(other)
    if type(tape) is not Tape or not tape.open or type(x) not in HOST:
        return otherwise(self, other)
    recorder = tape.recorder
    clock = recorder.clock
    log = tape.log
    if kind is float or kind is int:
        y = {constant}
        start_ns = clock()
        out = x {symbol} y
        end_ns = clock()
        index = len(log)
        log.append(({code}, self.index, {slots}))
        recorder.quick(tape, index, {name!r}, start_ns, end_ns, x, None, out, {saves})
        return Array(out, tape, index)
    if (kind is not Array and kind is not View) or other.tape is not tape{or_square}:
        return otherwise(self, other)
    y = other.value
    kind, other_kind = type(x), type(y)
    if kind is other_kind:
        alike = kind in SCALARS or (x.shape == y.shape and x.dtype is y.dtype)
    else:
        alike = kind in REALS and other_kind in REALS
    if not alike and (kind not in SCALARS or other_kind not in SCALARS):
        return otherwise(self, other)
    start_ns = clock()
    out = x {symbol} y
    end_ns = clock()
    index = len(log)  # only now: a view may have looked again, which makes records
    if alike:
        log.append(({code_xy}, (self.index, other.index), {slots_xy}))
    else:
        log.append(keep_fitted((self.index, other.index), out, x, y))
    recorder.quick(tape, index, {name!r}, start_ns, end_ns, x, y, out, {saves_xy})
    return Array(out, tape, index)

def operate(self, other):
    tape = self.tape
    if tape is None or not tape.quick:
        return watched(self, other)
    kind = type(other)
    x = self.value
    if kind is float or kind is int:
        y = {constant}
        out = x {symbol} y
        log = tape.log
        index = len(log)
        log.append(({code}, self.index, {slots}))
        return Array(out, tape, index)
    if (kind is not Array and kind is not View) or other.tape is not tape{or_square}:
        return otherwise(self, other)
    y = other.value
    out = x {symbol} y
    kind, other_kind = type(x), type(y)
    log = tape.log
    index = len(log)
    if kind is other_kind:
        alike = kind in SCALARS or (x.shape == y.shape and x.dtype is y.dtype)
    else:
        alike = kind in REALS and other_kind in REALS
    if alike:
        log.append(({code_xy}, (self.index, other.index), {slots_xy}))
    else:
        log.append(keep_fitted((self.index, other.index), out, x, y))
    return Array(out, tape, index)
"""

REFLECTED_SOURCE = """
def operate(self, other):
    tape = self.tape
    kind = type(other)
    if tape is None or not tape.quick or (kind is not float and kind is not int):
        return otherwise(self, other)
    x = other
    y = self.value
    out = x {symbol} y
    log = tape.log
    index = len(log)
    log.append(({code}, self.index, {slots}))
    return Array(out, tape, index)
"""


def constant_array(number: float) -> np.ndarray:
    """A Python number as a 0-d array, which NumPy adds and multiplies in 0.30 µs where the number itself takes it 0.48 µs."""
    if number == 0:  # 0.0 and -0.0 are one key
        return np.array(float(number))
    if len(CONSTANTS) > 1000:
        CONSTANTS.clear()
    found = CONSTANTS[number] = np.array(float(number))
    return found


core = compiled(__name__)
if core is not None:
    core.know(Array, View, Tape, SCALARS, REALS, CONSTANTS, constant_array, like)


def write_straight_paths(general: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Fill the tables above for all rules there are; ``general(ufunc, inputs)`` is where the extraordinary goes."""
    PART[:] = [take.variant(A).code]
    for function, rule in sorted(RULES.items(), key=lambda item: len(item[1].inputs)):
        if not isinstance(function, np.ufunc) or not rule.straight:
            continue
        if rule.inputs == ("x",) == rule.parameters:
            UNARY[function] = _unary(function, rule, general)
        elif rule.inputs == ("x", "y") == rule.parameters and function in SYMBOLS:
            BINARY[function] = _binary(function, rule, general)
            REFLECTED[function] = _reflected(function, rule, general)


def shortened(answer_ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """``__array_ufunc__``, which finds the straight paths compiled if they are."""
    return answer_ufunc if core is None else core.Answer(UNARY, BINARY, answer_ufunc)


def _written(source: str, space: dict[str, Any], **parts: Any) -> Callable[..., Any]:
    space.update(
        Array=Array,
        View=View,
        Tape=Tape,
        HOST=HOST,
        SCALARS=SCALARS,
        REALS=REALS,
        FLOAT64=FLOAT64,
        CONSTANTS=CONSTANTS,
        ndarray=ndarray,
        like=like,
    )
    space["constant_array"] = constant_array
    exec(source.format(**parts), space)  # noqa: S102
    return space["operate"]


def _unary(ufunc: np.ufunc, rule: Rule, general: Callable[..., Any]) -> Callable[[Array], Any]:
    variant = rule.variant(X)

    def otherwise(self: Array) -> Any:
        return general(ufunc, (self,))

    if core is not None and expressible(variant):
        return core.Path(ufunc, otherwise, rule.name, _record(variant, variant.saves))
    space = {"ufunc": ufunc, "otherwise": otherwise}
    return _written(
        UNARY_SOURCE, space, code=variant.code, slots=_together(variant.slots), saves=variant.saves, name=rule.name
    )


def _binary(ufunc: np.ufunc, rule: Rule, general: Callable[..., Any]) -> Callable[[Array, Any], Any]:
    one, two, keep_fitted = rule.variant(X), rule.variant(XY), rule.variant(XY_FIT).keep
    square = (
        UNARY.get(np.square) if ufunc is np.multiply else None
    )  # one pullback for x * x, where two would be added up

    def otherwise(self: Array, other: Any) -> Any:
        return square(self) if square is not None and other is self else general(ufunc, (self, other))

    saves = one.saves & ~2  # the second operand is a constant
    if core is not None and expressible(one, two):
        return core.Path(
            ufunc, otherwise, rule.name, _record(one, saves), both=_record(two, two.saves), keep_fitted=keep_fitted,
            symbol=SYMBOLS[ufunc], steady=ufunc in STEADY, squares=square is not None,
        )  # fmt: skip
    fast = "(CONSTANTS.get(other) or constant_array(other)) if type(x) is ndarray and x.dtype is FLOAT64 else other"
    return _written(
        BINARY_SOURCE, {"keep_fitted": keep_fitted, "otherwise": otherwise},
        or_square=" or other is self" * (square is not None), symbol=SYMBOLS[ufunc],
        constant=fast if ufunc in STEADY else "other", name=rule.name,
        code=one.code, slots=_together(one.slots), saves=saves,
        code_xy=two.code, slots_xy=_together(two.slots), saves_xy=two.saves,
    )  # fmt: skip


def _reflected(ufunc: np.ufunc, rule: Rule, general: Callable[..., Any]) -> Callable[[Array, Any], Any]:
    variant = rule.variant(Y)

    def otherwise(self: Array, other: Any) -> Any:
        return general(ufunc, (other, self))

    if core is not None and expressible(variant):
        return core.Path(ufunc, otherwise, rule.name, _record(variant, 0), symbol=SYMBOLS[ufunc], reflected=True)
    space = {"otherwise": otherwise}
    return _written(REFLECTED_SOURCE, space, symbol=SYMBOLS[ufunc], code=variant.code, slots=_together(variant.slots))


def expressible(*variants: Variant) -> bool:
    """Whether straight.c has a word for all that the records hold."""
    return all(slot in SLOTS for variant in variants for slot in variant.slots)


def _record(variant: Variant, saves: int) -> tuple[int, int, tuple[int, ...]]:
    return variant.code, saves, tuple(SLOTS.index(slot) for slot in variant.slots)


def _together(slots: tuple[str, ...]) -> str:
    return ", ".join(slots)


def get_item(self: Array, index: Any) -> Any:
    """``self[index]``. Loops over ``p[i]`` are made of it, so one integer or slice of a plain array takes no further call."""
    tape = self.tape
    kind = type(index)
    if (kind is int or kind is slice) and type(tape) is Tape and tape.open:
        value = self.value
        if type(value) in ARRAYS:
            recorder = tape.recorder
            start_ns = 0 if recorder is None else recorder.clock()
            out = value[index]
            end_ns = 0 if recorder is None else recorder.clock()
            log = tape.log
            number = len(log)
            log.append((PART[0], self.index, (index,), (value.shape, value.dtype), index))
            if recorder is not None:
                recorder.quick(tape, number, "getitem", start_ns, end_ns, value, None, out, 0)
            return View(out, tape, number, self, (take, (index,))) if type(out) in ARRAYS else Array(out, tape, number)
    index = below_index(index)
    if kind is not ndarray and getattr(getattr(index, "dtype", None), "kind", "") == "b" and index.ndim:
        # on a device a mask makes the host wait; positions do so once, and not again in the reverse pass
        index = np.nonzero(index)
    return call(take, (self, index))
