"""How a plan runs on a device: steps that were prepared once, each queued without a wait.

Memory is an arena that every call uses again, and results that every call makes. All that a launch needs to know stands in a table on
the device (`gradviz.plan.device.words`), so launches that follow each other are one segment, which a GPU may keep as a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradviz.plan.device.calls import REFUSALS, on_device, scatter
from gradviz.plan.device.machine import Machine, Task
from gradviz.plan.device.words import WORD, Words
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.fuse.lower import Lowered, Operand
from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.program.operation import Meta, Operation, add_at, filled, guard, put
from gradviz.plan.program.program import checked
from gradviz.plan.run.place import Placement, takes_out
from gradviz.plan.run.run import run_in_python, title
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Node, Value, inputs_of, rename
from gradviz.plan.simplify.products import product

Env = list[Any]
Action = Callable[[Env], object]


class Queued:
    """One thing that a frame does: launches, which may be joined with those before and after, or anything else."""

    __slots__ = ("act", "launch", "step")

    def __init__(self, step: Step | None, act: Action | None = None, launch: Callable[[], Task] | None = None) -> None:
        self.step, self.act, self.launch = step, act, launch


class DeviceFrame:
    """The memory of one call of a plan on a device, and what it does.

    Attributes
    ----------
    launches : how many kernels and products a call queues
    hosted : nodes that the device refused, which are computed on the host at each call
    """

    def __init__(self, block: Block, steps: list[Step], placement: Placement, machine: Machine) -> None:
        self.block, self.steps, self.placement, self.machine = block, steps, placement, machine
        self.places = placement.places
        self.words = Words()
        self.template: Env = [None] * len(block.inputs)
        self.slots: dict[Value, int] = {v: n for n, v in enumerate(block.inputs)}
        self.fixed: dict[Value, Any] = {}
        self.numbers: list[tuple[int, int, np.dtype[Any]]] = []  # (slot, first word, dtype) of inputs that are numbers
        self.number_words: dict[Value, int] = {}
        self.made: list[tuple[int, Any]] = []  # (slot, meta) of results, made at the beginning of each call
        self.made_slots: dict[int, int] = {}
        self.pointing: dict[int, list[tuple[int, int]]] = {}  # slot -> (word, offset) to write once it is known
        self.pointed: set[int] = set()  # slots that are known at the beginning
        self.queue: list[Queued] = []
        self.hosted: list[Node] = []
        self.compile_ns = self.scratch_nbytes = self.launches = 0
        self.arena = machine.empty((max(placement.arena_nbytes, 1),), np.uint8)
        self.step: Step | None = None
        self.stream: Any = None  # of the last call
        for step in steps:
            self.step = step
            self._step(step)
        self.step = None
        self.results = [self._result(v) for v in placement.handed]
        self.back = [
            (n, self.slot(v))
            for n, v in placement.written.items()
            if placement.home(v)[:2] != ("donated", n) or self.places[v].root is not v
        ]
        self.words.settle(machine)
        self.program = self._joined()

    # ---- running

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for inputs, with what the host has made of its numbers after them."""
        env = self._begin(values)
        for action in self.program:
            action(env)
        return self._end(env, values)

    def watched(self, values: Sequence[Any], recorder: Any, sites: Sequence[Any]) -> list[Any]:
        """Run, and let a recorder see each step."""
        lines = recorder.recording.lines
        env = self._begin(values)
        for step, actions in self.by_step:
            start_ns = recorder.clock()
            for action in actions:
                action(env)
            if step is not None:
                found = lines.known(*sites[step.site]) if 0 <= step.site < len(sites) else -1
                made = [v for node in step.nodes for v in node.outputs]
                read = [v for node in step.nodes for v in inputs_of(node) if v not in set(made)]
                recorder.ran(
                    title(step), start_ns, recorder.clock(), self._arrays(read, env), self._arrays(made, env), found
                )
        return self._end(env, values)

    def _begin(self, values: Sequence[Any]) -> Env:
        machine, words = self.machine, self.words
        self.stream = machine.follow(self.stream)
        env = self.template.copy()
        env[: len(values)] = values
        for n in self.places.copied:
            env[n] = env[n].copy(order="C")
        for slot, meta in self.made:
            env[slot] = machine.empty(meta.shape, meta.dtype)
        for slot in self.pointed:
            self._point(slot, env)
        for slot, word, dtype in self.numbers:
            words.number(word, env[slot], dtype)
        words.send()
        return env

    def _point(self, slot: int, env: Env) -> None:
        start, now = self.machine.pointer(env[slot]), self.words.now
        for word, offset in self.pointing[slot]:
            now[word] = start + offset

    def _end(self, env: Env, values: Sequence[Any]) -> list[Any]:
        outs: list[Any] = [make(env) for make in self.results]
        seen: set[int] = set()
        for k, out in enumerate(outs):
            if hasattr(out, "dtype") and hasattr(out, "get"):
                if id(out) in seen:
                    outs[k] = out.copy()
                seen.add(id(out))
        for n, slot in self.back:
            values[n][...] = env[slot]
        return outs

    def _joined(self) -> list[Action]:
        """The queue with neighbouring launches joined, and the same by steps."""
        program: list[Action] = []
        self.segments: list[Task] = []
        self.by_step: list[tuple[Step | None, list[Action]]] = []
        together: list[Task] = []

        def close() -> None:
            if together:
                self.segments.append(self.machine.segment(list(together)))
                program.append(ignoring(self.segments[-1]))
                together.clear()

        for queued in self.queue:
            if queued.launch is not None:
                task = queued.launch()
                together.append(task)
                act: Action = ignoring(task)
            else:
                assert queued.act is not None
                close()
                act = queued.act
                program.append(act)
            if not self.by_step or self.by_step[-1][0] is not queued.step:
                self.by_step.append((queued.step, []))
            self.by_step[-1][1].append(act)
        close()
        return program

    def _arrays(self, values: list[Value], env: Env) -> list[Any]:
        found = dict.fromkeys(self.places[v].root for v in values if isinstance(v.meta, Meta) and not v.is_constant)
        arrays = [env[self.slots[root]] for root in found if root in self.slots]
        return [a for a in arrays if hasattr(a, "dtype") and hasattr(a, "get")]

    # ---- where values are

    def new_slot(self, value: Any = None) -> int:
        self.template.append(value)
        return len(self.template) - 1

    def slot(self, value: Value) -> int:
        """Where the array of a value stands while the plan runs, or the number that it is."""
        found = self.slots.get(value)
        if found is not None:
            return found
        if value.is_constant:
            held = value.constant
            self.slots[value] = slot = self.new_slot(self.array(value) if isinstance(held, np.ndarray) else held)
            return slot
        fixed = self.array(value)
        if fixed is not None:
            self.slots[value] = slot = self.new_slot(fixed)
            return slot
        place = self.places[value]
        assert place.root is not value, value
        root = self.slot(place.root)
        self.slots[value] = slot = self.new_slot()
        shape, dtype = value.meta.shape, value.meta.dtype
        if place.root.meta.kind != "array":  # a number among the inputs, which stands in the table
            offset = WORD * self.number_word(place.root) + place.offset
            self.do(
                lambda env: env.__setitem__(
                    slot, self.machine.view(self.words.table, offset, shape, dtype, place.strides)
                )
            )
            return slot

        def look(env: Env) -> None:
            env[slot] = self.machine.view(env[root], place.offset, shape, dtype, place.strides)

        self.queue.append(Queued(self.step, look))
        return slot

    def array(self, value: Value) -> Any:
        """The array of a value whose memory is always the same; None for others."""
        if value in self.fixed:
            return self.fixed[value]
        place, made = self.places[value], None
        root = place.root
        if root.is_constant:
            if root is value:
                held = np.asarray(value.constant)
                made = self._view(self.machine.upload(held.ravel(order="K")), 0, value)
            else:
                made = self._view(self.array(root), place.offset, value)
        elif root is value:
            home = self.placement.homes[root]
            if home.kind == "arena":
                made = self._view(self.arena, home.at, value)
        else:
            base = self.array(root)
            made = None if base is None else self._view(base, place.offset, value)
        self.fixed[value] = made
        return made

    def _view(self, base: Any, offset: int, value: Value) -> Any:
        return self.machine.view(base, offset, value.meta.shape, value.meta.dtype, self.places[value].strides)

    # ---- steps

    def do(self, act: Action) -> None:
        self.queue.append(Queued(self.step, act))

    def _step(self, step: Step) -> None:
        if step.jobs:
            self._kernels(step)
            return
        (node,) = step.nodes
        if node.loop is not None:
            self._loop(node)
        elif node.function is guard:
            check, seen = partial(checked, Operation(0, guard, node.args, (), None, ())), self.slot(node.inputs[0])
            self.do(lambda env: check([env[seen]]))
        elif node.function is full:
            target, number = self.target(node.out), node.args[1]
            self.launches += 1
            self.do(lambda env: env[target].fill(number))
        elif node.function is put:
            self._put(node)
        elif node.function is add_at:
            self._add_at(node)
        elif node.function is product:
            self._product(node)
        else:
            self._call(node)

    def _kernels(self, step: Step) -> None:
        """The kernels of a step, each with all the memory that it is run on."""
        alike: dict[Any, list[Lowered]] = {}
        for job in step.jobs:
            alike.setdefault(job.kernel, []).append(job)
        for kernel, jobs in alike.items():
            launcher = self.machine.launcher(kernel, len(jobs), title(step))
            self.compile_ns += launcher.compile_ns
            self.scratch_nbytes += launcher.nbytes
            self.launches += launcher.launches
            width = columns(kernel)
            table = self.words.reserve(width * len(jobs))
            for n, job in enumerate(jobs):
                row = table + n * width
                self.words.fix(row, kernel.grid[0] if kernel.grid else 1)
                self.words.fix(row + 1, launcher.partials[n])
                for k, operand in enumerate(job.operands):
                    self._operand(row + FIRST_ADDRESS + k, operand)
            self.queue.append(
                Queued(
                    self.step, launch=lambda launcher=launcher, table=table: launcher.bind(self.words.address(table))
                )
            )

    def _operand(self, word: int, operand: Operand) -> None:
        """Let a word be the address of an operand."""
        if operand.written:
            self.target(operand.root, operand.first)
        root = operand.root
        if root in self.placement.input_number and root.meta.kind != "array":
            first = self.number_word(root)
            self.words.fix(word, lambda: self.words.address(first) + operand.offset)
            return
        fixed = self.array(root) if root not in self.slots or root.is_constant else self.fixed.get(root)
        if fixed is not None:
            self.words.fix(word, self.machine.pointer(fixed) + operand.offset)
            return
        slot = self.slots[root]
        self.pointing.setdefault(slot, []).append((word, operand.offset))
        if slot < len(self.block.inputs) or slot in self.made_slots.values():
            self.pointed.add(slot)
        else:  # made on the way: it is told as soon as it is there
            self.do(lambda env: self._late(slot, env))

    def _late(self, slot: int, env: Env) -> None:
        self._point(slot, env)
        self.words.send()

    def number_word(self, number: Value) -> int:
        """The first word of an input that is a number."""
        first = self.number_words.get(number)
        if first is None:
            first = self.number_words[number] = self.words.reserve(-(-number.meta.dtype.itemsize // WORD))
            self.numbers.append((self.slots[number], first, number.meta.dtype))
        return first

    def target(self, value: Value, first: Value | None = None) -> int:
        """The slot of the array that a value is computed into, holding what ``first`` is already."""
        home = self.placement.homes[value]
        if home.kind == "output":
            slot = self.made_slots.get(home.at)
            if slot is None:
                slot = self.made_slots[home.at] = self.new_slot()
                self.made.append((slot, value.meta))
            self.slots[value] = slot
        elif home.kind == "donated":
            slot = self.slots[value] = home.at
        else:
            slot = self.slot(value)
        if first is not None and not self.same_memory(value, first):
            if first.maker is not None and first.maker.function is full:
                number = first.maker.args[1]
                self.do(lambda env: env[slot].fill(number))
            else:
                source = self.slot(first)

                def copy(env: Env) -> None:
                    env[slot][...] = env[source]

                self.do(copy)
        return slot

    def same_memory(self, value: Value, first: Value) -> bool:
        if first.is_constant or self.places[first].root is not first:
            return False
        mine, other = self.placement.homes[value], self.placement.homes[first]
        if mine.kind == "donated":
            return other.kind in ("input", "donated") and other.at == mine.at
        return mine.kind in ("arena", "output") and mine == other

    # ---- what is no kernel

    def arguments(self, node: Node) -> Callable[[Env], tuple[list[Any], dict[str, Any]]]:
        """What gives the arguments of a node."""
        slots = [self.slot(v) for v in node.inputs]
        args, kwargs = node.args, node.kwargs

        def given(env: Env) -> tuple[list[Any], dict[str, Any]]:
            values = [env[s] for s in slots]
            return [filled(a, values) for a in args], {name: filled(a, values) for name, a in kwargs}

        return given

    def _put(self, node: Node) -> None:
        target = self.target(node.out, node.inputs[0])
        given = self.arguments(node)

        def write(env: Env) -> None:
            (_, value, index), _ = given(env)
            env[target][index] = value

        self.do(write)

    def _add_at(self, node: Node) -> None:
        target = self.target(node.out, node.inputs[0])
        given, ufunc = self.arguments(node), dict(node.kwargs).get("ufunc", np.add)

        def add(env: Env) -> None:
            (_, index, value), _ = given(env)
            scatter(env[target], index, value, ufunc)

        self.do(add)

    def _product(self, node: Node) -> None:
        target = self.target(node.out)
        x, y = (self.slot(v) for v in node.inputs)
        _, _, alpha, *ways = node.args
        self.launches += 1
        self.do(lambda env: self.machine.product(env[target], env[x], env[y], alpha, (ways[0], ways[1])))

    def _loop(self, node: Node) -> None:
        """A loop that no kernel can do, iteration by iteration."""
        rename(node, {
            v: Value(v.meta, self.machine.upload(v.constant)) for v in arrays_in(node) if isinstance(v.constant, np.ndarray)
        })  # fmt: skip
        self.launches += calls_in(node)
        outer = sorted({v for v in inputs_of(node) if not v.is_constant and v.moving is None}, key=id)
        slots = [self.slot(v) for v in outer]
        self._keep(node, lambda env: run_in_python(node, outer, [env[s] for s in slots]))

    def _call(self, node: Node) -> None:
        """A call of one of NumPy's functions, which CuPy answers."""
        given, function = self.arguments(node), on_device(node.function)
        self.launches += 1
        if takes_out(node) and self.placement.homes[node.out].kind != "made" and function is node.function:
            target = self.target(node.out)

            def into(env: Env) -> None:
                args, kwargs = given(env)
                try:
                    function(*args, **kwargs, out=env[target])
                except REFUSALS:
                    env[target][...] = self._by_host(node, args, kwargs)

            self.do(into)
            return

        def call(env: Env) -> Any:
            args, kwargs = given(env)
            try:
                out = function(*args, **kwargs)
            except REFUSALS:
                out = self._by_host(node, args, kwargs)
            return out if node.several else (out,)

        self._keep(node, call)

    def _by_host(self, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a node gives, by NumPy: the device has no such function."""
        out = node.function(*host(args), **{name: host(value) for name, value in kwargs.items()})
        if node not in self.hosted:
            self.hosted.append(node)
        return [self.machine.upload(part) for part in out] if node.several else self.machine.upload(np.asarray(out))

    def _keep(self, node: Node, call: Callable[[Env], Sequence[Any]]) -> None:
        """Let the results of a call be the outputs of a node."""
        targets = [self._kept(v) for v in node.outputs]

        def keep(env: Env) -> None:
            for (slot, meta, copied), made in zip(targets, call(env), strict=True):
                if copied:
                    env[slot][...] = made
                else:
                    env[slot] = self._own(made, meta, env) if isinstance(meta, Meta) else made

        self.do(keep)

    def _kept(self, value: Value) -> tuple[int, Any, bool]:
        """The slot of what a call gives, and whether it has memory already, to be copied into."""
        if value in self.placement.homes and self.placement.homes[value].kind != "made":
            return self.target(value), value.meta, True
        self.slots[value] = slot = self.new_slot()
        return slot, value.meta, False

    def _own(self, made: Any, meta: Meta, env: Env) -> Any:
        """What a call has returned, in memory of its own, in C order and as the program has it."""
        if not hasattr(made, "get"):
            return self.machine.upload(np.asarray(made, meta.dtype))
        if made.dtype != meta.dtype:
            return made.astype(meta.dtype)
        memory = self.machine.memory
        others = (a for a in (self.arena, *env) if hasattr(a, "get") and hasattr(a, "dtype"))
        if made.base is None and made.flags.c_contiguous and all(memory(a) is not memory(made) for a in others):
            return made
        return made.copy(order="C")

    # ---- results

    def _result(self, value: Value) -> Action:
        """What gives a result, in memory of its own."""
        placement = self.placement
        slot = self.slot(value)
        if value.is_constant:
            return (lambda env: env[slot].copy()) if isinstance(value.constant, np.ndarray) else (lambda env: env[slot])
        home, root = placement.home(value), self.places[value].root
        if value.meta.kind != "array":
            if home.kind == "input":
                return lambda env: env[slot]
            return lambda env: env[slot].item()
        if home.kind == "donated" and root is value and placement.block.inputs[home.at] in placement.donated:
            return lambda env: env[slot]
        if root in placement.results and home.kind in ("output", "made"):
            whole, shape = self.slots[root], value.meta.shape
            return (lambda env: env[whole]) if root is value else (lambda env: env[whole].reshape(shape))
        return lambda env: env[slot].copy(order="C")


def ignoring(task: Task) -> Action:
    return lambda env: task()


def host(value: Any) -> Any:
    """An argument with arrays of the host for those of the device."""
    if type(value) in (list, tuple):
        return type(value)(map(host, value))
    return value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value


def calls_in(node: Node) -> int:
    """How many calls a loop makes."""
    assert node.loop is not None
    return node.loop.count * sum(calls_in(inner) if inner.loop is not None else 1 for inner in node.loop.nodes)


def arrays_in(node: Node) -> set[Value]:
    """The constants that a loop reads, at any depth."""
    assert node.loop is not None
    found = {v for v in inputs_of(node) if v.is_constant}
    for inner in node.loop.nodes:
        found |= arrays_in(inner) if inner.loop is not None else {v for v in inner.inputs if v.is_constant}
    return found
