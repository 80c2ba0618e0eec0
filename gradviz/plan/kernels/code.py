"""LLVM IR as text, one vector at a time.

`Code` collects lines and knows how many lanes a vector has; with one lane everything is a plain number. Operands are text: the name of
an SSA value or a literal; a complex number is a pair of operands, its real and its imaginary part.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from gradviz.plan.kernels.vector_math import Library

Operand = str
Complex = tuple[Operand, Operand]
Value = Any  # an Operand, or a Complex

SCALARS = {
    "f8": "double", "f4": "float", "c16": "double", "c8": "float", "b1": "i1",
    "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8", "u8": "i64", "u4": "i32", "u2": "i16", "u1": "i8",
}  # fmt: skip
SUFFIXES = {"double": "f64", "float": "f32"}


def is_complex(dtype: str) -> bool:
    return dtype[0] == "c"


def part(dtype: str) -> str:
    """The dtype of the real and imaginary parts; a real dtype is its own."""
    return {"c16": "f8", "c8": "f4"}.get(dtype, dtype)


def itemsize(dtype: str) -> int:
    return int(dtype[1:])


def number(dtype: str, value: Any) -> Operand:
    """A literal of one lane, exact: floats are written as the bits of a double."""
    kind = dtype[0]
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        bits = 8 * itemsize(dtype)
        wrapped = int(value) & ((1 << bits) - 1)
        return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
    value = float(value)
    if math.isnan(value):
        return "0x7FF8000000000000"
    if dtype == "f4":
        value = _float32(value)
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _float32(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


class Code:
    """Lines of one function being written, for vectors of ``lanes`` lanes."""

    def __init__(self, lanes: int, library: Library) -> None:
        self.math = library
        self.lines: list[str] = []
        self.label = "entry"
        self.declared: dict[str, str] = {}  # symbol -> its declaration
        self.defined: dict[str, str] = {}  # symbol -> a helper function's text
        self._names = 0
        self.narrow(lanes)

    def narrow(self, lanes: int) -> None:
        """From here on, vectors have ``lanes`` lanes."""
        self.lanes = lanes
        self._types = {dtype: self.vector(scalar) for dtype, scalar in SCALARS.items()}

    def type(self, dtype: str) -> str:
        return self._types[dtype]

    def vector(self, scalar: str) -> str:
        return f"<{self.lanes} x {scalar}>" if self.lanes > 1 else scalar

    def name(self) -> str:
        self._names += 1
        return f"%t{self._names}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def op(self, text: str) -> Operand:
        self._names += 1
        name = f"%t{self._names}"
        self.lines.append(f"{name} = {text}")
        return name

    def start(self, label: str) -> None:
        """Open a basic block."""
        self.lines.append(f"{label}:")
        self.label = label

    def fresh_label(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, dtype: str, value: Any) -> Value:
        if is_complex(dtype):
            value = complex(value)
            return self.constant(part(dtype), value.real), self.constant(part(dtype), value.imag)
        return self.repeat_literal(dtype, number(dtype, value))

    def repeat_literal(self, dtype: str, literal: str) -> Operand:
        return f"splat ({SCALARS[dtype]} {literal})" if self.lanes > 1 else literal

    def repeat(self, dtype: str, scalar: Operand) -> Operand:
        """A number in every lane."""
        if self.lanes == 1:
            return scalar
        vector = self.type(dtype)
        first = self.op(f"insertelement {vector} poison, {SCALARS[dtype]} {scalar}, i64 0")
        return self.op(f"shufflevector {vector} {first}, {vector} poison, <{self.lanes} x i32> zeroinitializer")

    def select(self, condition: Operand, dtype: str, x: Operand, y: Operand) -> Operand:
        vector = self.type(dtype)
        return self.op(f"select {self.type('b1')} {condition}, {vector} {x}, {vector} {y}")

    def compare(self, predicate: str, dtype: str, x: Operand, y: Operand) -> Operand:
        word = "fcmp" if dtype[0] == "f" else "icmp"
        return self.op(f"{word} {predicate} {self.type(dtype)} {x}, {y}")

    def binary(self, word: str, dtype: str, x: Operand, y: Operand) -> Operand:
        return self.op(f"{word} {self.type(dtype)} {x}, {y}")

    def negative(self, dtype: str, x: Operand) -> Operand:
        return self.op(f"fneg {self.type(dtype)} {x}")

    def bits(self, dtype: str, x: Operand) -> Operand:
        """A float's bits, as a whole number of its size."""
        return self.op(f"bitcast {self.type(dtype)} {x} to {self.type('i' + dtype[1:])}")

    def convert(self, word: str, source: str, target: str, x: Operand) -> Operand:
        """A number in another dtype, by one instruction."""
        result = self.op(f"{word} {self.type(source)} {x} to {self.type(target)}")
        if word in {"fptosi", "fptoui"}:  # out of range: whatever the machine makes of it, as in NumPy, but one value
            result = self.op(f"freeze {self.type(target)} {result}")
        return result

    def intrinsic(self, name: str, dtype: str, *inputs: Operand) -> Operand:
        """A function that LLVM knows on vectors of any width."""
        scalar, vector = SCALARS[dtype], self.type(dtype)
        short = SUFFIXES.get(scalar, scalar)
        symbol = f"llvm.{name}." + (f"v{self.lanes}{short}" if self.lanes > 1 else short)
        self.declared[symbol] = f"declare {vector} @{symbol}({', '.join([vector] * len(inputs))})"
        return self.op(f"call {vector} @{symbol}({', '.join(f'{vector} {x}' for x in inputs)})")

    def call(self, function: str, dtype: str, *inputs: Operand) -> Operand:
        """A function of libm, by C's name for double: its vector form where the machine has one, else lane by lane."""
        if self.lanes == 1:
            return self._call_scalar(function, dtype, inputs)
        found = self.math.vector_form(function, dtype, self.lanes, len(inputs))
        if found is None:
            return self._call_lanes(function, dtype, inputs)
        symbol, width = found
        vector = f"<{width} x {SCALARS[dtype]}>"
        self.declared[symbol] = f"declare {vector} @{symbol}({', '.join([vector] * len(inputs))}) #1"
        if width == self.lanes:
            return self.op(f"call {vector} @{symbol}({', '.join(f'{vector} {x}' for x in inputs)})")
        pieces = []
        for first in range(0, self.lanes, width):
            cut = [self._piece(dtype, x, first, width) for x in inputs]
            pieces.append(self.op(f"call {vector} @{symbol}({', '.join(f'{vector} {x}' for x in cut)})"))
        while len(pieces) > 1:
            pieces = [self._join(dtype, *pieces[i : i + 2], width) for i in range(0, len(pieces), 2)]
            width *= 2
        return pieces[0]

    def _piece(self, dtype: str, x: Operand, first: int, width: int) -> Operand:
        picks = ", ".join(f"i32 {first + i}" for i in range(width))
        vector = self.type(dtype)
        return self.op(f"shufflevector {vector} {x}, {vector} poison, <{width} x i32> <{picks}>")

    def _join(self, dtype: str, x: Operand, y: Operand, width: int) -> Operand:
        picks = ", ".join(f"i32 {i}" for i in range(2 * width))
        vector = f"<{width} x {SCALARS[dtype]}>"
        return self.op(f"shufflevector {vector} {x}, {vector} {y}, <{2 * width} x i32> <{picks}>")

    def _call_scalar(self, function: str, dtype: str, inputs: tuple[Operand, ...]) -> Operand:
        symbol = self.math.scalar_form(function, dtype)
        scalar = SCALARS[dtype]
        self.declared[symbol] = f"declare {scalar} @{symbol}({', '.join([scalar] * len(inputs))}) #1"
        return self.op(f"call {scalar} @{symbol}({', '.join(f'{scalar} {x}' for x in inputs)})")

    def _call_lanes(self, function: str, dtype: str, inputs: tuple[Operand, ...]) -> Operand:
        symbol = f"lanes_{function}_{dtype}"
        vector, scalar = self.type(dtype), SCALARS[dtype]
        if symbol not in self.defined:
            body = Code(self.lanes, self.math)
            out = "poison"
            for lane in range(self.lanes):
                numbers = tuple(body.op(f"extractelement {vector} %x{i}, i64 {lane}") for i in range(len(inputs)))
                result = body._call_scalar(function, dtype, numbers)
                out = body.op(f"insertelement {vector} {out}, {scalar} {result}, i64 {lane}")
            self.declared |= body.declared
            formal = ", ".join(f"{vector} %x{i}" for i in range(len(inputs)))
            lines = "\n".join(body.lines)
            self.defined[symbol] = (
                f"define internal {vector} @{symbol}({formal}) #2 {{\n{lines}\nret {vector} {out}\n}}"
            )
        return self.op(f"call {vector} @{symbol}({', '.join(f'{vector} {x}' for x in inputs)})")

    def call_complex(self, function: str, dtype: str, *inputs: Complex) -> Complex:
        """A complex function of libm, in double, lane by lane."""
        symbol = f"lanes_{function}_{dtype}"
        p, s = part(dtype), SCALARS[dtype]
        vector = self.type(p)
        pair = f"{{{vector}, {vector}}}"
        if symbol not in self.defined:
            body = Code(self.lanes, self.math)
            outs = ["poison", "poison"]
            doubles = ", ".join(["double"] * (2 * len(inputs)))
            self.declared[function] = f"declare {{double, double}} @{function}({doubles}) #1"
            for lane in range(self.lanes):
                numbers = []
                for i in range(2 * len(inputs)):
                    x = body.op(f"extractelement {vector} %x{i}, i64 {lane}") if self.lanes > 1 else f"%x{i}"
                    numbers.append(x if p == "f8" else body.op(f"fpext float {x} to double"))
                both = body.op(f"call {{double, double}} @{function}({', '.join(f'double {x}' for x in numbers)})")
                for i in range(2):
                    x = body.op(f"extractvalue {{double, double}} {both}, {i}")
                    x = x if p == "f8" else body.op(f"fptrunc double {x} to float")
                    outs[i] = body.op(f"insertelement {vector} {outs[i]}, {s} {x}, i64 {lane}") if self.lanes > 1 else x
            first = body.op(f"insertvalue {pair} poison, {vector} {outs[0]}, 0")
            out = body.op(f"insertvalue {pair} {first}, {vector} {outs[1]}, 1")
            formal = ", ".join(f"{vector} %x{i}" for i in range(2 * len(inputs)))
            lines = "\n".join(body.lines)
            self.defined[symbol] = f"define internal {pair} @{symbol}({formal}) #2 {{\n{lines}\nret {pair} {out}\n}}"
        flat = ", ".join(f"{vector} {x}" for z in inputs for x in z)
        both = self.op(f"call {pair} @{symbol}({flat})")
        return self.op(f"extractvalue {pair} {both}, 0"), self.op(f"extractvalue {pair} {both}, 1")
