"""The inside of a loop that no kernel can do, as a block of its own: what an iteration reads and writes are its inputs.

An iteration is a function of what lies outside, of the entries that move with it (``x[t]``), and of what the iteration before handed on. It
writes what it hands on over what it was handed, and what is kept of it into a row of a stack. So an inside is placed and run as any
function is that writes into its arguments, and nothing is copied between iterations but what has to be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.fuse.views import Places, is_contiguous, taken
from gradviz.plan.program.operation import Meta, filled, take, take_number
from gradviz.plan.simplify.block import Block, Carried, Loop, Node, Value, made_in

INTEGER = Meta((), np.dtype(int), "weak")


class Entry(NamedTuple):
    """What is taken from an array at a place that moves: ``function(array, index)`` with integers in the slots of ``index``."""

    meta: Meta
    function: Any
    array: Value
    index: Any
    integers: tuple[Value, ...]


class Inside:
    """A loop as a block that is run once for each iteration.

    Attributes
    ----------
    node : the loop
    block : an iteration. Its inputs are, in this order, what stands in ``outer``, in ``carried``, in ``moving``, and a place for each
        array that is kept; its results what is handed on, and what is kept
    layouts : how the entries of each input of the block follow each other
    written : which inputs the block writes, and with which result
    outer : what is read from outside, and stays
    carried : what each iteration hands to the next
    moving : what moves: entries of arrays, and integers
    rows : how many of the inputs are places for what is kept
    kept : for each result of the loop its number among the results of the block, and whether it is kept of all iterations; an array
        that was handed on at last has the number of what is handed on, and no place of its own
    """

    def __init__(self, node: Node, places: Places) -> None:
        assert node.loop is not None
        self.node, self.places, loop = node, places, node.loop
        self.carried = loop.carried
        self.own = made_in(node)
        self.instead: dict[Value, Value] = {c.inside: Value(c.inside.meta) for c in loop.carried}
        self.outer: list[Value] = []
        self.moving: list[Entry | Value] = []
        self.moved: list[Value] = []  # the inputs of the block that stand for what moves
        nodes = [made for inner in loop.nodes if (made := self.taken_over(inner)) is not None]
        carried = [self.instead[c.inside] for c in loop.carried]
        results = [self.inside(c.next) for c in loop.carried]
        kept: dict[int, Value] = {}  # places, by the number of the result
        self.kept: list[tuple[int, bool]] = []
        for v, many in loop.results:
            at_last = next((n for n, c in enumerate(loop.carried) if c.next is v and is_array(v) and not many), None)
            self.kept.append((len(results) if at_last is None else at_last, many))
            if at_last is None:
                if is_array(v):
                    kept[len(results)] = Value(v.meta)
                results.append(self.inside(v))
        fixed = [self.instead[v] for v in self.outer]
        self.block = Block([*fixed, *carried, *self.moved, *kept.values()], nodes, results)
        self.rows = len(kept)
        number = {v: n for n, v in enumerate(self.block.inputs)}
        self.written = {number[v]: k for k, v in enumerate(carried) if is_array(v)}
        self.written.update({number[v]: k for k, v in kept.items()})
        self.layouts = [self.layout(v) for v in self.outer]
        self.layouts += ["C"] * len(carried) + [entry_layout(m) for m in self.moving] + ["C"] * len(kept)

    def layout(self, value: Value) -> str:
        """How the entries of a value from outside follow each other, once `settled` has seen to it that they do."""
        meta = value.meta
        if not is_array(value) or len(meta.shape) < 2:
            return "C"
        turned = meta._replace(shape=meta.shape[::-1])
        strides = self.places[value].strides
        return "F" if is_contiguous(turned, strides[::-1]) and not is_contiguous(meta, strides) else "C"

    def called(self, n: int) -> str:
        """What an input of the block is called in reasons for copies."""
        if n < len(self.outer):
            return "an array from outside the loop"
        if n < len(self.outer) + len(self.carried):
            return "what the turn before handed on"
        return "an entry that moves" if n < len(self.block.inputs) - self.rows else "a row that is kept"

    # values of the block for those of the program

    def inside(self, value: Value) -> Value:
        """What a value is called in the block; one from outside becomes an input."""
        found = self.instead.get(value)
        if found is not None or value.is_constant:
            return found or value
        made = Value(value.meta)
        if value.moving is None:
            self.outer.append(value)
        elif value.moving[0] is self.node:
            made = self.moves(value, INTEGER)
        else:  # it moves with a loop around, and stays here
            made = Value(INTEGER)
            self.outer.append(value)
        self.instead[value] = made
        return made

    def moves(self, what: Entry | Value, meta: Meta) -> Value:
        self.moving.append(what)
        self.moved.append(Value(meta))
        return self.moved[-1]

    def taken_over(self, node: Node) -> Node | None:
        """A node of the loop as one of the block; None if it only takes an entry of what lies outside."""
        if node.function in (take, take_number) and self.is_entry(node):
            array, *integers = node.inputs
            self.instead[node.out] = self.moves(
                Entry(node.out.meta, node.function, array, node.args[1], tuple(integers)), node.out.meta
            )
            return None
        return self.copied(node)

    def is_entry(self, node: Node) -> bool:
        array, *integers = node.inputs
        moving = [v for v in integers if v.moving is not None and v.moving[0] is self.node]
        steady = [v for v in integers if v.is_constant]
        return array not in self.own and is_array(array) and bool(moving) and len(moving) + len(steady) == len(integers)

    def copied(self, node: Node) -> Node:
        made = Node(
            node.function, node.args, node.kwargs, [self.inside(v) for v in node.inputs], [v.meta for v in node.outputs],
            node.site, None, node.several,
        )  # fmt: skip
        self.instead.update(zip(node.outputs, made.outputs, strict=True))
        if node.loop is not None:
            made.loop = self.copied_loop(node, node.loop, made)
        return made

    def copied_loop(self, old: Node, loop: Loop, new: Node) -> Loop:
        """A loop within, which reads the values of the block."""
        made = Loop(loop.count)
        for c in loop.carried:
            self.instead[c.inside] = Value(c.inside.meta)
        ends = [c.next for c in loop.carried] + [v for v, _ in loop.results]
        for v in dict.fromkeys([*ends, *(v for inner in loop.nodes for v in deep_inputs(inner))]):
            if v.moving is not None and v.moving[0] is old:
                self.instead[v] = Value(v.meta)
                self.instead[v].moving = (new, self.inside(v.moving[1]), *v.moving[2:])
        made.nodes = [self.copied(inner) for inner in loop.nodes]
        made.carried = [
            Carried(self.instead[c.inside], self.inside(c.first), self.inside(c.next)) for c in loop.carried
        ]
        made.results = [(self.inside(v), many) for v, many in loop.results]
        return made


def deep_inputs(node: Node) -> list[Value]:
    """Everything that a node and the nodes in it read, their own moving integers included."""
    found = list(node.inputs)
    for inner in node.loop.nodes if node.loop is not None else ():
        found += deep_inputs(inner)
    return found


def is_array(value: Value) -> bool:
    return isinstance(value.meta, Meta) and value.meta.kind == "array"


def entry_layout(what: Entry | Value) -> str:
    """How the entries of what is taken from an array in C order follow each other."""
    if isinstance(what, Value) or what.function is take_number:
        return "C"
    first = [Value(INTEGER, 0) for _ in what.integers]
    node = Node(take, (None, what.index), (), [what.array, *first], [None])
    place = taken(node, Places()[Value(what.array.meta)])
    if place is None:
        return "any"
    shape = np.empty(what.array.meta.shape, "b")[filled(what.index, [None, *(0 for _ in what.integers)])].shape
    return "C" if is_contiguous(what.array.meta._replace(shape=shape), place.strides) else "any"


def reads(inside: Inside) -> list[Value]:
    """What a loop needs from outside."""
    found = [*inside.outer, *(c.first for c in inside.carried)]
    for what in inside.moving:
        found += [what.array, *map(start, what.integers)] if isinstance(what, Entry) else [start(what)]
    return list(dict.fromkeys(v for v in found if not v.is_constant))


def start(integer: Value) -> Value:
    """Where an integer begins that moves."""
    return integer if integer.moving is None else integer.moving[1]
