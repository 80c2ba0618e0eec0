"""The reverse walk: from the cotangent of the result to those of the inputs, one record at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.cotangent import Indexed, Owned, add, add_part, own, pass_on
from gradviz.engine.step import STEPS
from gradviz.engine.tape import Tape
from gradviz.engine.watched import watched_walk

ndarray = np.ndarray


def backward(tape: Tape, seeds: list[tuple[int, Any]], free: bool) -> list[Any]:
    """Cotangents of the tape's leaves, None where nothing arrived.

    Parameters
    ----------
    seeds : variables of the result with the cotangents they start from
    free : drop each record as it is passed, so that saved memory shrinks while cotangents grow
    """
    cts: list[Any] = [None] * max(tape.leaves, *(variable + 1 for variable, _ in seeds), 0)
    while seeds:
        add(cts, *seeds.pop())
    with np.errstate(all="ignore"):
        if tape.recorder is not None:
            watched_walk(tape, cts, free)
        else:
            walk(tape.log, cts, tape.leaves, free)
    return cts


def walk(log: list[Any], cts: list[Any], leaves: int, free: bool) -> None:
    """Reverse every record from the last cotangent down to the leaves."""
    steps = STEPS
    if free:
        del log[len(cts) :]
    records = log if free else log[: len(cts)]
    take_ct, take_record = cts.pop, records.pop
    for _ in range(len(cts) - leaves):
        ct = take_ct()
        record = take_record()
        if ct is None:
            continue
        step = steps[record[0]]
        kind = type(ct)
        if kind is not ndarray and (kind is Owned or kind is Indexed):
            if kind is Indexed and pass_on(step, record, ct, cts):
                continue
            ct = ct.dense()
        if step.plain:
            parent = record[1]
            if cts[parent] is None:
                cts[parent] = step.back(ct, record)
            else:
                add(cts, parent, step.back(ct, record))
            continue
        if step.single:
            reverse_single(step, own(ct) if step.owns else ct, record, cts)
        elif step.active:
            if step.owns:
                ct = own(ct)
            new, parents = list(step.back(ct, record)), record[1]
            while new:
                if new[-1] is None:
                    new.pop()
                else:
                    add(cts, parents[len(new) - 1], new.pop())


def reverse_single(step: Any, ct: Any, record: tuple[Any, ...], cts: list[Any]) -> None:
    """Reverse a record with one parent; a view adds straight into its parent's cotangent if that is ours."""
    parent = record[1]
    if step.view and type(cts[parent]) is Owned:
        cts[parent].array = add_part(cts[parent].array, ((step.rule, record[2]),), ct)
    else:
        add(cts, parent, step.back(ct, record))
