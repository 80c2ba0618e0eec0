"""The reverse walk: from the cotangent of the result to those of the inputs, one record at a time.

The two walks, this one and that of watched.py, exist compiled as well, in backward.c.
"""

from __future__ import annotations

from operator import getitem
from types import NoneType
from typing import Any

import numpy as np

from gradviz.compiled import compiled
from gradviz.engine.batch import Batch
from gradviz.engine.batch_backward import walk_batch
from gradviz.engine.constants import check_kept
from gradviz.engine.cotangent import Indexed, Owned, add, add_part, own, pass_on
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.engine.watched import accumulate, pulled_other, reverse_record, watched_walk

ndarray = np.ndarray
NUMBERS = {np.float64}  # plans add theirs
NUMBERS_OR_NONE = {np.float64, NoneType}


def backward(tape: Tape, seeds: list[tuple[int, Any]], free: bool) -> list[Any]:
    """Cotangents of the tape's leaves, None where nothing arrived.

    Parameters
    ----------
    seeds : variables of the result with the cotangents they start from
    free : drop each record as it is passed, so that saved memory shrinks while cotangents grow
    """
    if tape.kept:
        check_kept(tape, seeds)
    cts: list[Any] = [None] * max(tape.leaves, *(variable + 1 for variable, _ in seeds), 0)
    count = 0
    while seeds:
        if type(seeds[-1][1]) is Batch:
            count = seeds[-1][1].count
        add(cts, *seeds.pop())
    with np.errstate(all="ignore"):
        if count:
            walk_batch(tape.log, cts, tape.leaves, count)
        elif tape.recorder is not None:
            WATCHED_WALK(tape, cts, free)
        else:
            WALK(tape.log, cts, tape.leaves, free)
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
            elif step.view:
                reverse_single(step, ct, record, cts)
            else:
                add(cts, parent, step.back(ct, record))
            continue
        if step.single:
            reverse_single(step, own(ct) if step.owns else ct, record, cts)
        elif step.active:
            if step.owns:
                ct = own(ct)
            made = list(step.back(ct, record))
            if type(made[0]) in NUMBERS:
                add_numbers(cts, record[1], made)
            else:
                hand_out(cts, record[1], made)


def add_numbers(cts: list[Any], parents: tuple[int, ...], made: list[Any]) -> None:
    """As `hand_out`, where at least the first cotangent is a number: nobody can share one, so it is simply added."""
    for parent in reversed(parents):
        if type(made[-1]) not in NUMBERS or type(cts[parent]) not in NUMBERS_OR_NONE:
            hand_out(cts, parents[: len(made)], made)
            return
        new, old = made.pop(), cts[parent]
        cts[parent] = new if old is None else old + new


def hand_out(cts: list[Any], parents: tuple[int, ...], made: list[Any]) -> None:
    """Add the cotangents of several parents; each leaves the list as it is added, so that nothing else refers to it."""
    while made:
        if made[-1] is None:
            made.pop()
        else:
            add(cts, parents[len(made) - 1], made.pop())


def reverse_single(step: Any, ct: Any, record: tuple[Any, ...], cts: list[Any]) -> None:
    """Reverse a record with one parent; a view adds straight into its parent's cotangent if that is ours."""
    parent = record[1]
    if step.view and type(cts[parent]) is Owned:
        if step.rule.function is getitem and type(record[4]) is int:
            cts[parent].array[record[4]] += ct
            return
        cts[parent].array = add_part(cts[parent].array, ((step.rule, record[2]),), ct)
    else:
        add(cts, parent, step.back(ct, record))


core = compiled(__name__)
if core is not None:
    core.know(
        STEPS, Step, Tape, Owned, Indexed, pass_on, own, hand_out, reverse_single, reverse_record, pulled_other, accumulate
    )  # fmt: skip
WALK, WATCHED_WALK = (walk, watched_walk) if core is None else (core.walk, core.watched_walk)
