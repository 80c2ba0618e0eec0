"""All turns of a loop as one step of a table, where nothing in them needs Python.

The cells of the table are the inputs of the inside: of what moves, the address moves on by a stride after each turn. Numbers that are
handed on, taken from arrays or kept are copied to and from where the inside expects them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.plan.capture.overlap import address
from gradviz.plan.run import entry
from gradviz.plan.run.inside import Entry, Inside, is_array
from gradviz.plan.run.table import FIXED, LOOP, Spot, Table
from gradviz.plan.simplify.block import Value


class NeedsPythonError(Exception):
    """A turn cannot be taken without Python."""


class TurnsTable:
    """What takes all turns.

    Attributes
    ----------
    offsets : where the first entry lies in each array that moves, in bytes
    states : for each number that is handed on where the inside reads it, and for each array None
    lasts : for each result that is a number of the last turn where it is found, for others None
    """

    def __init__(self, inside: Inside, frame: Any, count: int, indices: list[Any]) -> None:
        self.frame = frame
        self.inputs = frame.block.inputs
        self.results = frame.block.results
        self.before, self.after = Table(len(self.inputs)), Table(len(self.inputs))
        self.before.cells = self.after.cells = frame.writer.table.cells
        self.moves: list[tuple[int, int]] = []
        carried_at, moving_at = len(inside.outer), len(inside.outer) + len(inside.carried)
        for v in inside.outer:
            if not is_array(v):
                raise NeedsPythonError
        self.offsets = [
            self.moving(moving_at + k, what, found)
            for k, (what, found) in enumerate(zip(inside.moving, indices, strict=True))
        ]
        kept_at = moving_at + len(inside.moving)
        self.lasts = [self.kept(inside, k, kept_at) for k in range(len(inside.kept))]
        self.states = [self.handed_on(carried_at + n, self.results[n]) for n in range(len(inside.carried))]
        steps = [*self.before.steps, *frame.writer.table.steps, *self.after.steps]
        self.run = entry.direct.Steps([0] * self.before.cells, [], [(LOOP, (count, steps, self.moves))], frame)

    def fixed(self, value: Value) -> Any:
        """The memory of a number, which must always be the same."""
        found = self.frame.array(value)
        if found is None or found.dtype != value.meta.dtype:
            raise NeedsPythonError
        return found

    def spot(self, value: Value) -> Spot:
        return Spot(FIXED, address(self.fixed(value)))

    def moving(self, n: int, what: Entry | Value, indices: Any) -> int:
        """Let the address of an entry move on; a number is copied from there."""
        if isinstance(what, Value) or indices is None:
            raise NeedsPythonError
        offset, stride = steps_through(what, indices)
        self.moves.append((n, stride))
        if what.meta.kind != "array":
            if what.meta.dtype != what.array.meta.dtype:
                raise NeedsPythonError
            self.before.copy(self.spot(self.inputs[n]), Spot(n, 0), what.meta.nbytes)
        return offset

    def kept(self, inside: Inside, k: int, kept_at: int) -> Any:
        """Let what is kept of each turn go to a row of its own; gives where a number of the last turn is found."""
        number, many = inside.kept[k]
        value, made = self.results[number], inside.node.outputs[k].meta
        if number < len(inside.carried) and is_array(value):
            return None
        if not is_array(value):
            if not many:
                return self.fixed(value)
            if made.dtype != value.meta.dtype:
                raise NeedsPythonError
            cell = self.before.cell()
            self.after.copy(Spot(cell, 0), self.spot(value), value.meta.nbytes)
            self.moves.append((cell, value.meta.nbytes))
        elif many:
            before = sum(is_array(self.results[other]) for other, _ in inside.kept[:k] if other >= len(inside.carried))
            self.moves.append((kept_at + before, value.meta.nbytes))
        return None

    def handed_on(self, n: int, value: Value) -> Any:
        """Copy a number that is handed on; gives where the first one goes."""
        inside = self.inputs[n]
        if is_array(inside):
            return None
        if value is not inside:
            if value in self.inputs or value.meta.dtype != inside.meta.dtype:
                raise NeedsPythonError  # it may have been handed on itself by then
            self.after.copy(self.spot(inside), self.spot(value), value.meta.nbytes)
        return self.fixed(inside)


def steps_through(what: Entry, indices: list[Any]) -> tuple[int, int]:
    """Where the first entry lies in an array in C order, and how far it is to the next, in bytes."""
    for v in what.integers:
        if v.moving is not None and (v.moving[3] is not None or crosses_zero(v, len(indices))):
            raise NeedsPythonError
    array = np.empty(what.array.meta.shape, what.array.meta.dtype)
    first, second = (
        address(array[(*(index if type(index) is tuple else (index,)), ...)]) - address(array)
        for index in (indices[0], indices[1])
    )
    return first, second - first


def crosses_zero(integer: Value, count: int) -> bool:
    """Whether a moving integer counts from the front of an array at first and from its end later, or the other way round."""
    assert integer.moving is not None
    _, first, step, _ = integer.moving
    return (first.constant < 0) != (first.constant + step * (count - 1) < 0)


def table_of(inside: Inside, frame: Any, count: int, indices: list[Any]) -> TurnsTable | None:
    """All turns as one step; None where Python is needed."""
    if entry.direct is None or count < 2 or not frame.writer.table.whole or frame.writer.table.made:
        return None
    try:
        return TurnsTable(inside, frame, count, indices)
    except NeedsPythonError:
        return None
