"""Products of matrices as BLAS computes them: transposes, conjugates and factors of the operands are said to it, not made.

2 * C @ conj(B.T)      is one call, where it was two passes over arrays and a product
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.plan.kernels import blas
from gradviz.plan.program.operation import Meta, Slot
from gradviz.plan.simplify.algebra import uniform
from gradviz.plan.simplify.block import NOTHING, Block, Node, Value, readers, rename
from gradviz.plan.simplify.simplify import live


def product(x: Any, y: Any, alpha: Any, x_way: str, y_way: str) -> Any:
    """``alpha * op(x) @ op(y)``, where a way is N (as it is), T (transposed) or C (transposed and conjugated)."""
    return alpha * (turned(x, x_way) @ turned(y, y_way))


def turned(x: Any, way: str) -> Any:
    return x if way == "N" else x.T if way == "T" else x.conj().T


def products(block: Block, always: bool = False) -> Block:
    """The same block with products that take over what was done to their operands; ``always`` also where that is nothing."""
    if always:
        with_matrices(block)
    if not any(map(is_product, block.nodes)):
        return block
    taking = Taking(readers(block.nodes), set(block.results), always)
    nodes: list[Node] = []
    instead: dict[Value, Value] = {}
    for node in block.nodes:
        made = taking.product(node) if is_product(node) else []
        nodes += made or [node]
        if made:
            instead[node.out] = made[-1].out
    for node in nodes:
        rename(node, instead)
    block.results = [instead.get(v, v) for v in block.results]
    block.nodes = live(nodes, set(block.results))
    return block


def is_product(node: Node) -> bool:
    """Whether BLAS has a product for a node."""
    if node.function is not np.matmul or node.kwargs or len(node.inputs) != 2:
        return False
    x, y = (v.meta for v in node.inputs)
    dtype = node.out.meta.dtype
    same = x.dtype == y.dtype == dtype and dtype.char in blas.LETTERS
    return same and len(x.shape) == 2 == len(y.shape) and 0 not in (*x.shape, *y.shape)


def with_matrices(block: Block) -> None:
    """Let vectors in products be matrices of one row or column."""
    nodes: list[Node] = []
    instead: dict[Value, Value] = {}
    for node in block.nodes:
        rename(node, instead)
        shapes = [v.meta.shape for v in node.inputs] if node.function is np.matmul and not node.kwargs else []
        if sorted(map(len, shapes)) != [1, 2]:
            nodes.append(node)
            continue
        full = [s if len(s) == 2 else (1, *s) if k == 0 else (*s, 1) for k, s in enumerate(shapes)]
        for k, (v, shape) in enumerate(zip(node.inputs, full, strict=True)):
            if v.meta.shape != shape:
                nodes.append(Node(np.reshape, (Slot(0), shape), (), [v], [v.meta._replace(shape=shape)], node.site))
                node.inputs[k] = nodes[-1].out
        meta = node.out.meta
        matrix = meta._replace(shape=(full[0][0], full[1][1]))
        made = Node(np.matmul, node.args, (), node.inputs, [matrix], node.site)
        nodes += [made, Node(np.reshape, (Slot(0), meta.shape), (), [made.out], [meta], node.site)]
        instead[node.out] = nodes[-1].out
    block.nodes = nodes
    block.results = [instead.get(v, v) for v in block.results]


class Taking:
    """Takes over what is done to the operands of products, where nobody else wants it done; ``always`` makes each a call of BLAS."""

    def __init__(self, readers: dict[Value, list[Node]], results: set[Value], always: bool) -> None:
        self.readers, self.results, self.always = readers, results, always

    def product(self, node: Node) -> list[Node]:
        """Nodes in the place of a product; none if there is nothing to take over."""
        nodes: list[Node] = []
        alpha: Any = 1
        operands, ways = [], []
        for v in node.inputs:
            v, factor, transposed, conjugated = self.stripped(v, nodes)
            if conjugated and not transposed:
                v = self.emit(nodes, np.conjugate, (Slot(0),), [v], v.meta)
            alpha = alpha * factor
            operands.append(v)
            ways.append("C" if transposed and conjugated else "T" if transposed else "N")
        if alpha == 1 and "C" not in ways and not self.always:
            return []
        self.emit(nodes, product, (Slot(0), Slot(1), alpha, *ways), operands, node.out.meta)
        nodes[-1].site = node.site
        return nodes

    def emit(self, nodes: list[Node], function: Any, args: Any, inputs: list[Value], meta: Meta) -> Value:
        nodes.append(Node(function, args, (), inputs, [meta]))
        return nodes[-1].out

    def stripped(self, v: Value, nodes: list[Node]) -> tuple[Value, Any, bool, bool]:
        """What is left of an operand: (matrix, factor, whether it is transposed, whether it is conjugated)."""
        factor: Any = 1
        transposed = conjugated = False
        while v.maker is not None and v.maker.loop is None:
            maker = v.maker
            if maker.function is np.transpose and maker.args[1] == (1, 0):
                transposed = not transposed
                v = maker.inputs[0]
            elif maker.function is np.conjugate and v.meta.dtype.kind == "c":
                conjugated = not conjugated
                v = maker.inputs[0]
            elif (found := self.factor(v)) is not None:
                v, number = found
                factor = factor * (np.conj(number) if conjugated else number)
            elif maker.function is np.reshape and (found := self.factor(maker.inputs[0], through=maker)) is not None:
                inner, number = found
                factor = factor * (np.conj(number) if conjugated else number)
                v = self.emit(nodes, np.reshape, (Slot(0), v.meta.shape), [inner], v.meta)
            else:
                break
        return v, factor, transposed, conjugated

    def factor(self, v: Value, through: Node | None = None) -> tuple[Value, Any] | None:
        """(rest, number) of a value that is a number times an array of the same kind, if only products read it."""
        maker = v.maker
        if (
            maker is None
            or maker.function is not np.multiply
            or maker.kwargs
            or len(maker.args) != 2
            or v in self.results
        ):
            return None
        if not self.only_in_products(v):
            return None
        parts = [maker.inputs[a.k] if isinstance(a, Slot) else Value(None, a) for a in maker.args]
        for number, rest in (parts, parts[::-1]):
            found = (
                number.constant
                if number.is_constant and np.ndim(number.constant) == 0
                else uniform(number)
                if number.meta
                else NOTHING
            )
            if found is not NOTHING and rest.meta == v.meta and is_power_of_two(found):
                return rest, found
        return None

    def only_in_products(self, v: Value) -> bool:
        """Whether a value is read by products alone, as it is, reshaped, transposed or conjugated."""
        for reader in self.readers.get(v, []):
            if is_product(reader):
                continue
            through = reader.function in (np.reshape, np.transpose, np.conjugate) and reader.out not in self.results
            if reader.loop is not None or not through or not self.only_in_products(reader.out):
                return False
        return True


def is_power_of_two(number: Any) -> bool:
    """Whether a product with it is exact, so that it does not matter when it is done."""
    return not isinstance(number, complex) and not np.iscomplexobj(number) and abs(np.frexp(float(number))[0]) == 0.5
