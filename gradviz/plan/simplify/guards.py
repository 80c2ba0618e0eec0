"""Guards of loops, passed once and for all behind the loop.

A guard says: Python looked at a value here, and the calls that follow are those for what it saw. Calls have no side effects, so that a
loop may go on although one of its guards is not passed, as long as nothing in it raises or warns. Whether all were passed, in all
iterations, is then one more number that it carries.
"""

from __future__ import annotations

import numpy as np

from gradviz.plan.kernels.functions import find
from gradviz.plan.program.operation import Meta, Slot, guard, put, take
from gradviz.plan.simplify.block import Carried, Node, Value

TRUTH = Meta((), np.dtype(bool), "number")
MOVING = {take, put, np.reshape, np.transpose, np.broadcast_to, np.copy, np.where}  # functions that compute nothing


def has_guard(node: Node) -> bool:
    return node.function is guard or (node.loop is not None and any(map(has_guard, node.loop.nodes)))


def can_wait(node: Node) -> bool:
    """Whether a guard, or each guard in a loop, can be told by a number."""
    if node.loop is not None:
        return all(map(can_wait, node.loop.nodes))
    if node.function is not guard:
        return True
    meta = node.inputs[0].meta
    return node.args[1] in ("bool", "int") and isinstance(meta, Meta) and meta.shape == () and meta.dtype.kind in "biuf"


def is_silent(node: Node) -> bool:
    """Whether a node neither raises nor warns, whatever it is given: it moves numbers about, or is part of a kernel."""
    if node.function is guard or node.function in MOVING:
        return True
    function = getattr(node.function, "__self__", node.function)
    return isinstance(function, np.ufunc) and all(find(function.__name__, v.meta.dtype.kind) for v in node.inputs)


def passed(node: Node, value: Value, shape: tuple[int, ...] = ()) -> tuple[list[Node], Value]:
    """Whether a guard would be passed by ``value``, and the nodes that tell; by each entry of it, if it has a ``shape``."""
    _, kind, expected = node.args
    dtype = value.meta.dtype
    truth = Meta(shape, TRUTH.dtype, "array") if shape else TRUTH
    nodes: list[Node] = []

    def compute(ufunc: np.ufunc, *numbers: int, meta: Meta = truth) -> Value:
        nodes.append(Node(ufunc, (Slot(0), *numbers), (), [nodes[-1].out if nodes else value], [meta], node.site))
        return nodes[-1].out

    if kind == "int":
        if dtype.kind == "f":
            compute(np.trunc, meta=Meta(shape, dtype, truth.kind))
        return nodes, compute(np.equal, expected)
    if dtype.kind != "b":
        return nodes, compute(np.not_equal if expected else np.equal, 0)
    return (nodes, value) if expected else (nodes, compute(np.logical_not))


def truth_guard(value: Value, site: int | None) -> Node:
    """The guard that is passed by what is true."""
    return Node(guard, (Slot(0), "bool", True), (), [value], [None], site)


def defer(node: Node) -> Node:
    """Take the guards out of a loop; gives the one that stands for all of them, to be put behind it."""
    loop = node.loop
    assert loop is not None
    before = Value(TRUTH)
    so_far, site = before, None
    nodes: list[Node] = []
    for inner in loop.nodes:
        if inner.function is guard:
            more, holds = passed(inner, inner.inputs[0])
            nodes += more
        else:
            nodes.append(inner)
            if not has_guard(inner):
                continue
            inner = defer(inner)
            holds = inner.inputs[0]
        nodes.append(Node(np.logical_and, (Slot(0), Slot(1)), (), [so_far, holds], [TRUTH], inner.site))
        so_far, site = nodes[-1].out, inner.site if site is None else site
    loop.nodes = nodes
    loop.carried.append(Carried(before, Value(TRUTH, np.True_), so_far))
    loop.results.append((so_far, False))
    made = Value(TRUTH)
    made.maker = node
    node.outputs.append(made)
    return truth_guard(made, site)
