"""Loops whose iterations do not wait for each other, done all at once: a buffer filled row by row becomes one product.

What a value is in all iterations is one array with a new first axis. Carried values may only be sums that nobody reads on the way,
and buffers in which each iteration reads and writes places of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.entering import entering
from gradviz.plan.program.operation import Meta, Sliced, Slot, guard, put, take
from gradviz.plan.simplify.block import Block, Carried, Node, Value, integer, made_in, readers, rename
from gradviz.plan.simplify.guards import TRUTH, can_wait, is_silent, passed, truth_guard

LARGEST_NBYTES = 1 << 31  # of all that is kept of a loop at once


class CannotBatch(Exception):  # noqa: N818 - not an error: the loop stays one
    """An iteration needs another one, or a function has no rule for many at once."""


def batch(block: Block) -> Block:
    """The same block, with the loops that can be done all at once done so."""
    instead: dict[Value, Value] = {}
    block.nodes = batched(block.nodes, instead)
    block.results = [instead.get(v, v) for v in block.results]
    return block


def batched(nodes: list[Node], instead: dict[Value, Value]) -> list[Node]:
    kept: list[Node] = []
    for node in nodes:
        rename(node, instead)
        if node.loop is None:
            kept.append(node)
            continue
        node.loop.nodes = batched(node.loop.nodes, instead)
        rename(node, instead)  # what it carries and gives may be made by a loop inside
        try:
            made = Batching(node).run()
        except CannotBatch:
            kept.append(node)
            continue
        kept += made.nodes
        instead.update(zip(node.outputs, made.results, strict=True))
    return kept


class Batching:
    """Writes the nodes for all iterations of one loop."""

    def __init__(self, node: Node) -> None:
        assert node.loop is not None
        self.node, self.loop = node, node.loop
        self.count = node.loop.count
        self.inside = made_in(node)
        self.many: dict[Value, Value] = {}  # value of an iteration -> that of all
        self.nodes: list[Node] = []
        self.results: list[Value] = []
        self.readers = readers(self.loop.nodes)

    def run(self) -> Batching:
        if any(inner.loop is not None for inner in self.loop.nodes):
            raise CannotBatch
        self.backwards = runs_down(self.loop.nodes)
        sums = {id(c): chain for c in self.loop.carried if (chain := self.summed(c)) is not None}
        buffers = {c.inside: c for c in self.loop.carried if id(c) not in sums}
        adding = {inner for chain in sums.values() for inner in chain}
        kept: dict[Value, Value] = {}
        for inner in self.loop.nodes:
            if inner in adding:
                continue
            if inner.function is guard:
                self.guarded(inner)
            elif inner.function is put and inner.inputs[0] in buffers:
                c = buffers[inner.inputs[0]]
                kept[c.next] = self.written(c, inner)
            elif inner.function is take and inner.inputs[0] in buffers:
                self.read_before(buffers[inner.inputs[0]], inner)
            else:
                self.many[inner.out] = self.each(inner)
        if any(c.next not in kept for c in buffers.values()):
            raise CannotBatch
        for c in self.loop.carried:
            if id(c) in sums:
                kept[c.next] = self.total(c, sums[id(c)])
        if sum(v.meta.nbytes for v in self.many.values()) > LARGEST_NBYTES:
            raise CannotBatch
        for value, all_of_them in self.loop.results:
            self.results.append(self.result(value, all_of_them, kept))
        return self

    def emit(self, function: Any, args: Any, inputs: list[Value], meta: Meta, kwargs: Any = ()) -> Value:
        node = Node(function, args, kwargs, inputs, [meta], self.node.site)
        self.nodes.append(node)
        return node.out

    # carried values

    def summed(self, c: Carried) -> list[Node] | None:
        """The additions that make the next value of the carried one, which nobody else reads; None if it is no sum."""
        chain: list[Node] = []
        value = c.next
        while value is not c.inside:
            adds = value.maker
            if adds is None or adds.function is not np.add or adds.kwargs or adds not in self.loop.nodes:
                return None
            on = [v for v in adds.inputs if v is c.inside or (v.maker is not None and self.leads(v, c.inside))]
            if len(on) != 1 or len(adds.inputs) != 2 or on[0].meta != value.meta:
                return None
            if value is not c.next and len(self.readers.get(value, [])) != 1:
                return None
            chain.append(adds)
            value = on[0]
        if len(self.readers.get(c.inside, [])) != 1 or any(v is c.next and many for v, many in self.loop.results):
            return None
        return chain if len(self.readers.get(c.next, [])) == 0 else None

    def leads(self, value: Value, to: Value) -> bool:
        """Whether a value is made from another by additions only."""
        while value is not to:
            maker = value.maker
            if maker is None or maker.function is not np.add or maker not in self.loop.nodes:
                return False
            value = next(
                (v for v in maker.inputs if v is to or (v.maker is not None and v.maker.function is np.add)), None
            )  # type: ignore[assignment]
            if value is None:
                return False
        return True

    def total(self, c: Carried, chain: list[Node]) -> Value:
        """First value plus all terms."""
        value = c.first
        for adds in reversed(chain):
            on = c.inside if adds is chain[-1] else chain[chain.index(adds) + 1].out
            term = next(v for v in adds.inputs if v is not on)
            total = self.contracted(term, c.inside.meta)
            value = self.emit(np.add, (Slot(0), Slot(1)), [value, total], c.inside.meta)
        return value

    def contracted(self, term: Value, meta: Meta) -> Value:
        """The sum of a term over all iterations; of products, as a product."""
        if term not in self.many:
            raise CannotBatch
        if (columns := self.outer(term, meta)) is not None:
            left, right = columns
            n, (d, m) = self.count, term.meta.shape
            left = self.emit(np.reshape, (Slot(0), (n, d)), [left], with_shape(left.meta, (n, d)))
            right = self.emit(np.reshape, (Slot(0), (n, m)), [right], with_shape(right.meta, (n, m)))
            left = self.emit(np.transpose, (Slot(0), (1, 0)), [left], with_shape(left.meta, (d, n)))
            return self.emit(np.matmul, (Slot(0), Slot(1)), [left, right], term.meta)
        total = self.many[term]
        kind = term.meta if term.meta.kind != "weak" else term.meta._replace(kind="number")
        return self.emit(np.add.reduce, (Slot(0), 0), [total], kind)

    def outer(self, term: Value, meta: Meta) -> tuple[Value, Value] | None:
        """All the columns and all the rows of which a term is the product of one and one."""
        maker = term.maker
        if (
            maker is None
            or maker.function is not np.multiply
            or len(maker.inputs) != 2
            or len(meta.shape) != 2
            or term.meta != meta
        ):
            return None
        u, v = maker.inputs
        if u.meta.shape[1:] != (1,) or v.meta.shape[:1] != (1,) or u not in self.many or v not in self.many:
            return None
        return self.many[u], self.many[v]

    def place(self, buffer: Value, template: Any, integers: list[Value]) -> tuple[int, Value, int]:
        """(axis, first, step) of the one integer in an index that moves on; the others stay."""
        items = template if type(template) is tuple else (template,)
        if any(not isinstance(i, (Slot, Sliced)) for i in items):
            raise CannotBatch
        axis = next((k for k, i in enumerate(items) if isinstance(i, Slot) and integers[i.k].moving is not None), None)
        if axis is None or any(isinstance(i, Sliced) for i in items) or len(items) != 1:
            raise CannotBatch
        loop, start, step, listed = integers[items[axis].k].moving  # type: ignore[misc]
        if loop is not self.node or listed is not None or not start.is_constant:
            raise CannotBatch
        if self.backwards:
            start, step = integer(start.constant + step * (self.count - 1)), -step
        n = buffer.meta.shape[axis]
        last = start.constant + step * (self.count - 1)
        if not (0 <= start.constant < n and 0 <= last < n):
            raise CannotBatch
        return axis, start, step

    def rows_of(self, whole: Value, start: Value, step: int, meta: Meta) -> Value:
        n = self.count
        if step == 1 and start.constant == 0 and whole.meta.shape[0] == n:
            return whole
        first, end = start.constant, start.constant + step * n
        index = Sliced(first, end if end >= 0 else None, step)
        return self.emit(take, (Slot(0), index), [whole], with_shape(meta, (n, *meta.shape)))

    def written(self, c: Carried, inner: Node) -> Value:
        """A buffer after each iteration has written its own part."""
        if inner.out is not c.next or len(inner.inputs) != 3:
            raise CannotBatch
        _, start, step = self.place(c.inside, inner.args[2], inner.inputs)
        index = inner.inputs[2]
        for reader in self.readers.get(c.inside, []):
            if reader is not inner and not (reader.function is take and reader.inputs[1:] == [index]):
                raise CannotBatch
        if self.readers.get(c.next) or step == 0:
            raise CannotBatch
        value = inner.inputs[1]
        n, shape = self.count, c.inside.meta.shape
        if value in self.many and value.meta.shape == shape[1:]:
            whole = self.many[value]
        elif value in self.inside or value.moving is not None:
            raise CannotBatch
        else:
            meta = Meta((n, *shape[1:]), value.meta.dtype, "array")
            whole = self.emit(np.broadcast_to, (Slot(0), meta.shape), [value], meta)
        if n == shape[0] and whole.meta.dtype == c.inside.meta.dtype:
            if step == 1:
                return whole
            return self.emit(take, (Slot(0), Sliced(None, None, -1)), [whole], c.inside.meta)
        first, end = start.constant, start.constant + step * n
        at = Sliced(first, end if end >= 0 else None, step)
        return self.emit(put, (Slot(0), Slot(1), at), [c.first, whole], c.inside.meta)

    def read_before(self, c: Carried, inner: Node) -> None:
        """What an iteration reads of its own part of a buffer is what was there at first."""
        _, start, step = self.place(c.inside, inner.args[1], inner.inputs)
        self.many[inner.out] = self.rows_of(c.first, start, step, inner.out.meta)

    # guards

    def guarded(self, inner: Node) -> None:
        """Pass the guards of all iterations at once; what was done for them before must not be heard of."""
        value = inner.inputs[0]
        if value not in self.many or not (can_wait(inner) and all(map(is_silent, self.nodes))):
            raise CannotBatch
        nodes, each = passed(inner, self.many[value], (self.count,))
        self.nodes += nodes
        every = self.emit(np.logical_and.reduce, (Slot(0), 0), [each], TRUTH)
        self.nodes.append(truth_guard(every, inner.site))

    # values

    def all_of(self, value: Value) -> Value:
        """A value of all iterations, also where it is the same in each."""
        if value in self.many:
            return self.many[value]
        if value in self.inside or value.moving is not None:
            raise CannotBatch
        meta = with_shape(value.meta, (self.count, *value.meta.shape))
        return self.emit(np.broadcast_to, (Slot(0), meta.shape), [value], meta)

    def result(self, value: Value, all_of_them: bool, kept: dict[Value, Value]) -> Value:
        if all_of_them:
            whole = self.all_of(value)
            return self.emit(take, (Slot(0), Sliced(None, None, -1)), [whole], whole.meta) if self.backwards else whole
        if value in kept:
            return kept[value]
        if value in self.many:
            last = 0 if self.backwards else self.count - 1
            return self.emit(take, (Slot(0), Slot(1, True)), [self.many[value], integer(last)], value.meta)
        if value in self.inside:
            raise CannotBatch
        return value

    def each(self, inner: Node) -> Value:
        """One node for all iterations."""
        rule = RULES.get(inner.function)
        if rule is None:
            rule = elementwise if isinstance(inner.function, np.ufunc) and inner.function.signature is None else None
        if rule is None or len(inner.outputs) != 1:
            raise CannotBatch
        for v in inner.inputs:
            if v in self.inside and v not in self.many:
                raise CannotBatch
        return rule(self, inner)

    def aligned(self, value: Value, ndim: int) -> Value:
        """A value of all iterations that broadcasts against others with ``ndim`` axes each."""
        if value not in self.many:
            if value.moving is not None:
                raise CannotBatch
            return value
        whole, missing = self.many[value], ndim - len(value.meta.shape)
        if missing <= 0 or ndim == 0:
            return whole
        shape = (self.count, *(1,) * missing, *value.meta.shape)
        return self.emit(np.reshape, (Slot(0), shape), [whole], with_shape(value.meta, shape))


def runs_down(nodes: list[Node]) -> bool:
    """Whether all integers of a loop run down: as no iteration needs another one, it may as well run up, through memory in order."""
    steps = {v.moving[2] for node in nodes for v in node.inputs if v.moving is not None and v.moving[3] is None}
    return bool(steps) and all(s <= 0 for s in steps) and any(s < 0 for s in steps)


def with_shape(meta: Meta, shape: tuple[int, ...]) -> Meta:
    return Meta(shape, meta.dtype, "array")


RULES: dict[Any, Callable[[Batching, Node], Value]] = {}
rule = entering(RULES)  # how a function is done for all iterations at once


def elementwise(b: Batching, node: Node) -> Value:
    meta = node.out.meta
    if not any(v in b.many for v in node.inputs):
        raise CannotBatch
    inputs = [b.aligned(v, len(meta.shape)) for v in node.inputs]
    return b.emit(node.function, node.args, inputs, with_shape(meta, (b.count, *meta.shape)), node.kwargs)


RULES[np.where] = elementwise


@rule(take)
def taken(b: Batching, node: Node) -> Value:
    x, *rest = node.inputs
    meta = node.out.meta
    if x not in b.many:
        _, start, step = b.place(x, node.args[1], node.inputs)
        return b.rows_of(x, start, step, meta)
    if any(v.moving is not None or not v.is_constant for v in rest):
        raise CannotBatch
    at = node.args[1] if type(node.args[1]) is tuple else (node.args[1],)
    return b.emit(
        take, (Slot(0), (Sliced(None, None, None), *at)), [b.many[x], *rest], with_shape(meta, (b.count, *meta.shape))
    )


@rule(np.reshape)
def reshaped(b: Batching, node: Node) -> Value:
    if node.kwargs or node.inputs[0] not in b.many:
        raise CannotBatch
    shape = (b.count, *node.out.meta.shape)
    return b.emit(np.reshape, (Slot(0), shape), [b.many[node.inputs[0]]], with_shape(node.out.meta, shape))


@rule(np.transpose)
def transposed(b: Batching, node: Node) -> Value:
    x, meta = node.inputs[0], node.out.meta
    if x not in b.many:
        raise CannotBatch
    axes = (0, *(a + 1 for a in node.args[1]))
    return b.emit(np.transpose, (Slot(0), axes), [b.many[x]], with_shape(meta, (b.count, *meta.shape)))


@rule(np.broadcast_to)
def broadcast(b: Batching, node: Node) -> Value:
    shape = (b.count, *node.out.meta.shape)
    x = b.aligned(node.inputs[0], len(node.out.meta.shape))
    return b.emit(np.broadcast_to, (Slot(0), shape), [x], with_shape(node.out.meta, shape))


@rule(np.add.reduce, np.sum, np.maximum.reduce, np.minimum.reduce, np.multiply.reduce, np.max, np.min, np.prod)
def reduced(b: Batching, node: Node) -> Value:
    x, meta = node.inputs[0], node.out.meta
    options = dict(node.kwargs)
    if x not in b.many or len(node.inputs) > 1 or len(node.args) > 2 or options.keys() - {"axis", "keepdims"}:
        raise CannotBatch
    ufunc_default = 0 if isinstance(getattr(node.function, "__self__", None), np.ufunc) else None
    axis = node.args[1] if len(node.args) > 1 else options.get("axis", ufunc_default)
    ndim = len(x.meta.shape)
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    moved = tuple(a % ndim + 1 for a in axes)
    options["axis"] = moved
    return b.emit(
        node.function, (Slot(0),), [b.many[x]], with_shape(meta, (b.count, *meta.shape)), tuple(sorted(options.items()))
    )


@rule(np.matmul)
def product(b: Batching, node: Node) -> Value:
    x, y = node.inputs
    n, meta = b.count, node.out.meta
    out = with_shape(meta, (n, *meta.shape))
    if node.kwargs or (x not in b.many and y not in b.many):
        raise CannotBatch
    if x in b.many and y in b.many:
        if len(x.meta.shape) == 1 or len(y.meta.shape) == 1:
            raise CannotBatch
        return b.emit(np.matmul, (Slot(0), Slot(1)), [b.many[x], b.many[y]], out)
    if x in b.many and len(y.meta.shape) == 2:  # rows of many, all through one matrix
        k, m = y.meta.shape
        lead = math.prod(x.meta.shape[:-1])
        flat = b.emit(np.reshape, (Slot(0), (n * lead, k)), [b.many[x]], with_shape(x.meta, (n * lead, k)))
        made = b.emit(np.matmul, (Slot(0), Slot(1)), [flat, y], with_shape(meta, (n * lead, m)))
        return b.emit(np.reshape, (Slot(0), out.shape), [made], out)
    if y in b.many and len(x.meta.shape) == 2 and (len(y.meta.shape) == 1 or y.meta.shape[1:] == (1,)):
        m, k = x.meta.shape
        flat = b.emit(np.reshape, (Slot(0), (n, k)), [b.many[y]], with_shape(y.meta, (n, k)))
        turned = b.emit(np.transpose, (Slot(0), (1, 0)), [x], with_shape(x.meta, (k, m)))
        made = b.emit(np.matmul, (Slot(0), Slot(1)), [flat, turned], with_shape(meta, (n, m)))
        return b.emit(np.reshape, (Slot(0), out.shape), [made], out)
    raise CannotBatch
