"""How each of NumPy's functions is written in LLVM IR, for one vector: numbers that are real.

The table maps (function, kind of its inputs) to a writer; kinds are the first letter of a dtype: f, c, i, u, b. Branches are selects, in
NumPy's own order of tests, so that infinities, NaN and signed zeros come out as NumPy's. Complex numbers: `complex_functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gradviz.plan.code import Code, Operand, itemsize


class Function(NamedTuple):
    """How a function is written: ``write(code, dtype of the inputs, *inputs)``."""

    write: Callable[..., Any]
    inputs: int
    result: str  # "same", "bool", or "part": the dtype of a complex number's parts
    calls: tuple[str, ...] = ()  # functions of libm without which it cannot be written
    cost: float = 1.0  # roughly, in additions


TABLE: dict[tuple[str, str], Function] = {}

ALIASES = {
    "abs": "absolute", "conj": "conjugate", "true_divide": "divide", "mod": "remainder", "bitwise_not": "invert",
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh", "asinh": "arcsinh",
    "atanh": "arctanh", "pow": "power", "float_power": "power", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip


def writes(
    names: str, kinds: str, inputs: int, result: str = "same", calls: tuple[str, ...] = (), cost: float = 1.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a writer into the table."""

    def enter(write: Callable[..., Any]) -> Callable[..., Any]:
        for name in names.split():
            for kind in kinds:
                TABLE[name, kind] = Function(write, inputs, result, calls, cost)
        return write

    return enter


def find(function: str, kind: str) -> Function | None:
    return TABLE.get((ALIASES.get(function, function), kind))


# --- one instruction -------------------------------------------------------------------------------------------------

ARITHMETIC = {
    "f": {"add": "fadd contract", "subtract": "fsub contract", "multiply": "fmul contract", "divide": "fdiv"},
    "i": {"add": "add", "subtract": "sub", "multiply": "mul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"},
    "b": {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and", "fmax": "or", "fmin": "and",
          "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"},
}  # fmt: skip
ARITHMETIC["u"] = ARITHMETIC["i"]
COMPARISONS = {
    "less": ("olt", "slt", "ult"), "less_equal": ("ole", "sle", "ule"), "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"), "equal": ("oeq", "eq", "eq"), "not_equal": ("une", "ne", "ne"),
}  # fmt: skip
LIBM = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "cbrt": "cbrt", "erf": "erf",
    "erfc": "erfc", "gamma": "tgamma", "gammaln": "lgamma",
}  # fmt: skip
INTRINSICS = {"sqrt": ("sqrt", 4.0), "floor": ("floor", 1.0), "ceil": ("ceil", 1.0), "trunc": ("trunc", 1.0), "rint": ("rint", 1.0),
              "absolute": ("fabs", 1.0), "fabs": ("fabs", 1.0)}  # fmt: skip


def _enter_simple() -> None:
    for kind, words in ARITHMETIC.items():
        for name, word in words.items():
            cost = 4.0 if word == "fdiv" else 1.0
            writes(name, kind, 2, cost=cost)(lambda c, t, x, y, word=word: c.binary(word, t, x, y))
    for name, predicates in COMPARISONS.items():
        for kinds, predicate in zip(("f", "i", "ub"), predicates, strict=True):
            writes(name, kinds, 2, "bool")(lambda c, t, x, y, p=predicate: c.compare(p, t, x, y))
    for name, function in LIBM.items():
        writes(name, "f", 1, calls=(function,), cost=20.0)(lambda c, t, x, f=function: c.call(f, t, x))
    for name, (function, cost) in INTRINSICS.items():
        writes(name, "f", 1, cost=cost)(lambda c, t, x, f=function: c.intrinsic(f, t, x))


