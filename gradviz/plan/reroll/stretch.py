"""What a stretch of rows with a period is, and what each operand in it does from iteration to iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.program.operation import Meta, Operation, Slot, meta_of, take, take_number
from gradviz.plan.program.program import Program

MIN_COUNT = 8  # iterations; fewer are as well left written out
MOST_GATHERED_NBYTES = 2048  # of each of many arrays that are put into one


class Stretch(NamedTuple):
    """Rows with a period, in which every operand follows a rule."""

    first: int
    period: int
    count: int
    columns: list[list[tuple[str, Any]]]  # for each row of an iteration, for each operand

    @property
    def end(self) -> int:
        return self.first + self.period * self.count


class Column(NamedTuple):
    """One number for each iteration."""

    numbers: np.ndarray
    meta: Meta


class Entry(NamedTuple):
    """One entry of an array for each iteration; the positions are an integer column."""

    code: int
    source: int
    kind: str
    positions: Any


class Gathered(NamedTuple):
    """Values that stand apart, one for each iteration."""

    numbers: tuple[int, ...]
    meta: Meta


def sort(kind: str, data: Any) -> Any:
    """What a column says without its numbers."""
    match kind:
        case "local":
            return kind, data
        case "count":
            return kind, data[1]
        case "carried":
            return kind, data[0], len(data[1])
        case "constants" | "gathered":
            return kind, data.meta
        case "entry":
            return kind, data.code, sort(data.kind, data.positions)
    return kind


def told(data: Any) -> Any:
    """What a column says, in a form that can be looked up."""
    if isinstance(data, Column):
        return data.numbers.tobytes(), data.meta
    if isinstance(data, Entry):
        return data._replace(positions=told(data.positions))
    return (data.tobytes(), data.dtype) if isinstance(data, np.ndarray) else data


# ---- finding out


def columns_of(program: Program, numbers: np.ndarray, first: int, period: int, count: int, gather: bool) -> Any:
    """What each operand does from iteration to iteration; None if one follows no rule."""
    rows = program.rows
    lo, hi = rows.starts[first], rows.starts[first + period * count]
    values, plain = numbers[lo:hi].reshape(count, -1), rows.operands[lo:hi].reshape(count, -1)
    ends = (rows.starts[first : first + period + 1] - lo).tolist()
    columns: list[list[tuple[str, Any]]] = []
    for j in range(period):
        integers = program.operations[int(rows.codes[first + j])].integers
        columns.append([])
        for k, c in enumerate(range(ends[j], ends[j + 1])):
            column = (
                integer_column(plain[:, c])
                if integers[k]
                else value_column(program, values[:, c], first, period, gather)
            )
            if column is None:
                return None
            columns[-1].append(column)
    kinds = [column for row in columns for column in row]
    if any(kind == "gathered" and data.meta.kind == "array" for kind, data in kinds) and not recurs(columns):
        return None  # as well done side by side, where the arrays are
    return columns


def recurs(columns: list[list[tuple[str, Any]]]) -> bool:
    """Whether an iteration needs the one before: a value that is handed on depends on itself."""
    reads = [{d if kind == "local" else d[0] for kind, d in row if kind in ("local", "carried")} for row in columns]
    left = set(range(len(reads)))
    while free := {j for j in left if not reads[j] & left}:
        left -= free
    return bool(left)


def integer_column(values: np.ndarray) -> tuple[str, Any]:
    step = int(values[1] - values[0])
    if (np.diff(values) == step).all():
        return "count", (int(values[0]), step)
    return "listed", values


def value_column(program: Program, values: np.ndarray, first: int, period: int, gather: bool) -> tuple[str, Any] | None:
    start = int(values[0])
    if values[-1] == start and (values == start).all():
        return "same", start
    if values[-1] < 0:
        return constant_column(program, values) if (values < 0).all() else None
    steady = int(values[-1]) - first - period * (len(values) - 1)
    back = -(steady // period)  # iterations between making and reading
    if values[-1] < first:
        return outside_column(program, values, first, gather) if values.min() >= 0 else None
    if back >= MIN_COUNT:
        return None
    moving = first + steady + period * np.arange(max(back, 0), len(values))
    if not (values[max(back, 0) :] == moving).all():
        return None
    if back <= 0:
        return "local", steady
    slot = steady % period
    inits = tuple(int(v) for v in values[:back])
    meta = program.meta(first + slot)
    if not isinstance(meta, Meta) or any(program.meta(v) != meta for v in inits) or max(inits) >= first:
        return None
    return "carried", (slot, inits)


def outside_column(program: Program, values: np.ndarray, first: int, gather: bool) -> tuple[str, Any] | None:
    """Another value from before the loop in each iteration: entries of one array, or values few enough to be put into one."""
    if values.max() >= first:
        return None
    rows = program.rows
    codes = np.unique(rows.codes[values]) if values.min() >= len(program.inputs) else ()
    if len(codes) == 1 and is_entry(program.operations[int(codes[0])]):
        starts = rows.starts[values]
        sources = np.unique(rows.operands[starts])
        if len(sources) == 1:
            return "entry", Entry(int(codes[0]), int(sources[0]), *integer_column(rows.operands[starts + 1]))
    if not gather:
        return None
    metas = {program.meta(int(v)) for v in np.unique(values)}
    meta = metas.pop()
    if metas or not isinstance(meta, Meta) or (meta.kind == "array" and meta.nbytes > MOST_GATHERED_NBYTES):
        return None
    return "gathered", Gathered(tuple(values.tolist()), meta)


def constant_column(program: Program, values: np.ndarray) -> tuple[str, Any] | None:
    """Another number in each iteration, all of one kind."""
    numbers = [program.constants[-1 - v] for v in values.tolist()]
    metas = {meta_of(n) for n in numbers}
    meta = metas.pop()
    return None if metas or meta.kind == "array" else ("constants", Column(np.array(numbers), meta))


def is_entry(operation: Operation) -> bool:
    """Whether it takes one entry along the first axis."""
    return operation.function in (take, take_number) and operation.args == (Slot(0), Slot(1, True))
