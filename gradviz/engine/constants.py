"""Plain arrays that pullbacks keep: they are the program's own, and it may change them before the gradient is taken.

Nobody tells us when it does. A small array is therefore copied when it is kept, which costs less than anything else would. Of a
larger one a few entries are noted, and looked at again when the reverse pass begins: where they differ, a gradient that needs the
array would be wrong, and is refused. Under ``gv.profile(check="constants")`` every byte is compared.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.engine.step import STEPS
from gradviz.errors import ChangedArrayError
from gradviz.record.source import user_line

if TYPE_CHECKING:
    from gradviz.engine.tape import Tape

ndarray = np.ndarray
COPIED_NBYTES = 1 << 10  # up to here a copy takes about 0.1 µs
SAMPLES = 61  # a prime, so that the entries looked at lie in many columns


class Kept:
    """One array as it was when pullbacks kept it."""

    __slots__ = ("array", "print", "records", "where")

    def __init__(self, array: ndarray, print_: bytes, where: str) -> None:
        self.array = weakref.ref(array)  # it lives as long as a record holds it
        self.print, self.where = print_, where
        self.records: list[int] = []


def keep(tape: Tape, given: Any, value: Any) -> Any:
    """What a record may hold of an argument: of a plain array that is `given`, a copy or the array itself, noted."""
    if type(given) is ndarray:
        if given.nbytes <= COPIED_NBYTES:
            return copied(value)
        if type(value) is ndarray:
            note(tape, value)
    elif type(given) in (list, tuple) and type(value) is type(given):
        return type(value)(keep(tape, g, v) for g, v in zip(given, value, strict=True))
    return value


LISTENERS: list[Any] = []  # told of each copy, and of what it is one: a plan has to know whose array it was


def copied(array: ndarray) -> ndarray:
    """A copy of a program's own array, which it may go on to change."""
    made = array.copy(order="K")
    for tell in LISTENERS:
        tell(array, made)
    return made


def note(tape: Tape, array: ndarray) -> None:
    """Remember what an array holds, for the record that is about to be written."""
    recorder = tape.recorder
    now = fingerprint(array, recorder is not None and recorder.recording.check == "constants")
    states = tape.kept.setdefault(id(array), [])
    if not states or states[-1].print != now or states[-1].array() is not array:
        states.append(Kept(array, now, "" if recorder is None else user_line()))
    states[-1].records.append(len(tape.log))


def fingerprint(array: ndarray, whole: bool) -> bytes:
    """Some entries of an array as bytes, or a digest of all of them."""
    if whole:
        return hashlib.blake2b(array.tobytes(order="A"), digest_size=16).digest()
    flat = array.ravel("K") if array.flags.forc else array.flat
    return flat[:: array.size // SAMPLES + 1].tobytes()


def check_kept(tape: Tape, seeds: list[tuple[int, Any]]) -> None:
    """Refuse a reverse pass that would read a plain array which has changed since it was kept."""
    whole = tape.recorder is not None and tape.recorder.recording.check == "constants"
    changed = [
        state
        for states in tape.kept.values()
        for state in states
        if (array := state.array()) is not None and fingerprint(array, whole) != state.print
    ]
    if not changed:
        return
    reached = reachable(tape.log, [variable for variable, _ in seeds])
    for state in changed:
        record = next((tape.log[r] for r in state.records if r in reached), None)
        if record is not None:
            name = getattr(STEPS[record[0]].rule, "name", "gv.checkpoint")
            raise ChangedArrayError(
                f"A plain array of shape {np.shape(state.array())} that {name} keeps for its pullback"
                f"{f' ({state.where})' if state.where else ''} was changed in place before the gradient was taken, which would make "
                f"the gradient wrong. Change a copy of it, or make it with gradviz.numpy.array, of which gradviz sees every write."
                + ("" if state.where else " gv.profile() names the line.")
            )


def reachable(log: list[Any], ends: list[int]) -> set[int]:
    """The records that cotangents of some variables can come to."""
    reached = set(ends)
    for variable in range(max(reached, default=-1), -1, -1):
        if variable in reached and log[variable] is not None and len(log[variable]) > 1:
            parents = log[variable][1]
            reached.update(parents if type(parents) is tuple else (parents,))
    return reached