_enter_simple()
writes("arctan2", "f", 2, calls=("atan2",), cost=30.0)(lambda c, t, x, y: c.call("atan2", t, x, y))
writes("hypot", "f", 2, calls=("hypot",), cost=20.0)(lambda c, t, x, y: c.call("hypot", t, x, y))
writes("fmod", "f", 2, calls=("fmod",), cost=40.0)(lambda c, t, x, y: c.call("fmod", t, x, y))
writes("copysign", "f", 2)(lambda c, t, x, y: c.intrinsic("copysign", t, x, y))
writes("negative", "f", 1)(lambda c, t, x: c.op(f"fneg {c.type(t)} {x}"))
writes("negative", "iu", 1)(lambda c, t, x: c.binary("sub", t, c.constant(t, 0), x))
writes("positive", "fiu", 1)(lambda c, t, x: x)
writes("copy", "fiub", 1)(lambda c, t, x: x)
writes("floor ceil trunc", "iub", 1)(lambda c, t, x: x)
writes("conjugate real", "fiu", 1)(lambda c, t, x: x)
writes("imag", "fiu", 1)(lambda c, t, x: c.constant(t, 0))
writes("square", "f", 1)(lambda c, t, x: c.binary("fmul contract", t, x, x))
writes("square", "iu", 1)(lambda c, t, x: c.binary("mul", t, x, x))
writes("reciprocal", "f", 1, cost=4.0)(lambda c, t, x: c.binary("fdiv", t, c.constant(t, 1), x))
writes("radians", "f", 1)(lambda c, t, x: c.binary("fmul", t, x, c.constant(t, math.pi / 180)))
writes("degrees", "f", 1)(lambda c, t, x: c.binary("fmul", t, x, c.constant(t, 180 / math.pi)))
writes("isnan", "f", 1, "bool")(lambda c, t, x: c.compare("uno", t, x, x))
writes("isnan isinf", "iub", 1, "bool")(lambda c, t, x: c.constant("b1", False))
writes("isfinite", "iub", 1, "bool")(lambda c, t, x: c.constant("b1", True))
writes("invert", "iu", 1)(lambda c, t, x: c.binary("xor", t, x, c.constant(t, -1)))
writes("invert logical_not", "b", 1)(lambda c, t, x: c.binary("xor", t, x, c.constant(t, True)))
writes("signbit", "i", 1, "bool")(lambda c, t, x: c.compare("slt", t, x, c.constant(t, 0)))
writes("absolute", "i", 1)(
    lambda c, t, x: c.select(c.compare("slt", t, x, c.constant(t, 0)), t, c.binary("sub", t, c.constant(t, 0), x), x)
)
writes("absolute", "ub", 1)(lambda c, t, x: x)


@writes("isfinite", "f", 1, "bool")
def isfinite(c: Code, t: str, x: Operand) -> Operand:
    return c.compare("one", t, c.intrinsic("fabs", t, x), c.constant(t, math.inf))


@writes("isinf", "f", 1, "bool")
def isinf(c: Code, t: str, x: Operand) -> Operand:
    return c.compare("oeq", t, c.intrinsic("fabs", t, x), c.constant(t, math.inf))


@writes("signbit", "f", 1, "bool")
def signbit(c: Code, t: str, x: Operand) -> Operand:
    whole = "i" + t[1:]
    return c.compare("slt", whole, c.op(f"bitcast {c.type(t)} {x} to {c.type(whole)}"), c.constant(whole, 0))


# --- choice ----------------------------------------------------------------------------------------------------------


def _nan_or(c: Code, predicate: str, t: str, x: Operand, y: Operand, watched: Operand) -> Operand:
    """``x`` where ``watched`` is NaN or the comparison holds, else ``y``."""
    chosen = c.binary("or", "b1", c.compare("uno", t, watched, watched), c.compare(predicate, t, x, y))
    return c.select(chosen, t, x, y)


writes("maximum", "f", 2)(lambda c, t, x, y: _nan_or(c, "oge", t, x, y, x))
writes("minimum", "f", 2)(lambda c, t, x, y: _nan_or(c, "ole", t, x, y, x))
writes("fmax", "f", 2)(lambda c, t, x, y: _nan_or(c, "oge", t, x, y, y))
writes("fmin", "f", 2)(lambda c, t, x, y: _nan_or(c, "ole", t, x, y, y))
writes("maximum fmax", "i", 2)(lambda c, t, x, y: c.select(c.compare("sgt", t, x, y), t, x, y))
writes("minimum fmin", "i", 2)(lambda c, t, x, y: c.select(c.compare("slt", t, x, y), t, x, y))
writes("maximum fmax", "u", 2)(lambda c, t, x, y: c.select(c.compare("ugt", t, x, y), t, x, y))
writes("minimum fmin", "u", 2)(lambda c, t, x, y: c.select(c.compare("ult", t, x, y), t, x, y))


