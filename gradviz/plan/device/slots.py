"""Where the values of a plan stand while it runs on a device: in arrays that are always the same, or in slots that each call fills.

What kernels need to know of either is a word in the table (`gradviz.plan.device.words`): an address that is fixed, one that is told at the
beginning of a call, or one that is told on the way, when a call has made its array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.plan.device.machine import Machine, Task
from gradviz.plan.device.words import WORD, Words
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.fuse.lower import Operand
from gradviz.plan.run.place import Placement
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Value

Env = list[Any]
Action = Callable[[Env], object]


class Queued:
    """One thing that a frame does: launches, which may be joined with those before and after, or anything else."""

    __slots__ = ("act", "launch", "step")

    def __init__(self, step: Step | None, act: Action | None = None, launch: Callable[[], Task] | None = None) -> None:
        self.step, self.act, self.launch = step, act, launch


class Slots:
    """The places of all values.

    Attributes
    ----------
    template : what stands in the slots at the beginning of each call, after its inputs
    queue : what a call does, in order
    made : (slot, meta) of the results that a call makes at its beginning
    numbers : (slot, first word, dtype) of the inputs that are numbers
    pointing : slot -> (word, offset) for the words that are addresses in its array
    pointed : the slots whose arrays are there from the beginning
    """

    def __init__(self, block: Block, placement: Placement, machine: Machine) -> None:
        self.block, self.placement, self.machine = block, placement, machine
        self.places = placement.places
        self.words = Words()
        self.template: Env = [None] * len(block.inputs)
        self.slots: dict[Value, int] = {v: n for n, v in enumerate(block.inputs)}
        self.fixed: dict[Value, Any] = {}
        self.numbers: list[tuple[int, int, np.dtype[Any]]] = []
        self.number_words: dict[Value, int] = {}
        self.made: list[tuple[int, Any]] = []
        self.made_slots: dict[int, int] = {}
        self.pointing: dict[int, list[tuple[int, int]]] = {}
        self.pointed: set[int] = set()
        self.queue: list[Queued] = []
        self.arena = machine.empty((max(placement.arena_nbytes, 1),), np.uint8)
        self.step: Step | None = None

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

    def do(self, act: Action) -> None:
        self.queue.append(Queued(self.step, act))

    def operand(self, word: int, operand: Operand) -> None:
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
        self.point(slot, env)
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

    def point(self, slot: int, env: Env) -> None:
        start, now = self.machine.pointer(env[slot]), self.words.now
        for word, offset in self.pointing[slot]:
            now[word] = start + offset
