"""A block made ready to run: what runs together, where everything lives, and the same for the insides of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.fuse.fuse import Step, fuse
from gradviz.plan.fuse.views import Places
from gradviz.plan.program.operation import Meta, Slot
from gradviz.plan.run.inside import Inside
from gradviz.plan.run.place import Placement, is_whole
from gradviz.plan.simplify.block import Block, Node
from gradviz.plan.simplify.products import products


class Prepared(NamedTuple):
    """A block, its steps in order, where everything lives, and the insides of those steps that are loops."""

    block: Block
    steps: list[Step]
    placement: Placement
    insides: dict[Step, tuple[Inside, Prepared]]


def prepare(
    block: Block,
    layouts: Sequence[str],
    donated: frozenset[int] = frozenset(),
    written: dict[int, int] | None = None,
    called: Callable[[int], str] = "input {}".format,
) -> Prepared:
    """Make a block ready.

    Parameters
    ----------
    layouts : how the entries of each input follow each other
    donated : inputs that may be overwritten
    written : inputs that the block writes into, each with the number of the result that it becomes
    called : what an input is called in reasons for copies
    """
    written = written or {}
    copy_results(block, layouts, donated | written.keys())
    steps, places = fuse(block, layouts)
    insides: dict[Step, tuple[Inside, Prepared]] = {}
    for step in steps:
        if not step.jobs and step.nodes[0].loop is not None:
            inside = Inside(step.nodes[0], places)
            turn = products(inside.block, always=True)
            insides[step] = inside, prepare(turn, inside.layouts, written=inside.written, called=inside.called)
    return Prepared(block, steps, Placement(block, steps, places, donated, written, called), insides)


def copy_results(block: Block, layouts: Sequence[str], overwritten: frozenset[int]) -> None:
    """Copy results that are parts of other arrays, or inputs that are written into, as soon as they are there.

    Such a copy can be part of a kernel, and what it was taken from may be overwritten afterwards.
    """
    places = Places()
    places.arrive(block.inputs, layouts)
    for node in block.nodes:
        places.look(node)
    inputs = set(block.inputs)
    given = {block.inputs[n] for n in overwritten}
    copies: dict[Any, list[Node]] = {}
    instead: dict[Any, Any] = {}
    for v in dict.fromkeys(block.results):
        if v.is_constant or not isinstance(v.meta, Meta) or v.meta.kind != "array":
            continue
        part = v.maker is not None and (not is_whole(v, places) or places[v].root in inputs)
        if v in given or part:
            node = Node(np.copy, (Slot(0),), (), [v], [v.meta], v.maker.site if v.maker else None)
            copies.setdefault(v.maker, []).append(node)
            instead[v] = node.out
    block.results = [instead.get(v, v) for v in block.results]
    block.nodes = copies.get(None, []) + [n for node in block.nodes for n in (node, *copies.get(node, ()))]
