"""How functions of real numbers are written in LLVM IR: those that are one instruction, one call, or a choice.

Branches are selects, in NumPy's own order of tests, so that infinities, NaN and signed zeros come out as NumPy's.
"""

from __future__ import annotations

import math

from gradviz.plan.kernels.code import Code, Operand
from gradviz.plan.kernels.table import TABLE, writes

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
writes("negative", "f", 1)(lambda c, t, x: c.negative(t, x))
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
    return c.compare("slt", whole, c.bits(t, x), c.constant(whole, 0))


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
