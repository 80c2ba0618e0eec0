"""Loops that no kernel can do, on a device: node by node, each call queued as CuPy queues it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.plan.program.operation import Operation, filled, guard
from gradviz.plan.program.program import checked
from gradviz.plan.simplify.block import Loop, Node, Value


def run_in_python(node: Node, outer: list[Value], values: Sequence[Any]) -> list[Any]:
    """Run a loop node by node."""
    assert node.loop is not None
    env: dict[Any, Any] = dict(zip(outer, values, strict=True))
    run_loop(node, node.loop, env)
    return [env[v] for v in node.outputs]


def look(value: Any, env: dict[Any, Any]) -> Any:
    if value.is_constant:
        return value.constant
    if value.moving is not None:
        loop, start, step, listed = value.moving
        return int(listed[env[loop]]) if listed is not None else look(start, env) + step * env[loop]
    return env[value]


def run_nodes(nodes: list[Node], env: dict[Any, Any]) -> None:
    for node in nodes:
        if node.loop is not None:
            run_loop(node, node.loop, env)
            continue
        values = [look(v, env) for v in node.inputs]
        if node.function is guard:
            checked(Operation(0, guard, node.args, (), None, ()), values)
            continue
        out = node.function(*(filled(a, values) for a in node.args), **{k: filled(a, values) for k, a in node.kwargs})
        env.update(zip(node.outputs, out if node.several else [out], strict=True))


def run_loop(node: Node, loop: Loop, env: dict[Any, Any]) -> None:
    columns: list[list[Any]] = [[] for _ in loop.results]
    state = [look(c.first, env) for c in loop.carried]
    for k in range(loop.count):
        env[node] = k
        for c, value in zip(loop.carried, state, strict=True):
            env[c.inside] = value
        run_nodes(loop.nodes, env)
        state = [look(c.next, env) for c in loop.carried]
        for column, (value, many) in zip(columns, loop.results, strict=True):
            if many or k == loop.count - 1:
                column.append(look(value, env))
    for made, column, (_, many) in zip(node.outputs, columns, loop.results, strict=True):
        env[made] = np.stack(column) if many else column[0]
