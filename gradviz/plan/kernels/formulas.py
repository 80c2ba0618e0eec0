"""NumPy's functions that are formulas of others: quotients of whole parts, powers, and kin of ``exp`` and ``log``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradviz.plan.kernels.code import Code, Operand
from gradviz.plan.kernels.table import TABLE, writes

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


def _other_sign(c: Code, t: str, rest: Operand, y: Operand) -> Operand:
    """Whether a rest is there and has not the sign of the divisor, as NumPy's has."""
    zero = c.constant(t, 0)
    return c.binary("and", "b1", c.compare("ne", t, rest, zero), c.compare("slt", t, c.binary("xor", t, rest, y), zero))


@writes("floor_divide", "iu", 2, cost=20.0)
def floor_divide_whole(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    quotient, rest, by_zero = _whole_division(c, t, x, y)
    if t[0] == "i":
        quotient = c.select(_other_sign(c, t, rest, y), t, c.binary("sub", t, quotient, c.constant(t, 1)), quotient)
    return c.select(by_zero, t, zero, quotient)


@writes("remainder", "iu", 2, cost=20.0)
def remainder_whole(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    zero = c.constant(t, 0)
    _, rest, by_zero = _whole_division(c, t, x, y)
    if t[0] == "i":
        rest = c.select(_other_sign(c, t, rest, y), t, c.binary("add", t, rest, y), rest)
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
    far = c.call("exp", t, c.negative(t, c.intrinsic("fabs", t, distance)))
    summed = c.binary("fadd", t, larger, c.call("log1p", t, far))
    equal = c.binary("fadd", t, x, c.constant(t, math.log(2)))  # also where both are the same infinity
    nan = c.select(c.compare("uno", t, distance, distance), t, distance, summed)
    return c.select(c.compare("oeq", t, x, y), t, equal, nan)


@writes("logaddexp2", "f", 2, calls=("exp2", "log1p"), cost=45.0)
def logaddexp2(c: Code, t: str, x: Operand, y: Operand) -> Operand:
    distance = c.binary("fsub", t, x, y)
    larger = c.select(c.compare("ogt", t, distance, c.constant(t, 0)), t, x, y)
    far = c.call("exp2", t, c.negative(t, c.intrinsic("fabs", t, distance)))
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
    small = c.call("exp", t, c.negative(t, c.intrinsic("fabs", t, x)))
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
