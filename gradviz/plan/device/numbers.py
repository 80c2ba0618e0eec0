"""Which part of a program is about numbers of the host alone: learning rates, counters, what is computed of them.

It stays on the host, as it does without a plan, so that a returned counter is known without a wait. What the device needs of it travels
as an argument of a kernel. On the device itself every number is an array without axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.device.loops import run_nodes
from gradviz.plan.program.operation import Meta, guard
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Node, Value, inputs_of, made_in, rename

MOST_NBYTES = 1 << 26  # of a constant that a plan holds


class Split(NamedTuple):
    """A program in two parts.

    Attributes
    ----------
    host : what is computed of numbers; its inputs are those of the whole that are numbers, in order
    device : the rest; its inputs are those of the whole, and then what the host's part gives
    """

    host: Block
    device: Block


def split(block: Block) -> Split:
    """The two parts of a program."""
    fold(block)
    numbers = [v for v in block.inputs if v.meta.kind != "array"]
    known = set(numbers)
    host: list[Node] = []
    rest: list[Node] = []
    for node in block.nodes:
        if is_of_numbers(node, known):
            host.append(node)
            known.update(node.outputs)
        else:
            rest.append(node)
    made = {v for node in host for v in node.outputs}
    read = {v for node in rest for v in inputs_of(node)} | set(block.results)
    given = [v for node in host for v in node.outputs if v in read]
    arriving = {v: Value(v.meta) for v in given}
    for node in rest:
        rename(node, arriving)
        without_axes(node)
    results = [arriving.get(v, v) for v in block.results]
    assert not made & {v for node in rest for v in inputs_of(node)}
    return Split(Block(numbers, host, given), Block([*block.inputs, *arriving.values()], rest, results))


def fold(block: Block) -> None:
    """Make constants of what depends on no input, such as ``np.arange(n)``: it is sent to the device once."""
    kept: list[Node] = []
    instead: dict[Value, Value] = {}
    for node in block.nodes:
        rename(node, instead)
        if is_known(node):
            instead.update(zip(node.outputs, computed(node), strict=True))
        else:
            kept.append(node)
    block.nodes = kept
    block.results = [instead.get(v, v) for v in block.results]


def is_known(node: Node) -> bool:
    """Whether a node gives the same in each call."""
    if node.loop is not None or node.function in (full, guard) or not all(v.is_constant for v in node.inputs):
        return False
    return all(isinstance(v.meta, Meta) and v.meta.nbytes <= MOST_NBYTES for v in node.outputs)


def computed(node: Node) -> list[Value]:
    """What a node gives, as constants."""
    env: dict[Value, Any] = {}
    with np.errstate(all="ignore"):
        run_nodes([node], env)
    return [Value(v.meta, env[v].copy(order="K") if isinstance(env[v], np.ndarray) else env[v]) for v in node.outputs]


def is_of_numbers(node: Node, known: set[Value]) -> bool:
    """Whether a node reads nothing but numbers that the host knows, and makes nothing else."""
    inputs = list(inputs_of(node))
    if node.function is full or not inputs or not any(v in known for v in inputs):
        return False
    if not all(v in known or v.moving is not None or (v.is_constant and np.ndim(v.constant) == 0) for v in inputs):
        return False
    made = [*node.outputs, *(made_in(node) if node.loop is not None else ())]
    return node.function is guard or all(isinstance(v.meta, Meta) and v.meta.kind != "array" for v in made)


def without_axes(node: Node) -> None:
    """Let NumPy's numbers that a node makes be arrays without axes."""
    made = [*node.outputs, *(made_in(node) if node.loop is not None else ())]
    for v in made:
        if isinstance(v.meta, Meta) and v.meta.kind == "number":
            v.meta = v.meta._replace(kind="array")
