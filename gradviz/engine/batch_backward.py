"""The reverse walk with many cotangents at once: the steps of `gradviz.engine.backward.walk`, each for all rows of a batch."""

from __future__ import annotations

from typing import Any

import gradviz.engine.batch_functions  # noqa: F401 - teaches batches what NumPy's functions do
from gradviz.engine.array import Array
from gradviz.engine.batch import Batch, NotBatchedError, as_batch, joined
from gradviz.engine.cotangent import Indexed, Owned, Picked, add, pass_on
from gradviz.engine.step import STEPS, Step


def walk_batch(log: list[Any], cts: list[Any], leaves: int, count: int) -> None:
    """Reverse every record from the last cotangent down to the leaves, for ``count`` rows."""
    for number in range(len(cts) - 1, leaves - 1, -1):
        ct, cts[number] = cts[number], None
        if ct is None:
            continue
        record = log[number]
        step = STEPS[record[0]]
        if type(ct) is Indexed and pass_on(step, record, ct, cts):
            continue
        if type(ct) is Indexed or type(ct) is Owned:
            ct = ct.dense()
        if step.active:
            made = pulled(step, ct, record, count)
            parents = (record[1],) if step.single else record[1]
            while made:
                if made[-1] is None:
                    made.pop()
                else:
                    add(cts, parents[len(made) - 1], made.pop())


def pulled(step: Step, ct: Any, record: tuple[Any, ...], count: int) -> list[Any]:
    """What the pullbacks of a step give; row by row where they cannot take a batch."""
    try:
        made = step.back(ct.copy() if step.owns else ct, record)
    except Exception:  # noqa: BLE001 - whatever it is, single rows show whether it is the program's fault
        rows = [step.back(row(ct, k), record) for k in range(count)]
        return [put_together(list(items)) for items in zip(*([r] if step.single else r for r in rows), strict=True)]
    return [spread(item, count) for item in ([made] if step.single else made)]


def row(ct: Any, k: int) -> Any:
    """The cotangent of one row, in memory of its own."""
    if type(ct) in (list, tuple):
        return type(ct)(row(item, k) for item in ct)
    return ct.rows[k].copy() if isinstance(ct, Batch) else ct


def put_together(items: list[Any]) -> Any:
    """One cotangent of the same variable for each row, as one of all rows."""
    first = items[0]
    if first is None:
        return None
    if type(first) is Indexed:
        return with_values(first, [joined([item.parts[k][1] for item in items]) for k in range(len(first.parts))])
    if type(first) is Picked:
        return Picked(first.k, first.count, put_together([item.value for item in items]))
    return joined(items)


def spread(item: Any, count: int) -> Any:
    """A cotangent as one of all rows, also where it depends on none of them."""
    if type(item) is Indexed:
        return with_values(item, [as_batch(value, count) for _, value in item.parts])
    if type(item) is Picked:
        return Picked(item.k, item.count, spread(item.value, count))
    if type(item) is list:
        return [spread(part, count) for part in item]
    if isinstance(item, Array):
        raise NotBatchedError
    return as_batch(item, count)


def with_values(indexed: Indexed, values: list[Any]) -> Indexed:
    made = Indexed.__new__(Indexed)
    made.like = indexed.like
    made.parts = [(views, value) for (views, _), value in zip(indexed.parts, values, strict=True)]
    return made
