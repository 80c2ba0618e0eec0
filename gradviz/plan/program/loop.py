"""What a loop is: an operation whose function is a body of rows, run a number of times.

Its operands are values from outside (and plain integers, where an index begins). Inside, the body's numbers start with its
parameters, in order; rows follow. Integer operands in a body are numbers of parameters as well, since an index usually moves.
What is kept of all iterations is stacked along a new first axis, and read back with `take`, as an array of the user's would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.program.operation import Meta


class Carry(NamedTuple):
    """A value handed from one iteration to the next; ``first`` is the operand it starts as, ``next`` the body's number it becomes."""

    first: int
    next: int
    meta: Meta


class Same(NamedTuple):
    """A value from outside that all iterations read."""

    operand: int
    meta: Meta


class Count(NamedTuple):
    """The integer ``start + step * iteration``; ``start`` is an integer operand."""

    start: int
    step: int


class Listed(NamedTuple):
    """An integer that follows no rule: entry ``iteration`` of an array from outside."""

    operand: int


Parameter = Carry | Same | Count | Listed


class Out(NamedTuple):
    """One result: the body's number, of the last iteration or of all, stacked along a new first axis."""

    number: int
    stacked: bool


class Body(NamedTuple):
    """A loop's inside. Equal bodies are the same operation, so that a loop of loops shows as a period too."""

    count: int
    parameters: tuple[Parameter, ...]
    rows: tuple[tuple[int, ...], ...]
    outs: tuple[Out, ...]

    @property
    def title(self) -> str:
        """What it is called in a listing."""
        return f"loop × {self.count}"


def run_body(body: Body, operands: Sequence[Any], run: Any) -> tuple[Any, ...]:
    """Run a loop as it stands; ``run(rows, env)`` runs rows after the parameters in ``env``."""
    carried = {n: operands[p.first] for n, p in enumerate(body.parameters) if isinstance(p, Carry)}
    columns: list[list[Any]] = [[] for _ in body.outs]
    for k in range(body.count):
        env = [carried[n] if n in carried else at(p, operands, k) for n, p in enumerate(body.parameters)]
        env = run(body.rows, env)
        carried = {n: env[body.parameters[n].next] for n in carried}  # type: ignore[union-attr]
        for column, out in zip(columns, body.outs, strict=True):
            if out.stacked or k == body.count - 1:
                column.append(env[out.number])
    return tuple(np.stack(c) if out.stacked else c[0] for c, out in zip(columns, body.outs, strict=True))


def at(parameter: Any, operands: Sequence[Any], k: int) -> Any:
    """What a parameter is in iteration ``k``."""
    match parameter:
        case Same(operand, _):
            return operands[operand]
        case Count(start, step):
            return operands[start] + step * k
        case Listed(operand):
            return int(operands[operand][k])
    raise AssertionError(parameter)