@writes("clip", "fiu", 3)
def clip(c: Code, t: str, x: Operand, low: Operand, high: Operand) -> Operand:
    above = TABLE["maximum", t[0]].write(c, t, x, low)
    return TABLE["minimum", t[0]].write(c, t, above, high)


@writes("sign", "f", 1)
def sign(c: Code, t: str, x: Operand) -> Operand:
    zero, one = c.constant(t, 0), c.constant(t, 1)
    rest = c.select(c.compare("oeq", t, x, zero), t, zero, x)  # zero has no sign; NaN stays
    below = c.select(c.compare("olt", t, x, zero), t, c.constant(t, -1), rest)
    return c.select(c.compare("ogt", t, x, zero), t, one, below)


@writes("sign", "iu", 1)
def sign_of_whole(c: Code, t: str, x: Operand) -> Operand:
    zero = c.constant(t, 0)
    positive = c.select(c.compare("ne", t, x, zero), t, c.constant(t, 1), zero)
    if t[0] == "u":
        return positive
    return c.select(c.compare("slt", t, x, zero), t, c.constant(t, -1), positive)


@writes("heaviside", "f", 2)
def heaviside(c: Code, t: str, x: Operand, at_zero: Operand) -> Operand:
    zero, one = c.constant(t, 0), c.constant(t, 1)
    rest = c.select(c.compare("oeq", t, x, zero), t, at_zero, x)
    below = c.select(c.compare("olt", t, x, zero), t, zero, rest)
    return c.select(c.compare("ogt", t, x, zero), t, one, below)


def truth(c: Code, t: str, x: Operand) -> Operand:
    """Whether a number is not zero; NaN is not."""
    if t == "b1":
        return x
    return c.compare("une" if t[0] == "f" else "ne", t, x, c.constant(t, 0))


writes("logical_and", "fiub", 2, "bool")(lambda c, t, x, y: c.binary("and", "b1", truth(c, t, x), truth(c, t, y)))
writes("logical_or", "fiub", 2, "bool")(lambda c, t, x, y: c.binary("or", "b1", truth(c, t, x), truth(c, t, y)))
writes("logical_xor", "fiub", 2, "bool")(lambda c, t, x, y: c.binary("xor", "b1", truth(c, t, x), truth(c, t, y)))
writes("logical_not", "fiu", 1, "bool")(lambda c, t, x: c.binary("xor", "b1", truth(c, t, x), c.constant("b1", True)))


# --- division of whole parts: the quotient is rounded down, the rest has the divisor's sign --------------------------


