"""CUDA C as text, one position at a time: the second language that the table of functions is written in.

`Code` says the words of LLVM that the table uses; here each becomes an expression of C with the same meaning. Whole numbers wrap around as
in NumPy, so they are added as unsigned ones; every operand is turned into the type that the word takes, as C's own rules are others.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from gradviz.plan.kernels.code import Code, Complex, Operand, Value, is_complex, itemsize, part
from gradviz.plan.kernels.vector_math import Library

TYPES = {
    "f8": "double", "f4": "float", "b1": "bool", "i8": "long long", "i4": "int", "i2": "short", "i1": "signed char",
    "u8": "unsigned long long", "u4": "unsigned int", "u2": "unsigned short", "u1": "unsigned char",
}  # fmt: skip
SYMBOLS = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "add": "+", "sub": "-", "mul": "*", "sdiv": "/", "udiv": "/", "srem": "%",
    "urem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<", "ashr": ">>", "lshr": ">>",
}  # fmt: skip
ROUNDED = {
    "fadd": "add",
    "fsub": "sub",
    "fmul": "mul",
}  # on their own, so that no product is added before it is rounded
SIGNED = {"sdiv", "srem", "ashr"}
COMPARING = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
COMPLEX = {"cexp": "exp", "clog": "log", "csqrt": "sqrt", "csin": "sin", "ccos": "cos", "ctan": "tan", "csinh": "sinh",
           "ccosh": "cosh", "ctanh": "tanh", "casin": "asin", "cacos": "acos", "catan": "atan", "casinh": "asinh",
           "cacosh": "acosh", "catanh": "atanh", "cpow": "pow"}  # fmt: skip
NO_LIBRARY = Library(8, (), {})


def unsigned(dtype: str) -> str:
    return TYPES["u" + dtype[1:]] if dtype[0] in "iu" else TYPES[dtype]


def signed(dtype: str) -> str:
    return TYPES["i" + dtype[1:]] if dtype[0] in "iu" else TYPES[dtype]


class CudaCode(Code):
    """Lines of one function being written.

    Attributes
    ----------
    uses_complex : whether the functions of ``cupy/complex.cuh`` are wanted
    """

    def __init__(self) -> None:
        super().__init__(1, NO_LIBRARY)
        self.uses_complex = False

    def type(self, dtype: str) -> str:
        return TYPES[dtype]

    def name(self) -> str:
        self._names += 1
        return f"t{self._names}"

    def made(self, dtype: str, expression: str) -> Operand:
        """A new number."""
        name = self.name()
        self.line(f"const {TYPES[dtype]} {name} = {expression};")
        return name

    def constant(self, dtype: str, value: Any) -> Value:
        if is_complex(dtype):
            value = complex(value)
            return self.constant(part(dtype), value.real), self.constant(part(dtype), value.imag)
        return literal(dtype, value)

    def select(self, condition: Operand, dtype: str, x: Operand, y: Operand) -> Operand:
        kind = TYPES[dtype]
        return self.made(dtype, f"{condition} ? ({kind}){x} : ({kind}){y}")

    def compare(self, predicate: str, dtype: str, x: Operand, y: Operand) -> Operand:
        if predicate in {"uno", "ord"}:
            both = f"({x} != {x}) | ({y} != {y})" if x != y else f"{x} != {x}"
            return self.made("b1", both if predicate == "uno" else f"!({both})")
        if predicate == "one":  # neither equal nor unordered
            return self.made("b1", f"({x} < {y}) | ({x} > {y})")
        symbol = COMPARING[predicate[-2:]]
        kind = {"s": signed, "u": unsigned}.get(
            "" if predicate in {"eq", "ne", "une"} else predicate[0], TYPES.__getitem__
        )(dtype)
        return self.made("b1", f"({kind}){x} {symbol} ({kind}){y}")

    def binary(self, word: str, dtype: str, x: Operand, y: Operand) -> Operand:
        word, _, contracts = word.partition(" ")
        symbol = SYMBOLS[word]
        if dtype[0] == "f":
            if contracts or word == "fdiv":
                return self.made(dtype, f"{x} {symbol} {y}")
            return self.made(dtype, f"__{'d' if dtype == 'f8' else 'f'}{ROUNDED[word]}_rn({x}, {y})")
        kind = signed(dtype) if word in SIGNED else unsigned(dtype)
        return self.made(dtype, f"({TYPES[dtype]})(({kind}){x} {symbol} ({kind}){y})")

    def negative(self, dtype: str, x: Operand) -> Operand:
        return self.made(dtype, f"-{x}")

    def bits(self, dtype: str, x: Operand) -> Operand:
        whole = "i" + dtype[1:]
        return self.made(whole, f"__double_as_longlong({x})" if dtype == "f8" else f"__float_as_int({x})")

    def convert(self, word: str, source: str, target: str, x: Operand) -> Operand:
        kind = {"uitofp": unsigned, "zext": unsigned, "sitofp": signed, "sext": signed}.get(word, TYPES.__getitem__)
        return self.made(target, f"({TYPES[target]})({kind(source)}){x}")

    def intrinsic(self, name: str, dtype: str, *inputs: Operand) -> Operand:
        return self.call(name, dtype, *inputs)

    def call(self, function: str, dtype: str, *inputs: Operand) -> Operand:
        return self.made(dtype, f"{function}{'f' if dtype == 'f4' else ''}({', '.join(inputs)})")

    def call_complex(self, function: str, dtype: str, *inputs: Complex) -> Complex:
        """A function of CuPy's, which are those that it computes without a plan."""
        self.uses_complex = True
        kind, name = f"complex<{TYPES[part(dtype)]}>", self.name()
        self.line(f"const {kind} {name} = {COMPLEX[function]}({', '.join(f'{kind}({x}, {y})' for x, y in inputs)});")
        return f"{name}.real()", f"{name}.imag()"


def literal(dtype: str, value: Any) -> str:
    """A number in C, exact."""
    kind = dtype[0]
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        bits = 8 * itemsize(dtype)
        wrapped = int(value) & ((1 << bits) - 1)
        return f"({TYPES[dtype]}){wrapped}ULL"
    if dtype == "f4":
        try:
            bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
        except OverflowError:
            bits = 0x7F800000 if value > 0 else 0xFF800000
        return f"__int_as_float((int)0x{bits:08X}u)"
    value = float(value)
    if math.isfinite(value):
        return f"({value!r})"
    return f"__longlong_as_double(0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}LL)"
