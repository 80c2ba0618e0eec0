"""How NumPy's functions of complex numbers are written in LLVM IR: a number is a pair of vectors.

Products are written without fused multiply-add: ``z * conj(z)`` is real, exactly. The transcendental functions are libm's own, in double.
"""

from __future__ import annotations

from gradviz.plan.kernels.code import Code, Complex, Operand, part
from gradviz.plan.kernels.real_functions import truth
from gradviz.plan.kernels.table import TABLE, writes

LIBM = {
    "exp": "cexp", "log": "clog", "sqrt": "csqrt", "sin": "csin", "cos": "ccos", "tan": "ctan", "sinh": "csinh",
    "cosh": "ccosh", "tanh": "ctanh", "arcsin": "casin", "arccos": "cacos", "arctan": "catan", "arcsinh": "casinh",
    "arccosh": "cacosh", "arctanh": "catanh",
}  # fmt: skip

for _name, _function in LIBM.items():
    writes(_name, "c", 1, calls=(_function,), cost=150.0)(lambda c, t, z, f=_function: c.call_complex(f, t, z))
writes("power", "c", 2, calls=("cpow",), cost=300.0)(lambda c, t, x, y: c.call_complex("cpow", t, x, y))
writes("positive copy", "c", 1)(lambda c, t, z: z)
writes("real", "c", 1, "part")(lambda c, t, z: z[0])
writes("imag", "c", 1, "part")(lambda c, t, z: z[1])
writes("absolute", "c", 1, "part", calls=("hypot",), cost=20.0)(lambda c, t, z: c.call("hypot", part(t), *z))


def _minus(c: Code, t: str, x: Operand) -> Operand:
    return c.negative(part(t), x)


writes("negative", "c", 1)(lambda c, t, z: (_minus(c, t, z[0]), _minus(c, t, z[1])))
writes("conjugate", "c", 1)(lambda c, t, z: (z[0], _minus(c, t, z[1])))


def _by_parts(word: str) -> None:
    name = {"fadd": "add", "fsub": "subtract"}[word]
    writes(name, "c", 2, cost=2.0)(
        lambda c, t, x, y: tuple(c.binary(word, part(t), a, b) for a, b in zip(x, y, strict=True))
    )


_by_parts("fadd")
_by_parts("fsub")


@writes("multiply", "c", 2, cost=6.0)
def multiply(c: Code, t: str, x: Complex, y: Complex) -> Complex:
    p = part(t)
    real = c.binary("fsub", p, c.binary("fmul", p, x[0], y[0]), c.binary("fmul", p, x[1], y[1]))
    imag = c.binary("fadd", p, c.binary("fmul", p, x[0], y[1]), c.binary("fmul", p, x[1], y[0]))
    return real, imag


writes("square", "c", 1, cost=6.0)(lambda c, t, z: multiply(c, t, z, z))


@writes("divide", "c", 2, cost=20.0)
def divide(c: Code, t: str, x: Complex, y: Complex) -> Complex:
    """Smith's quotient (Communications of the ACM 5, 1962), as NumPy divides; by zero: each part by the divisor's magnitude."""
    p = part(t)
    zero = c.constant(p, 0)
    sizes = [c.intrinsic("fabs", p, v) for v in y]
    wide = c.compare("oge", p, sizes[0], sizes[1])
    large, small = c.select(wide, p, y[0], y[1]), c.select(wide, p, y[1], y[0])
    ratio = c.binary("fdiv", p, small, large)
    scale = c.binary("fdiv", p, c.constant(p, 1), c.binary("fadd", p, large, c.binary("fmul", p, small, ratio)))
    first, second = c.select(wide, p, x[0], x[1]), c.select(wide, p, x[1], x[0])
    real = c.binary("fmul", p, c.binary("fadd", p, first, c.binary("fmul", p, second, ratio)), scale)
    # wide: x1 - x0 ratio; else: x1 ratio - x0
    turned = c.binary("fmul", p, c.select(wide, p, x[0], x[1]), ratio)
    left = c.select(wide, p, x[1], turned)
    right = c.select(wide, p, turned, x[0])
    imag = c.binary("fmul", p, c.binary("fsub", p, left, right), scale)
    none = c.binary("and", "b1", c.compare("oeq", p, sizes[0], zero), c.compare("oeq", p, sizes[1], zero))
    return (
        c.select(none, p, c.binary("fdiv", p, x[0], sizes[0]), real),
        c.select(none, p, c.binary("fdiv", p, x[1], sizes[0]), imag),
    )


@writes("reciprocal", "c", 1, cost=15.0)
def reciprocal(c: Code, t: str, z: Complex) -> Complex:
    """NumPy's loop: as Smith's quotient of 1, without a case of its own for zero."""
    p = part(t)
    wide = c.compare("ole", p, c.intrinsic("fabs", p, z[1]), c.intrinsic("fabs", p, z[0]))
    large, small = c.select(wide, p, z[0], z[1]), c.select(wide, p, z[1], z[0])
    ratio = c.binary("fdiv", p, small, large)
    scale = c.binary("fadd", p, large, c.binary("fmul", p, small, ratio))
    one = c.constant(p, 1)
    whole, partial = c.binary("fdiv", p, one, scale), c.binary("fdiv", p, ratio, scale)
    minus_whole, minus_partial = _minus(c, t, whole), _minus(c, t, partial)
    return c.select(wide, p, whole, partial), c.select(wide, p, minus_partial, minus_whole)


def _both(word: str, test: str, result: str = "b1") -> None:
    """A test of a complex number: of its parts, joined."""

    def write(c: Code, t: str, *inputs: Complex) -> Operand:
        p = part(t)
        parts = [TABLE[test, "f"].write(c, p, *(z[i] for z in inputs)) for i in range(2)]
        return c.binary(word, result, *parts)

    writes(test, "c", TABLE[test, "f"].inputs, "bool", cost=3.0)(write)


_both("and", "equal")
_both("or", "not_equal")
_both("or", "isnan")
_both("or", "isinf")
_both("and", "isfinite")


def complex_truth(c: Code, t: str, z: Complex) -> Operand:
    return c.binary("or", "b1", *(truth(c, part(t), x) for x in z))


writes("logical_not", "c", 1, "bool")(
    lambda c, t, z: c.binary("xor", "b1", complex_truth(c, t, z), c.constant("b1", True))
)
writes("logical_and", "c", 2, "bool")(
    lambda c, t, x, y: c.binary("and", "b1", complex_truth(c, t, x), complex_truth(c, t, y))
)
writes("logical_or", "c", 2, "bool")(
    lambda c, t, x, y: c.binary("or", "b1", complex_truth(c, t, x), complex_truth(c, t, y))
)