@writes("remainder", "f", 2, calls=("fmod",), cost=40.0)
def remainder(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    rest = c.call("fmod", t, x, y)
    moved = c.select(_signs_differ(c, t, rest, y), t, c.binary("fadd", t, rest, y), rest)
    signed = c.select(c.compare("oeq", t, rest, zero), t, c.intrinsic("copysign", t, zero, y), moved)
    return c.select(c.compare("oeq", t, y, zero), t, rest, signed)


@writes("floor_divide", "f", 2, calls=("fmod",), cost=45.0)
def floor_divide(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero, one = c.constant(t, 0), c.constant(t, 1)
    quotient = c.binary("fdiv", t, x, y)
    rest = c.call("fmod", t, x, y)
    whole = c.binary("fdiv", t, c.binary("fsub", t, x, rest), y)
    down = c.binary("and", "b1", c.compare("une", t, rest, zero), _signs_differ(c, t, rest, y))
    whole = c.select(down, t, c.binary("fsub", t, whole, one), whole)
    floor = c.intrinsic("floor", t, whole)
    short = c.compare("ogt", t, c.binary("fsub", t, whole, floor), c.constant(t, 0.5))
    floor = c.select(short, t, c.binary("fadd", t, floor, one), floor)
    floor = c.select(c.compare("oeq", t, whole, zero), t, c.intrinsic("copysign", t, zero, quotient), floor)
    return c.select(c.compare("oeq", t, y, zero), t, quotient, floor)


def _signs_differ(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    return c.binary("xor", "b1", c.compare("olt", t, x, zero), c.compare("olt", t, y, zero))


def _whole_division(c: Code, t: str, x: Operand, y: Operand) -> tuple[Operand, Operand, Operand]:
    """Quotient and rest towards zero, and whether the divisor is 0, where both are 0; the machine traps on neither 0 nor -1."""
    zero = c.constant(t, 0)
    by_zero = c.compare("eq", t, y, zero)
    safe = c.select(by_zero, t, c.constant(t, 1), y)
    if t[0] == "u":
        return c.binary("udiv", t, x, safe), c.binary("urem", t, x, safe), by_zero
    by_minus_one = c.compare("eq", t, y, c.constant(t, -1))
    safe = c.select(by_minus_one, t, c.constant(t, 1), safe)
    quotient, rest = c.binary("sdiv", t, x, safe), c.binary("srem", t, x, safe)
    return c.select(by_minus_one, t, c.binary("sub", t, zero, x), quotient), rest, by_zero


@writes("floor_divide", "iu", 2, cost=20.0)
def floor_divide_whole(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    quotient, rest, by_zero = _whole_division(c, t, x, y)
    if t[0] == "i":
        down = c.binary(
            "and", "b1", c.compare("ne", t, rest, zero), c.compare("slt", t, c.binary("xor", t, rest, y), zero)
        )
        quotient = c.select(down, t, c.binary("sub", t, quotient, c.constant(t, 1)), quotient)
    return c.select(by_zero, t, zero, quotient)


@writes("remainder", "iu", 2, cost=20.0)
def remainder_whole(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    _, rest, by_zero = _whole_division(c, t, x, y)
    if t[0] == "i":
        up = c.binary(
            "and", "b1", c.compare("ne", t, rest, zero), c.compare("slt", t, c.binary("xor", t, rest, y), zero)
        )
        rest = c.select(up, t, c.binary("add", t, rest, y), rest)
    return c.select(by_zero, t, zero, rest)


def _shift(c: Code, t: str, x: Operand, y: Operand, word: str) -> Operand:
    """Shifting by as many bits as there are, or more, leaves nothing (or the sign)."""
    bits = 8 * int(t[1:])
    inside = c.compare("ult", t, y, c.constant(t, bits))
    shifted = c.binary(word, t, x, c.select(inside, t, y, c.constant(t, 0)))
    if word == "ashr":
        return c.select(inside, t, shifted, c.binary("ashr", t, x, c.constant(t, bits - 1)))
    return c.select(inside, t, shifted, c.constant(t, 0))


writes("left_shift", "iu", 2)(lambda c, t, x, y: _shift(c, t, x, y, "shl"))
writes("right_shift", "i", 2)(lambda c, t, x, y: _shift(c, t, x, y, "ashr"))
writes("right_shift", "u", 2)(lambda c, t, x, y: _shift(c, t, x, y, "lshr"))


# --- made of others --------------------------------------------------------------------------------------------------


def power_by(exponent: float) -> Callable[..., Any] | None:
    """The writer of ``x ** exponent`` by products, for exponents where that is exact to 2 ulp; NumPy takes the root by ``sqrt`` too."""
    return POWERS.get(float(exponent))


def _cube(c: Code, t: str, x: Operand) -> Operand:
    return c.binary("fmul", t, c.binary("fmul", t, x, x), x)


def _fourth(c: Code, t: str, x: Operand) -> Operand:
    square = c.binary("fmul", t, x, x)
    return c.binary("fmul", t, square, square)


def _inverse_square(c: Code, t: str, x: Operand) -> Operand:
    inverse = c.binary("fdiv", t, c.constant(t, 1), x)
    return c.binary("fmul", t, inverse, inverse)


POWERS: dict[float, Callable[..., Any]] = {
    0.0: lambda c, t, x: c.constant(t, 1),
    1.0: lambda c, t, x: x,
    2.0: TABLE["square", "f"].write,
    3.0: _cube,
    4.0: _fourth,
    0.5: TABLE["sqrt", "f"].write,
    -1.0: TABLE["reciprocal", "f"].write,
    -2.0: _inverse_square,
}

writes("power", "f", 2, calls=("pow",), cost=40.0)(lambda c, t, x, y: c.call("pow", t, x, y))


@writes("logaddexp", "f", 2, calls=("exp", "log1p"), cost=45.0)
def logaddexp(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    distance = c.binary("fsub", t, x, y)
    larger = c.select(c.compare("ogt", t, distance, c.constant(t, 0)), t, x, y)
    far = c.call("exp", t, c.op(f"fneg {c.type(t)} {c.intrinsic('fabs', t, distance)}"))
    summed = c.binary("fadd", t, larger, c.call("log1p", t, far))
    equal = c.binary("fadd", t, x, c.constant(t, math.log(2)))  # also where both are the same infinity
    nan = c.select(c.compare("uno", t, distance, distance), t, distance, summed)
    return c.select(c.compare("oeq", t, x, y), t, equal, nan)


@writes("logaddexp2", "f", 2, calls=("exp2", "log1p"), cost=45.0)
def logaddexp2(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    distance = c.binary("fsub", t, x, y)
    larger = c.select(c.compare("ogt", t, distance, c.constant(t, 0)), t, x, y)
    far = c.call("exp2", t, c.op(f"fneg {c.type(t)} {c.intrinsic('fabs', t, distance)}"))
    bits = c.binary("fmul", t, c.call("log1p", t, far), c.constant(t, 1 / math.log(2)))
    summed = c.binary("fadd", t, larger, bits)
    equal = c.binary("fadd", t, x, c.constant(t, 1))
    nan = c.select(c.compare("uno", t, distance, distance), t, distance, summed)
    return c.select(c.compare("oeq", t, x, y), t, equal, nan)


@writes("sinc", "f", 1, calls=("sin",), cost=25.0)
def sinc(c: Code, t: str, x: Operand) -> Operand:
    zero = c.compare("oeq", t, x, c.constant(t, 0))
    angle = c.binary("fmul", t, c.select(zero, t, c.constant(t, 1e-20), x), c.constant(t, math.pi))
    return c.binary("fdiv", t, c.call("sin", t, angle), angle)


@writes("expit", "f", 1, calls=("exp",), cost=28.0)
def expit(c: Code, t: str, x: Operand) -> Operand:
    one = c.constant(t, 1)
    small = c.call("exp", t, c.op(f"fneg {c.type(t)} {c.intrinsic('fabs', t, x)}"))
    above = c.compare("oge", t, x, c.constant(t, 0))
    return c.binary("fdiv", t, c.select(above, t, one, small), c.binary("fadd", t, one, small))


@writes("xlogy", "f", 2, calls=("log",), cost=25.0)
def xlogy(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    product = c.binary("fmul", t, x, c.call("log", t, y))
    nothing = c.binary("and", "b1", c.compare("oeq", t, x, c.constant(t, 0)), c.compare("ord", t, y, y))
    return c.select(nothing, t, c.constant(t, 0), product)


@writes("xlog1py", "f", 2, calls=("log1p",), cost=25.0)
def xlog1py(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    product = c.binary("fmul", t, x, c.call("log1p", t, y))
    nothing = c.binary("and", "b1", c.compare("oeq", t, x, c.constant(t, 0)), c.compare("ord", t, y, y))
    return c.select(nothing, t, c.constant(t, 0), product)


# --- reductions ------------------------------------------------------------------------------------------------------


def combine(c: Code, function: str, dtype: str, x: Any, y: Any) -> Any:
    """Two results of a reduction made one."""
    return TABLE[function, dtype[0]].write(c, dtype, x, y)


def identity(function: str, dtype: str) -> Any:
    """The number that changes nothing when it is combined with others; -0 for sums, as 0 would change -0."""
    kind = dtype[0]
    match function:
        case "add":
            return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(kind, 0)
        case "multiply" | "logical_and":
            return 1
        case "logical_or":
            return 0
    lowest = function == "maximum"
    if kind == "f":
        return -math.inf if lowest else math.inf
    if kind == "b":
        return not lowest
    bits = 8 * itemsize(dtype)
    if kind == "u":
        return 0 if lowest else (1 << bits) - 1
    return -(1 << (bits - 1)) if lowest else (1 << (bits - 1)) - 1
