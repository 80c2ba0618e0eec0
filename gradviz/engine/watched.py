"""The reverse walk while a recorder listens: the same steps as `gradviz.engine.backward.walk`, one pullback at a time.

No name here may hold on to a cotangent while it is being added to another: whether it can be written to is decided by who refers to
it (`gradviz.engine.cotangent.owned`), and a recording must not change what is recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.cotangent import Indexed, Owned, Picked, add, own, owned, pass_on
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.record.events import Reason, State

ndarray = np.ndarray
MADE_UP = frozenset({Owned, Indexed})


def watched_walk(tape: Tape, cts: list[Any], free: bool) -> None:
    """Reverse every record from the last cotangent down to the leaves, and tell the recorder."""
    log = tape.log
    for reversed_ in range(len(cts) - 1, tape.leaves - 1, -1):
        record = log[reversed_]
        if free:
            log[reversed_] = None
        if cts[reversed_] is not None:
            reverse_record(tape, cts, reversed_, record)


def reverse_record(tape: Tape, cts: list[Any], reversed_: int, record: tuple[Any, ...]) -> None:
    """Reverse one record, whose cotangent is taken out of ``cts``."""
    recorder = tape.recorder
    ct, cts[reversed_] = cts[reversed_], None
    step = STEPS[record[0]]
    call = tape.calls.get(reversed_, -1)
    if step.plain and step.each and cts[record[1]] is None and type(ct) not in MADE_UP:
        cts[record[1]] = pulled(tape, step, 0, record[1], call, ct, record)
        return
    if type(ct) is Indexed and pass_on(step, record, ct, cts):
        return
    if type(ct) in MADE_UP:
        ct = whole(recorder, call, ct)
    if step.owns and not owned(ct):
        start = recorder.clock()
        ct = own(ct)
        recorder.accumulated(call, start, ct, Reason.FIRST_ACCUMULATION)
    if not step.active:
        return
    if step.rule is None:  # one output of several, or an opaque pull: nothing is computed for the first
        hand_on(step, record, ct, cts)
        return
    parents = (record[1],) if step.single else record[1]
    new = all_pulled(tape, step, parents, call, ct, record)
    while new:
        parent = parents[len(new) - 1]
        if cts[parent] is None:
            cts[parent] = new.pop()
        elif new[-1] is None:
            new.pop()
        else:
            accumulate(tape, cts, parent, call, new)


def all_pulled(tape: Tape, step: Step, parents: Any, call: int, ct: Any, record: tuple[Any, ...]) -> list[Any]:
    """What the pullbacks of a step give, one for each parent; only the list holds it."""
    if step.each:
        return [pulled(tape, step, k, parent, call, ct, record) for k, parent in enumerate(parents)]
    made: dict[str, Any] = {}
    for target, part in step.parts:
        reverse(tape, step, target, part, call, ct, record, made)
    if step.active[0] == step.rule.sequence:
        return list(made[step.active[0]])
    return [made[target] for target in step.active]


def pulled(tape: Tape, step: Step, k: int, parent: int, call: int, ct: Any, record: tuple[Any, ...]) -> Any:
    """Run the pullback of the k-th active input, the short way."""
    title, back = step.each[k]
    variable = -2 - parent if parent < tape.leaves else tape.calls.get(parent, -1)
    new = tape.recorder.pull(back, ct, record, call, title, variable)
    if type(new) is not ndarray and not isinstance(new, float):
        pulled_other(tape, step, call, title, variable, new, ct)
    return new


def pulled_other(tape: Tape, step: Step, call: int, title: str, variable: int, new: Any, ct: Any) -> None:
    """Tell of a pullback that gave something else than a host array or number."""
    tape.recorder.pulled_other(call, title, variable, *describe(new, ct, step.rule))


def whole(recorder: Any, call: int, ct: Any) -> Any:
    """A cotangent as one array."""
    if type(ct) is Owned:
        return ct.dense()
    start = recorder.clock()
    made = ct.dense()
    recorder.accumulated(call, start, made, Reason.INDEXED)
    return made


def hand_on(step: Step, record: tuple[Any, ...], ct: Any, cts: list[Any]) -> None:
    new = list(step.back(ct, record))
    while new:
        if new[-1] is None:
            new.pop()
        else:
            add(cts, record[1][len(new) - 1], new.pop())


def reverse(
    tape: Tape, step: Step, target: str, part: Any, call: int, ct: Any, record: tuple[Any, ...], made: dict[str, Any]
) -> None:
    """Run one pullback between two looks at the clock."""
    recorder, rule = tape.recorder, step.rule
    entered = recorder.enter_pullback(call)
    try:
        part(ct, record, made)
    except BaseException:
        recorder.abandon_pullback(entered, f"{rule.name} › {target}")
        raise
    several = rule.joint.get(target)
    targets = several or (target,)
    rows = []
    for name in targets:
        value = made.get(name)
        wanted = name in step.active
        if value is None and wanted:
            continue
        for k, item in enumerate(value) if name == rule.sequence and type(value) is list else ((0, value),):
            variable = _variable(tape, step, record, name, k) if wanted else -1
            rows.append((variable, *describe(item, ct, rule), int(wanted)))
            del item
        del value
    recorder.leave_pullback(entered, f"{rule.name} › {', '.join(targets)}", rows)


def _variable(tape: Tape, step: Step, record: tuple[Any, ...], name: str, k: int) -> int:
    """The call whose output a cotangent belongs to, or -2 - k for the k-th input of the gradient."""
    at = k if name == step.rule.sequence else step.active.index(name)
    parent = record[1] if step.single else record[1][at]
    return -2 - parent if parent < tape.leaves else tape.calls.get(parent, -1)


def describe(value: Any, ct: Any, rule: Any) -> tuple[Any, State, int, int]:
    """(array, state, bytes of the variable, bytes that are not structurally zero)."""
    if type(value) is Indexed:
        shape, dtype = value.like
        itemsize = np.dtype(dtype).itemsize
        size = itemsize
        for n in shape:
            size *= n
        return None, State.INDEXED, size, value.useful_nbytes
    if value is None or not hasattr(value, "nbytes"):
        return None, State.ZERO if value is None else State.BORROWED, 8, 8
    nbytes = useful = value.nbytes
    if rule.foreign and type(value) is np.ndarray and 16 < value.size <= 1 << 22:
        useful = int(np.count_nonzero(value)) * value.itemsize
    return value, State.BORROWED if value is ct or 0 in value.strides else State.OWNED, nbytes, useful


def accumulate(tape: Tape, cts: list[Any], parent: int, call: int, new: list[Any]) -> None:
    """Add the last of ``new`` to what arrived at a variable, and say whether that went in place."""
    old = cts[parent]
    if old is None or type(new[-1]) is Picked or type(old) is list:
        del old
        add(cts, parent, new.pop())
        return
    was, came, indexed = (
        id(old.array if type(old) is Owned else old),
        id(new[-1]),
        type(old) is Indexed or type(new[-1]) is Indexed,
    )
    del old
    recorder = tape.recorder
    start = recorder.clock()
    add(cts, parent, new.pop())
    now = cts[parent]
    if type(now) is Owned:
        now = now.array
    if getattr(now, "shape", ()) == ():
        fresh = None
        now = None
    else:
        fresh = None if id(now) in (was, came) else Reason.INDEXED if indexed else Reason.FIRST_ACCUMULATION
    target = tape.calls.get(parent, call)
    recorder.accumulated(target if target >= 0 else call, start, now, fresh)
