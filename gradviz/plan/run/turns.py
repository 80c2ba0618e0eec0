"""How a loop that no kernel can do takes its turns: its inside is run once for each iteration, on memory that stays where it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from gradviz.plan.capture.overlap import address
from gradviz.plan.program.operation import filled
from gradviz.plan.run.inside import Entry, Inside, is_array, reads, start
from gradviz.plan.run.turns_table import TurnsTable, table_of
from gradviz.plan.simplify.block import Value

ndarray = np.ndarray


class Turns:
    """Runs the inside of a loop.

    Attributes
    ----------
    reads : what it has to be given from outside
    nbytes : what it holds besides the memory of the inside: what is handed on
    """

    def __init__(self, inside: Inside, frame: Any) -> None:
        assert inside.node.loop is not None
        self.inside, self.frame, self.count = inside, frame, inside.node.loop.count
        self.reads = reads(inside)
        self.buffers = [
            np.empty(c.inside.meta.shape, c.inside.meta.dtype) if is_array(c.inside) else None for c in inside.carried
        ]
        self.nbytes = sum(b.nbytes for b in self.buffers if b is not None)
        self.written = set(inside.written.values())
        handed = [k for k in range(len(frame.block.results)) if k not in self.written]
        place = {k: n for n, k in enumerate(handed)}
        self.handed_on = [(n, place[n]) for n, buffer in enumerate(self.buffers) if buffer is None]
        self.finals = [(n, k) for n, (k, _) in enumerate(inside.kept) if k < len(self.buffers)]
        self.stacked = [
            (n, many) for n, (k, many) in enumerate(inside.kept) if k in self.written and k >= len(self.buffers)
        ]
        self.numbers = [(n, place[k], many) for n, (k, many) in enumerate(inside.kept) if k in place]
        self.indices = [self.indices_of(what, {}) if self.is_known(what) else None for what in inside.moving]
        self.table = table_of(inside, frame, self.count, self.indices)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results of the loop, in memory of their own."""
        inside, env = self.inside, dict(zip(self.reads, values, strict=True))
        fixed = [settled(look(v, env), layout) for v, layout in zip(inside.outer, inside.layouts, strict=False)]
        state = [look(c.first, env) for c in inside.carried]
        for n, buffer in enumerate(self.buffers):
            if buffer is not None:
                buffer[...] = state[n]
                state[n] = buffer
        made = [self.room(v, *kept) for v, kept in zip(inside.node.outputs, inside.kept, strict=True)]
        if self.table is not None:
            self.directly(self.table, fixed, state, made, env)
        else:
            self.by_python(fixed, state, made, env)
        for n, k in self.finals:
            made[n] = state[k].copy()
        return made

    def directly(
        self, table: TurnsTable, fixed: list[Any], state: list[Any], made: list[Any], env: dict[Value, Any]
    ) -> None:
        """All turns without Python."""
        for n, place in enumerate(table.states):
            if place is not None:
                place[()] = state[n]
                state[n] = place
        arrays = [settled(look(what.array, env), "C") for what in self.inside.moving if isinstance(what, Entry)]
        moving = [address(array) + offset for array, offset in zip(arrays, table.offsets, strict=True)]
        stacks = [made[n] for n, _ in self.stacked]
        stacks += [made[k] for k, _, many in self.numbers if many]
        table.run(*map(address, fixed), *map(address, state), *moving, *map(address, stacks))
        for k, place in enumerate(table.lasts):
            if place is not None:
                value = place[()]
                made[k] = value.item() if self.inside.node.outputs[k].meta.kind == "weak" else value

    def by_python(self, fixed: list[Any], state: list[Any], made: list[Any], env: dict[Value, Any]) -> None:
        """Turn by turn."""
        inside = self.inside
        columns = [self.column(what, indices, env) for what, indices in zip(inside.moving, self.indices, strict=True)]
        columns += [rows(made[n]) if many else repeat(made[n], self.count) for n, many in self.stacked]
        run, handed_on, numbers = self.frame.run, self.handed_on, self.numbers
        for turn, moves in enumerate(zip(*columns, strict=True) if columns else repeat((), self.count)):
            outs = run([*fixed, *state, *moves])
            for n, place in handed_on:
                state[n] = outs[place]
            for n, place, many in numbers:
                if many:
                    made[n][turn] = outs[place]
                else:
                    made[n] = outs[place]

    def room(self, value: Value, number: int, many: bool) -> Any:
        """Memory for a result of the loop; None for a number of the last iteration, and for what was handed on at last."""
        if not many and (not is_array(value) or number < len(self.buffers)):
            return None
        return np.empty(value.meta.shape, value.meta.dtype)

    def is_known(self, what: Entry | Value) -> bool:
        return all(start(v).is_constant for v in (what.integers if isinstance(what, Entry) else (what,)))

    def indices_of(self, what: Entry | Value, env: dict[Value, Any]) -> list[Any]:
        """The integers that something moves through, or the indices made of several."""
        if isinstance(what, Value):
            return self.integers(what, env)
        columns = [self.integers(v, env) for v in what.integers]
        return [filled(what.index, [None, *integers]) for integers in zip(*columns, strict=True)]

    def integers(self, value: Value, env: dict[Value, Any]) -> list[int]:
        if value.moving is None:
            return [look(value, env)] * self.count
        _, first, step, listed = value.moving
        if listed is not None:
            return np.asarray(listed)[: self.count].tolist()
        first = look(first, env)
        return [first + step * turn for turn in range(self.count)]

    def column(self, what: Entry | Value, indices: list[Any] | None, env: dict[Value, Any]) -> Iterable[Any]:
        """What something that moves is in each iteration."""
        indices = self.indices_of(what, env) if indices is None else indices
        if isinstance(what, Value):
            return indices
        array = settled(look(what.array, env), "C")
        entries = [what.function(array, index) for index in indices]
        # one entry of an array is a number to NumPy, also where the program had an array without axes
        return (
            [np.asarray(entry) for entry in entries] if what.meta.kind == "array" and not what.meta.shape else entries
        )


def look(value: Value, env: dict[Value, Any]) -> Any:
    return value.constant if value.is_constant else env[value]


def settled(array: Any, layout: str) -> Any:
    """An array whose entries follow each other as they should."""
    if type(array) is not ndarray or (array.flags.c_contiguous if layout == "C" else array.flags.f_contiguous):
        return array
    return np.array(array, order="C" if layout == "C" else "F")


def rows(stack: ndarray) -> Iterable[ndarray]:
    """The rows of a stack, which can be written."""
    return stack if stack.ndim > 1 else [stack[k : k + 1].reshape(()) for k in range(len(stack))]
