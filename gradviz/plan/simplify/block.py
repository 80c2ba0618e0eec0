"""What the passes work on: nodes that read and make values, with loops as nodes that hold a block of their own.

Inside a loop, nodes read values from outside directly. A value is a constant, an input, a parameter of a loop (carried, or an
integer that moves on), or made by a node. Nodes stand in the order in which they may run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradviz.plan.program.loop import Body, Carry, Count, Listed, Same
from gradviz.plan.program.operation import Meta, Operation, meta_of, pick
from gradviz.plan.program.program import Program

NOTHING: Any = object()


class Value:
    """Something that is known by its meta and made in one place.

    Attributes
    ----------
    constant : what it is in every run, or `NOTHING`
    maker : the node that makes it; None for inputs, constants and parameters of loops
    moving : for an integer that moves with a loop: (loop, first integer or value, step, list of integers or None)
    """

    __slots__ = ("constant", "maker", "meta", "moving")

    def __init__(self, meta: Any, constant: Any = NOTHING) -> None:
        self.meta: Any = meta
        self.constant = constant
        self.maker: Node | None = None
        self.moving: tuple[Node, Any, int, Any] | None = None

    @property
    def is_constant(self) -> bool:
        return self.constant is not NOTHING

    def __repr__(self) -> str:
        if self.is_constant:
            return repr(self.constant) if np.ndim(self.constant) == 0 else f"constant{np.shape(self.constant)}"
        return f"v{id(self) % 9973}:{self.meta}"


class Node:
    """One call: what it does, what it reads and what it makes.

    ``args`` and ``kwargs`` hold slots that refer to ``inputs``. A loop has ``loop`` instead of a function. ``several`` says that the
    function returns a tuple.
    """

    __slots__ = ("args", "function", "inputs", "kwargs", "loop", "outputs", "several", "site")

    def __init__(
        self,
        function: Any,
        args: Any,
        kwargs: Any,
        inputs: Sequence[Value],
        metas: Sequence[Any],
        site: Any = None,
        loop: Loop | None = None,
        several: bool = False,
    ) -> None:
        self.several = several
        self.function, self.args, self.kwargs = function, args, kwargs
        self.inputs = list(inputs)
        self.outputs = [Value(meta) for meta in metas]
        for made in self.outputs:
            made.maker = self
        self.site, self.loop = site, loop

    @property
    def out(self) -> Value:
        return self.outputs[0]

    @property
    def name(self) -> str:
        return f"loop × {self.loop.count}" if self.loop else Operation(0, self.function, (), (), None, ()).name

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.name}({', '.join(map(repr, self.inputs))})"


class Carried:
    """A value handed from one iteration to the next: what it is inside, at first, and next."""

    __slots__ = ("first", "inside", "next")

    def __init__(self, inside: Value, first: Value, next: Value) -> None:  # noqa: A002
        self.inside, self.first, self.next = inside, first, next


class Loop:
    """The inside of a loop node.

    ``carried`` and the values inside; ``results`` holds (value inside, whether of all iterations) for each output of the node.
    """

    __slots__ = ("carried", "count", "nodes", "results")

    def __init__(self, count: int) -> None:
        self.count = count
        self.carried: list[Carried] = []
        self.nodes: list[Node] = []
        self.results: list[tuple[Value, bool]] = []


class Block:
    """A whole program as nodes."""

    __slots__ = ("inputs", "nodes", "results")

    def __init__(self, inputs: list[Value], nodes: list[Node], results: list[Value]) -> None:
        self.inputs, self.nodes, self.results = inputs, nodes, results

    def __str__(self) -> str:
        names: dict[Value, str] = {}
        head = ", ".join(f"{named(v, names)}: {v.meta}" for v in self.inputs)
        return "\n".join(
            [f"({head})", *lines(self.nodes, names), f"return {', '.join(named(v, names) for v in self.results)}"]
        )


def named(value: Any, names: dict[Value, str]) -> str:
    if not isinstance(value, Value) or value.is_constant:
        return repr(value)
    if value.moving is not None:
        _, start, step, listed = value.moving
        return "listed" if listed is not None else f"{named(start, names)}{step:+d}k"
    return names.setdefault(value, f"%{len(names)}")


def lines(nodes: list[Node], names: dict[Value, str], indent: str = "") -> Iterator[str]:
    for node in nodes:
        made = ", ".join(f"{named(v, names)}: {v.meta}" for v in node.outputs)
        if node.loop is None:
            yield f"{indent}{made} = {node.name}({', '.join(named(v, names) for v in node.inputs)})"
            continue
        yield f"{indent}{made} = {node.name}"
        for c in node.loop.carried:
            yield f"{indent}    {named(c.inside, names)}: {c.inside.meta} from {named(c.first, names)}"
        yield from lines(node.loop.nodes, names, indent + "    ")
        for c in node.loop.carried:
            yield f"{indent}    {named(c.inside, names)} <- {named(c.next, names)}"
        yield f"{indent}    give {', '.join(named(v, names) + ('[]' if many else '') for v, many in node.loop.results)}"


def inputs_of(node: Node) -> Iterator[Value]:
    """Everything a node reads, for a loop: from outside."""
    if node.loop is None:
        yield from node.inputs
        return
    for c in node.loop.carried:
        yield c.first
    inside = {c.inside for c in node.loop.carried}
    for inner in node.loop.nodes:
        inside.update(inner.outputs)
        yield from (v for v in inputs_of(inner) if v not in inside)
    for value in [c.next for c in node.loop.carried] + [v for v, _ in node.loop.results]:
        if value not in inside:
            yield value


def readers(nodes: Sequence[Node]) -> dict[Value, list[Node]]:
    """The nodes that read each value."""
    found: dict[Value, list[Node]] = {}
    for node in nodes:
        for v in inputs_of(node):
            found.setdefault(v, []).append(node)
    return found


def made_in(node: Node) -> set[Value]:
    """The values made inside a loop, at any depth."""
    loop = node.loop
    assert loop is not None
    made = {c.inside for c in loop.carried}
    for inner in loop.nodes:
        made.update(inner.outputs)
        if inner.loop is not None:
            made |= made_in(inner)
    return made


def rename(node: Node, instead: dict[Value, Value]) -> None:
    """Let a node, and what is inside it, read other values."""
    node.inputs = [instead.get(v, v) for v in node.inputs]
    if node.loop is not None:
        for c in node.loop.carried:
            c.first, c.next = instead.get(c.first, c.first), instead.get(c.next, c.next)
        node.loop.results = [(instead.get(v, v), many) for v, many in node.loop.results]
        for inner in node.loop.nodes:
            rename(inner, instead)


# ---- from rows


class Reading:
    """Turns a program into a block."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants = [Value(meta_of(c), c) for c in program.constants]

    def block(self) -> Block:
        program = self.program
        env = [Value(meta) for meta in program.inputs]
        inputs = list(env)
        rows = list(program.rows.tuples())[len(program.inputs) :]
        nodes = self.rows(rows, env, outside=True)
        return Block(inputs, nodes, [self.value(n, env) for n in program.outputs])

    def value(self, number: int, env: list[Any]) -> Any:
        return env[number] if number >= 0 else self.constants[-1 - number]

    def rows(self, rows: Sequence[tuple[int, ...]], env: list[Any], outside: bool) -> list[Node]:
        nodes: list[Node] = []
        for code, *operands in rows:
            made = self.program.operations[code]
            values = [
                integer(o) if outside and whole else self.value(o, env)
                for o, whole in zip(operands, made.integers, strict=True)
            ]
            if made.function is pick:
                results: Any = values[0]
                env.append(results[made.args[1]])
                continue
            if isinstance(made.function, Body):
                node = self.loop(made, values)
                nodes.append(node)
                env.append(node.outputs)
                continue
            several = isinstance(made.meta, tuple) and not isinstance(made.meta, Meta)
            metas = made.meta if several else [made.meta]
            node = Node(made.function, made.args, made.kwargs, values, metas, made.site, several=several)
            nodes.append(node)
            env.append(node.outputs if several else node.out)
        return nodes

    def loop(self, made: Operation, values: list[Any]) -> Node:
        body: Body = made.function
        inside = Loop(body.count)
        node = Node(None, (), (), [], made.meta, made.site, inside)
        env: list[Any] = []
        for p in body.parameters:
            match p:
                case Same(operand, _):
                    env.append(values[operand])
                case Carry(first, _, meta):
                    inside.carried.append(Carried(Value(meta), values[first], NOTHING))
                    env.append(inside.carried[-1].inside)
                case Count(start, step):
                    env.append(moving(node, values[start], step))
                case Listed(operand):
                    env.append(moving(node, integer(0), 1, values[operand].constant))
        inside.nodes = self.rows(body.rows, env, outside=False)
        carries = iter(inside.carried)
        for p in body.parameters:
            if isinstance(p, Carry):
                next(carries).next = env[p.next]
        inside.results = [(env[out.number], out.stacked) for out in body.outs]
        return node


def integer(n: int) -> Value:
    return Value(meta_of(n), n)


def moving(loop: Node, start: Value, step: int, listed: Any = None) -> Value:
    """The integer ``start + step * iteration``."""
    if step == 0 and listed is None:
        return start
    made = Value(meta_of(0))
    made.moving = loop, start, step, listed
    return made


def read(program: Program) -> Block:
    """A program as nodes."""
    return Reading(program).block()
