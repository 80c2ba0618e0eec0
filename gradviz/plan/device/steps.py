"""The steps of a plan as a device does them: launches, products, and calls that CuPy answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradviz.plan.device.calls import REFUSALS, on_device, scatter
from gradviz.plan.device.loops import run_in_python
from gradviz.plan.device.machine import Machine
from gradviz.plan.device.slots import Env, Queued, Slots
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.fuse.lower import Lowered
from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.program.operation import Meta, Operation, add_at, filled, guard, put
from gradviz.plan.program.program import checked
from gradviz.plan.run.place import Placement, takes_out
from gradviz.plan.run.run import title
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Node, Value, inputs_of, rename
from gradviz.plan.simplify.products import product


class Steps(Slots):
    """The queue of a plan, written step by step.

    Attributes
    ----------
    launches : how many kernels, products and calls a call queues
    hosted : nodes that the device refused, which are computed on the host at each call
    """

    def __init__(self, block: Block, steps: list[Step], placement: Placement, machine: Machine) -> None:
        super().__init__(block, placement, machine)
        self.hosted: list[Node] = []
        self.compile_ns = self.scratch_nbytes = self.launches = 0
        for step in steps:
            self.step = step
            self._step(step)
        self.step = None

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
                    self.operand(row + FIRST_ADDRESS + k, operand)
            self.queue.append(
                Queued(
                    self.step, launch=lambda launcher=launcher, table=table: launcher.bind(self.words.address(table))
                )
            )

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
