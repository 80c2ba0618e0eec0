"""Which nodes run together: elementwise calls over one grid, the reductions that end them and the loops between them are one kernel.

Nodes join the group of a node they read, if that makes no step wait for itself. Everything over no grid at all (numbers) is one group
as far as possible. What no kernel can do is a step of its own, run by NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gradviz.plan.fuse.lower import (
    REDUCTIONS,
    CannotLower,
    Lowered,
    Lowering,
    code,
    is_written,
    reduced_axes,
    typed_call,
)
from gradviz.plan.fuse.views import Places
from gradviz.plan.kernels.runner import supported
from gradviz.plan.program.operation import Meta, Slot, guard, put, take, take_number
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Node, Value, inputs_of, made_in, readers
from gradviz.plan.simplify.guards import can_wait, defer, has_guard

MOST_NODES = 4000  # of a kernel: LLVM takes a second for so many

Shape = tuple[int, ...]


class Step:
    """Nodes that run together.

    ``grid`` is None for a step that NumPy runs. ``jobs`` are runs of one kernel over different memory: as many as there were groups
    of nodes that do the same.
    """

    __slots__ = ("before", "grid", "jobs", "nodes", "number", "reduced")

    def __init__(self, number: int, grid: Shape | None) -> None:
        self.number, self.grid = number, grid
        self.nodes: list[Node] = []
        self.before: set[Step] = set()  # steps that must have run
        self.reduced: set[Value] = set()  # results that are complete only when the kernel has ended
        self.jobs: list[Lowered] = []

    @property
    def site(self) -> int:
        """Where the user's program made the first call in it; -1 if no line of theirs did."""
        return next((n.site for n in self.nodes if n.site is not None and n.site >= 0), -1)

    @property
    def nodes_of_a_job(self) -> list[Node]:
        """What one of the jobs does."""
        return self.nodes[: len(self.nodes) // max(len(self.jobs), 1)]


class Fusing:
    """Puts nodes into steps."""

    def __init__(self, block: Block, layouts: Sequence[str]) -> None:
        self.block = block
        self.places = Places()
        self.places.arrive(block.inputs, layouts)
        self.steps: list[Step] = []
        self.step_of: dict[Value, Step] = {}
        self.guards: list[Step] = []
        self.guarded: dict[Value, Step] = {}  # what is to be read only when its guard has been passed
        block.nodes = taken_early(block)
        self.order: dict[Node, float] = {node: n for n, node in enumerate(block.nodes)}
        self.readers = readers(block.nodes)
        self.results = set(block.results)

    def run(self) -> list[Step]:
        for node in list(self.block.nodes):
            if self.places.look(node) and not self.stays_inside(node):
                continue
            grid = self.grid_of(node)
            if grid is None:
                self.alone(node)
                continue
            if has_guard(node):
                self.deferred(node, grid)
            else:
                self.join(node, grid)
        for step in list(self.steps):
            if step.grid is not None:
                self.lower(step)
        self.drop_fills()
        side_by_side(self.steps)
        return ordered(self.steps)

    # which grid

    def stays_inside(self, node: Node) -> bool:
        """Whether a view is better read inside the kernel that makes what it looks at: an entry of a buffer or of a stack."""
        made = self.step_of.get(node.inputs[0])
        items = node.args[1] if len(node.args) > 1 and type(node.args[1]) is tuple else node.args[1:2]
        entry = node.function in (take, take_number) and all(isinstance(i, Slot) and i.integer for i in items)
        if entry and made is not None and made.grid == node.out.meta.shape:
            del self.places[node.out]
            return True
        return False

    def grid_of(self, node: Node) -> Shape | None:
        """The grid of a node that a kernel can do."""
        if node.function is guard or node.function is full:
            return None
        if node.loop is not None:
            return self.loop_grid(node)
        if node.function in (take, take_number):
            return node.out.meta.shape if self.lowers(node, node.out.meta.shape) else None
        if node.function is put:
            return () if self.can_put(node) else None
        if node.function in REDUCTIONS:
            shape = node.inputs[0].meta.shape
            dtype = code(node.out.meta.dtype)
            known = supported(REDUCTIONS[node.function], [dtype, dtype], dtype)
            return shape if 0 not in shape and known and reduced_axes(node) is not None else None
        if typed_call(node) is None or 0 in node.out.meta.shape:
            return None
        return node.out.meta.shape

    def can_put(self, node: Node) -> bool:
        array, value, *integers = node.inputs
        return (
            value.meta.shape == ()
            and all(v.is_constant and isinstance(v.constant, int) for v in integers)
            and len(integers) == len(array.meta.shape)
            and self.is_last_reader(array, node)
        )

    def is_last_reader(self, array: Value, node: Node) -> bool:
        """Whether a buffer may be written to by a node: whoever reads what was there before is in the same kernel, and earlier."""
        made = self.step_of.get(array)
        if made is None or made.grid != ():
            return True  # it starts from a copy, or from memory that nobody needs any more
        if array in self.results:
            return False
        return all(
            r is node or (self.order[r] < self.order[node] and self.step_with(r) is made)
            for r in self.readers.get(array, ())
        )

    def loop_grid(self, node: Node) -> Shape | None:
        """The grid over which all of a loop can run, by trying."""
        assert node.loop is not None
        if not can_wait(node):
            return None
        shapes = {v.meta.shape for v in (*node.outputs, *made_in(node)) if isinstance(v.meta, Meta)}
        for grid in sorted((s for s in shapes if 0 not in s), key=len):
            if self.lowers(node, grid):
                written = [c.first for c in node.loop.carried if is_written(c.inside, c.next)]
                return grid if all(self.is_last_reader(v, node) for v in written) else None
        return None

    def lowers(self, node: Node, grid: Shape) -> bool:
        try:
            Lowering([node], grid, self.places, set(node.outputs)).run()
        except CannotLower:
            return False
        return True

    # joining

    def deferred(self, node: Node, grid: Shape) -> None:
        """Join a loop, and pass its guards behind it."""
        waiting = defer(node)
        self.block.nodes.insert(self.block.nodes.index(node) + 1, waiting)
        self.order[waiting] = self.order[node] + 0.5
        self.readers[waiting.inputs[0]] = [waiting]
        self.join(node, grid)
        self.alone(waiting)

    def alone(self, node: Node) -> None:
        step = self.step(None)
        if self.guards:  # what NumPy would raise for other values is no error on another path
            step.before.add(self.guards[-1])
        self.add(node, step)
        if has_guard(node):
            self.guards.append(step)
        if node.function is guard:
            made = node.inputs[0].maker
            for v in (*node.inputs, *(made.outputs if made is not None and node.args[1] == "shape" else ())):
                self.guarded[v] = step

    def step(self, grid: Shape | None) -> Step:
        self.steps.append(Step(len(self.steps), grid))
        return self.steps[-1]

    def step_with(self, node: Node) -> Step | None:
        """The step that a node is in; None if that is not known yet. A loop that has nothing but guards makes nothing."""
        return self.step_of.get(node.out) if node.outputs else None

    def made_by(self, value: Value) -> Step | None:
        """The step that makes a value, or what it is a view of."""
        found = self.step_of.get(value)
        return found if found is not None or value not in self.places else self.step_of.get(self.places[value].root)

    def join(self, node: Node, grid: Shape) -> None:
        sources = [s for v in inputs_of(node) if (s := self.made_by(v)) is not None]
        candidates = dict.fromkeys(s for s in reversed(sources) if s.grid == grid)
        if grid == ():
            candidates.update(dict.fromkeys(s for s in reversed(self.steps) if s.grid == ()))
        else:
            candidates.update(dict.fromkeys(self.siblings(node, grid)))
        for step in candidates:
            if self.may_join(node, step):
                self.add(node, step)
                for other in candidates:
                    if other is not step and other in sources:
                        self.merge(step, other)
                return
        self.add(node, self.step(grid))

    def siblings(self, node: Node, grid: Shape) -> Iterator[Step]:
        """Steps over the same grid that read an array this node reads."""
        for v in inputs_of(node):
            if v.is_constant or not v.meta.shape:
                continue
            for reader in self.readers.get(v, ()):
                step = self.step_with(reader)
                if step is not None and step.grid == grid:
                    yield step

    def may_join(self, node: Node, step: Step) -> bool:
        if len(step.nodes) >= MOST_NODES:
            return False
        for v in inputs_of(node):
            made = self.made_by(v)
            if made is step and (v in step.reduced or self.step_of.get(v) is not step):
                return False  # it reads what is complete only afterwards, or a view of a result
            if made is not None and made is not step and depends(made, step):
                return False
            passed = self.guard_of(v)
            if passed is not None and depends(passed, step):
                return False
        return True

    def guard_of(self, value: Value) -> Step | None:
        """The guard that has to be passed before a value, or what it looks at, is read."""
        found = self.guarded.get(value)
        return found if found is not None or value not in self.places else self.guarded.get(self.places[value].root)

    def add(self, node: Node, step: Step) -> None:
        step.nodes.append(node)
        for made in node.outputs:
            self.step_of[made] = step
        if node.function in REDUCTIONS and step.grid is not None:
            step.reduced.add(node.out)
        for v in inputs_of(node):
            made = self.made_by(v)
            if made is not None and made is not step:
                step.before.add(made)
            passed = self.guard_of(v)
            if passed is not None and passed is not step:
                step.before.add(passed)

    def merge(self, step: Step, other: Step) -> None:
        """Make one step of two over the same grid, if neither has to wait for the other."""
        if other.reduced & {v for n in step.nodes for v in inputs_of(n)} or step.reduced & {
            v for n in other.nodes for v in inputs_of(n)
        }:
            return
        if any(depends(s, other) for s in step.before - {other}) or any(
            depends(s, step) for s in other.before - {step}
        ):
            return
        if any(self.step_of.get(v) is None and self.made_by(v) is other for n in step.nodes for v in inputs_of(n)):
            return
        if len(step.nodes) + len(other.nodes) > MOST_NODES:
            return
        step.nodes = sorted([*step.nodes, *other.nodes], key=self.order.__getitem__)
        step.before = (step.before | other.before) - {step, other}
        step.reduced |= other.reduced
        for node in other.nodes:
            for made in node.outputs:
                self.step_of[made] = step
        self.steps.remove(other)
        for s in self.steps:
            if other in s.before:
                s.before.remove(other)
                s.before.add(step)

    # kernels

    def lower(self, step: Step) -> None:
        assert step.grid is not None
        mine = set(step.nodes)
        wanted = {
            v for node in step.nodes for v in node.outputs
            if v in self.results or any(r not in mine for r in self.readers.get(v, ()))
        }  # fmt: skip
        try:
            step.jobs = [Lowering(step.nodes, step.grid, self.places, wanted).run()]
        except CannotLower:
            self.split(step)

    def drop_fills(self) -> None:
        """Arrays of one number that kernels read as a number need not be made."""
        read: set[Value] = {self.places[v].root for v in self.results}
        for step in self.steps:
            for job in step.jobs:
                for operand in job.operands:
                    read.add(operand.root)
                    if operand.first is not None:
                        read.add(self.places[operand.first].root)
            if not step.jobs:
                read |= {self.places[v].root for node in step.nodes for v in inputs_of(node)}
        gone = {s for s in self.steps if s.nodes[0].function is full and s.nodes[0].out not in read}
        self.steps = [s for s in self.steps if s not in gone]
        for step in self.steps:
            step.before -= gone

    def split(self, step: Step) -> None:
        """Give each node of a group a step of its own: together they are no kernel."""
        self.steps.remove(step)
        alone: list[Step] = []
        for node in step.nodes:
            made = Step(len(self.steps) + len(alone), step.grid)
            made.nodes = [node]
            made.before = set(step.before) | set(alone[-1:])
            alone.append(made)
            for v in node.outputs:
                self.step_of[v] = made
            try:
                made.jobs = [Lowering([node], step.grid or (), self.places, set(node.outputs)).run()]
            except CannotLower:
                made.grid = None
        self.steps += alone
        for other in self.steps:
            if step in other.before:
                other.before = other.before - {step} | {alone[-1]}


def taken_early(block: Block) -> list[Node]:
    """The nodes with entries taken as soon as they are there, so that no later write to the array has to wait for it."""
    early: dict[Any, list[Node]] = {}
    for node in block.nodes:
        if is_entry(node):
            early.setdefault(node.inputs[0].maker, []).append(node)
    nodes: list[Node] = []
    for node in [None, *block.nodes]:
        if node is not None and is_entry(node):
            continue
        if node is not None:
            nodes.append(node)
        todo = early.get(node, [])[::-1]
        while todo:
            taken = todo.pop()
            nodes.append(taken)
            todo += early.get(taken, [])[::-1]
    return nodes


def is_entry(node: Node) -> bool:
    return node.function in (take, take_number) and all(v.is_constant for v in node.inputs[1:])


def depends(step: Step, on: Step) -> bool:
    """Whether a step has to wait for another, or is it."""
    seen, todo = {step}, [step]
    while todo:
        step = todo.pop()
        if step is on:
            return True
        for s in step.before:
            if s not in seen:
                seen.add(s)
                todo.append(s)
    return False


def side_by_side(steps: list[Step]) -> None:
    """Make one step of steps that do the same to different memory: 2000 small tensors of an optimizer in one call."""
    alike: dict[Any, list[Step]] = {}
    for step in steps:
        if step.grid is not None:
            alike.setdefault(step.jobs[0].kernel, []).append(step)
    for group in alike.values():
        first, *others = group
        if not others or waits_for_one_of(group):
            continue
        for other in others:
            first.jobs += other.jobs
            first.nodes += other.nodes
            first.before |= other.before
            first.reduced |= other.reduced
        gone = set(others)
        steps[:] = [s for s in steps if s not in gone]
        for step in steps:
            if step.before & gone:
                step.before = step.before - gone | {first}


def waits_for_one_of(group: list[Step]) -> bool:
    """Whether some of these steps have to run after others of them."""
    members = set(group)
    seen: set[Step] = set()
    todo = [s for step in group for s in step.before]
    while todo:
        step = todo.pop()
        if step in members:
            return True
        if step not in seen:
            seen.add(step)
            todo += step.before
    return False


def ordered(steps: list[Step]) -> list[Step]:
    """Steps in an order in which each can run, guards and what they need first, the others as early as the program has them.

    So another path is taken before much is done, and what is donated is of use as soon as all guards are passed.
    """
    done: dict[Step, None] = {}

    def visit(step: Step) -> None:
        stack = [(step, iter(sorted(step.before, key=lambda s: s.number)))]
        while stack:
            current, waits = stack[-1]
            following = next((s for s in waits if s not in done), None)
            if following is None:
                done[current] = None
                stack.pop()
            else:
                stack.append((following, iter(sorted(following.before, key=lambda s: s.number))))

    for step in sorted(steps, key=lambda s: not any(map(has_guard, s.nodes))):
        if step not in done:
            visit(step)
    return list(done)


def fuse(block: Block, layouts: Sequence[str] = ()) -> tuple[list[Step], Places]:
    """The steps of a block, in order, and where its values lie; ``layouts`` says how the inputs do."""
    fusing = Fusing(block, layouts)
    return fusing.run(), fusing.places
