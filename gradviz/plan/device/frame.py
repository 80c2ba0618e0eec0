"""How a plan runs on a device: steps that were prepared once, each queued without a wait.

Memory is an arena that every call uses again, and results that every call makes. All that a launch needs to know stands in a table on
the device, so launches that follow each other are one segment, which a GPU may keep as a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.plan.device.machine import Machine, Task
from gradviz.plan.device.slots import Action, Env
from gradviz.plan.device.steps import Steps
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.program.operation import Meta
from gradviz.plan.run.place import Placement
from gradviz.plan.run.run import title
from gradviz.plan.simplify.block import Block, Value, inputs_of


class DeviceFrame(Steps):
    """The memory of one call of a plan on a device, and what it does.

    Attributes
    ----------
    segments : the launches that follow each other
    stream : that of the last call
    """

    def __init__(self, block: Block, steps: list[Step], placement: Placement, machine: Machine) -> None:
        super().__init__(block, steps, placement, machine)
        self.stream: Any = None
        self.results = [self._result(v) for v in placement.handed]
        self.back = [(n, self.slot(placement.written[n])) for n in placement.copied_back()]
        self.words.settle(machine)
        self.segments: list[Task] = []
        self.program = self._joined()

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
            self.point(slot, env)
        for slot, word, dtype in self.numbers:
            words.number(word, env[slot], dtype)
        words.send()
        return env

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
