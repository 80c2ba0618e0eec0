"""What need not be computed: calls that nobody reads, that were made before, or whose result is known (`gradviz.plan.simplify.algebra`).

Values that are the same in all iterations of a loop leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gradviz.plan.program.operation import Meta, guard
from gradviz.plan.simplify.algebra import RULES, folded, key_of
from gradviz.plan.simplify.block import Block, Carried, Loop, Node, Value, inputs_of, made_in, rename
from gradviz.plan.simplify.guards import has_guard

HOISTED_NBYTES = 1 << 24  # what leaves a loop stays alive during it


def simplify(block: Block) -> Block:
    """The same block with less to do."""
    while True:
        before = count(block.nodes)
        simplifying = Simplifying(block)
        simplifying.run()
        block.nodes = live(block.nodes, set(block.results))
        if count(block.nodes) >= before or not simplifying.instead:
            return block


def count(nodes: list[Node]) -> int:
    return sum(1 + (count(node.loop.nodes) if node.loop else 0) for node in nodes)


class Simplifying:
    """One pass over the nodes of a block, first to last."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.instead: dict[Value, Value] = {}
        self.known: dict[Any, list[Value]] = {}
        self.integers: dict[Any, Value] = {}

    def run(self) -> None:
        block = self.block
        block.nodes = self.nodes(block.nodes)
        block.results = [self.seen(v) for v in block.results]

    def seen(self, value: Any) -> Any:
        while value in self.instead:
            value = self.instead[value]
        if isinstance(value, Value) and value.moving is not None:
            loop, start, step, listed = value.moving
            key = loop, key_of(self.seen(start)), step, id(listed)
            return self.integers.setdefault(key, value)
        return value

    def nodes(self, nodes: list[Node]) -> list[Node]:
        kept: list[Node] = []
        for node in nodes:
            if node.loop is not None:
                self.loop(node, kept)
                continue
            node.inputs = [self.seen(v) for v in node.inputs]
            found = self.shorter(node, kept)
            if found is None:
                kept.append(node)
            else:
                for old, new in zip(node.outputs, found, strict=True):
                    self.instead[old] = new
        return kept

    def shorter(self, node: Node, kept: list[Node]) -> list[Value] | None:
        """What the outputs are known to be; None if the node has to run."""
        if node.function is guard and node.inputs[0].is_constant:
            return [Value(None, None)]  # passed when it was captured, and so in every call
        rule = RULES.get(node.function)
        found = (rule(node) if rule is not None else None) or folded(node)
        if isinstance(found, list):
            return self.replaced(node, found, kept)
        if found is not None:
            return [found]
        key = node.function, node.args, node.kwargs, tuple(map(key_of, node.inputs)), node.outputs[0].meta
        try:
            known = self.known.setdefault(key, node.outputs)
        except TypeError:  # an argument that cannot be hashed
            return None
        return None if known is node.outputs else known

    def replaced(self, node: Node, others: list[Node], kept: list[Node]) -> list[Value]:
        """Put other nodes in the place of one; the last gives what it gave."""
        made: list[Value] = []
        for other in others:
            other.site = node.site
            other.inputs = [self.seen(v) for v in other.inputs]
            found = self.shorter(other, kept)
            if found is None:
                kept.append(other)
                found = other.outputs
            else:
                self.instead[other.out] = found[0]
            made = found
        return made

    def loop(self, node: Node, kept: list[Node]) -> None:
        loop = node.loop
        assert loop is not None
        for c in loop.carried:
            c.first = self.seen(c.first)
        scope, self.known = self.known, dict(self.known)
        loop.nodes = self.nodes(loop.nodes)
        self.known = scope
        for c in loop.carried:
            c.next = self.seen(c.next)
        loop.results = [(self.seen(v), many) for v, many in loop.results]
        unchanged = {c.inside: c.first for c in loop.carried if c.next is c.inside}
        loop.carried = [c for c in loop.carried if c.next is not c.inside]
        rename(node, unchanged)  # what is taken out of the loop below must not read what is no longer there
        self.instead.update(unchanged)
        kept += hoisted(node)
        inside = made_in(node)
        for made, (value, many) in zip(node.outputs, loop.results, strict=True):
            if not many and value not in inside and value.moving is None:
                self.instead[made] = value  # an invariant
        kept.append(node)


def hoisted(node: Node) -> list[Node]:
    """Take the nodes out of a loop that do the same in every iteration."""
    loop = node.loop
    assert loop is not None
    inside = made_in(node)
    out, stay = [], []
    for inner in loop.nodes:
        steady = all(v not in inside and (v.moving is None or v.moving[0] is not node) for v in inputs_of(inner))
        if steady and sum(nbytes(v.meta) for v in inner.outputs) <= HOISTED_NBYTES:
            out.append(inner)
            inside.difference_update(inner.outputs)
        else:
            stay.append(inner)
    loop.nodes = stay
    return out


def nbytes(meta: Any) -> int:
    return meta.nbytes if isinstance(meta, Meta) else 0


def live(nodes: list[Node], wanted: set[Value]) -> list[Node]:
    """The nodes whose results are wanted, or that must be run for what they check."""
    kept: list[Node] = []
    for node in reversed(nodes):
        if node.loop is not None:
            if not prune(node, wanted):
                continue
        elif node.function is not guard and not any(v in wanted for v in node.outputs):
            continue
        kept.append(node)
        wanted.update(with_starts(inputs_of(node)))
    return kept[::-1]


def with_starts(values: Iterable[Value]) -> Iterator[Value]:
    """Values, and where those begin that move with a loop."""
    for v in values:
        yield v
        if v.moving is not None and isinstance(v.moving[1], Value):
            yield v.moving[1]


def prune(node: Node, wanted: set[Value]) -> bool:
    """Drop what nobody reads from a loop; False if nothing is left."""
    loop = node.loop
    assert loop is not None
    keep = [k for k, made in enumerate(node.outputs) if made in wanted]
    loop.results = [loop.results[k] for k in keep]
    node.outputs = [node.outputs[k] for k in keep]
    if not keep and not has_guard(node):
        return False
    results = {v for v, _ in loop.results}
    loop.carried, _ = needed_inside(loop, results)
    loop.nodes = live(loop.nodes, results | {c.next for c in loop.carried})
    return True


def needed_inside(loop: Loop, results: set[Value]) -> tuple[list[Carried], set[Value]]:
    """The carried values that some results of a loop, and its guards, depend on, and all that is read for them."""
    carried: list[Carried] = []
    while True:
        needed = needed_for(loop.nodes, results | {c.next for c in carried})
        more = [c for c in loop.carried if c not in carried and c.inside in needed]
        if not more:
            return [c for c in loop.carried if c in carried], needed
        carried += more


def needed_for(nodes: list[Node], wanted: set[Value]) -> set[Value]:
    """What is wanted, and all that is read for it."""
    needed = set(wanted)
    for node in reversed(nodes):
        if node.loop is None:
            if node.function is guard or any(v in needed for v in node.outputs):
                needed.update(with_starts(node.inputs))
            continue
        results = {v for made, (v, _) in zip(node.outputs, node.loop.results, strict=True) if made in needed}
        if results or has_guard(node):
            carried, inside = needed_inside(node.loop, results)
            needed |= inside | {c.first for c in carried}
    return needed
