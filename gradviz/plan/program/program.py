"""What a program is: rows of operations without side effects, one number per value, and how it is run as it stands.

Plans run faster forms of it; this is what they must agree with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.program.loop import Body, run_body
from gradviz.plan.program.operation import Meta, Operation, guard, meta_of

Row = tuple[int, ...]
NO_NUMBER = -(1 << 62)  # stands for an integer operand where numbers of values are meant


class Rows(NamedTuple):
    """Many rows as arrays: row ``n`` has the operation ``codes[n]`` and the operands ``operands[starts[n] : starts[n + 1]]``."""

    codes: np.ndarray
    operands: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.codes)

    def row(self, n: int) -> Row:
        return (int(self.codes[n]), *self.operands[self.starts[n] : self.starts[n + 1]].tolist())

    def tuples(self) -> Iterator[Row]:
        operands, starts = self.operands.tolist(), self.starts.tolist()
        for n, code in enumerate(self.codes.tolist()):
            yield (code, *operands[starts[n] : starts[n + 1]])


def value_numbers(operations: list[Operation], rows: Rows) -> np.ndarray:
    """The operands of all rows, with those that are plain integers blotted out."""
    numbers = rows.operands.copy()
    whole = [code for code, made in enumerate(operations) if any(made.integers)]
    marked = np.zeros(len(operations), bool)
    marked[whole] = True
    at = np.flatnonzero(marked[rows.codes])
    codes, starts = rows.codes[at], rows.starts[at]
    for code in whole:
        first = starts[codes == code]
        for k in np.flatnonzero(operations[code].integers):
            numbers[first + k] = NO_NUMBER
    return numbers


class Program(NamedTuple):
    """Rows, and what their numbers mean.

    The first rows are the inputs. Negative operands are constants: -1 is ``constants[0]``. ``outputs`` are the numbers of the values
    it gives.
    """

    operations: list[Operation]
    rows: Rows
    constants: list[Any]
    inputs: tuple[Meta, ...]
    outputs: tuple[int, ...]

    def __str__(self) -> str:
        return "\n".join(
            f"%{n} = input : {self.inputs[n]}" if n < len(self.inputs) else f"%{n} = {self.line(row)}"
            for n, row in enumerate(self.rows.tuples())
        ) + f"\nreturn {', '.join(map(self.named, self.outputs))}"  # fmt: skip

    def line(self, row: Row, indent: str = "") -> str:
        code, *operands = row
        made = self.operations[code]
        what = ", ".join(str(o) if whole else self.named(o) for o, whole in zip(operands, made.integers, strict=True))
        text = f"{made.name}({what}) : {made.meta}"
        if isinstance(made.function, Body):
            body, inner = made.function, indent + "    "
            lines = [f"%{n} = {p}" for n, p in enumerate(body.parameters)]
            lines += [f"%{n + len(body.parameters)} = {self.line(row, inner)}" for n, row in enumerate(body.rows)]
            text += "".join(f"\n{inner}{line}" for line in lines) + f"\n{inner}return {', '.join(map(str, body.outs))}"
        return text

    def named(self, number: int) -> str:
        if number >= 0:
            return f"%{number}"
        value = self.constants[-1 - number]
        return repr(value) if np.ndim(value) == 0 else f"constant[{', '.join(map(str, np.shape(value)))}]"

    def meta(self, number: int) -> Any:
        """What is known of a value."""
        if number < 0:
            return meta_of(self.constants[-1 - number])
        if number < len(self.inputs):
            return self.inputs[number]
        return self.operations[int(self.rows.codes[number])].meta


class Mismatch(Exception):  # noqa: N818 - not an error: another path is taken
    """Python saw something else this time."""


def evaluate(program: Program, values: Sequence[Any]) -> list[Any]:
    """The outputs for some inputs, row by row."""
    env = list(values)
    rows = list(program.rows.tuples())[len(program.inputs) :]
    with np.errstate(all="ignore"):
        run_rows(program.operations, program.constants, rows, env)
    taken = {id(v) for v in (*values, *program.constants)}
    return [apart(value(n, env, program.constants), taken) for n in program.outputs]


def apart(out: Any, taken: set[int]) -> Any:
    """An output in memory that nothing else reaches."""
    if type(out) is np.ndarray and (out.base is not None or id(out) in taken or not out.flags.writeable):
        return out.copy(order="K")
    taken.add(id(out))
    return out


def run_rows(
    operations: list[Operation], constants: list[Any], rows: Sequence[Row], env: list[Any], inside: bool = False
) -> list[Any]:
    """Run rows; ``env`` holds the values before them, and then those they make as well. ``inside`` a loop, integers are values too."""
    for row in rows:
        made = operations[row[0]]
        operands = [
            o if whole and not inside else value(o, env, constants)
            for o, whole in zip(row[1:], made.integers, strict=True)
        ]
        if isinstance(made.function, Body):
            env.append(
                run_body(made.function, operands, lambda rows, env: run_rows(operations, constants, rows, env, True))
            )
        else:
            env.append(checked(made, operands) if made.function is guard else made.run(operands))
    return env


def value(number: int, env: list[Any], constants: list[Any]) -> Any:
    return env[number] if number >= 0 else constants[-1 - number]


def checked(made: Operation, operands: list[Any]) -> None:
    """What Python saw must be what it saw before."""
    (seen,), (_, kind, expected) = operands, made.args
    if kind == "shape":
        found: Any = np.shape(seen)
    else:
        found = bool(seen) if kind == "bool" else int(seen)
    if found != expected:
        raise Mismatch
