"""Which arguments of a loop of unknown length are kept within a budget, and how the others are computed again.

Each call of a checkpointed function needs its arguments once more, when it is reversed. While they fit into the budget all are kept.
Then some go, by the rule of Wang, Moin and Iaccarino (Minimal repetition dynamic checkpointing algorithm for unsteady adjoint
calculation, SIAM J. Sci. Comput. 31, 2009): kept arguments have levels; those that stand before others of a higher level may go, and
if there are none, the newest takes the place of the one before it, one level higher. Whatever the length turns out to be, no
call is then repeated more often than with the best choice for that length. Where several may go, it is the one that costs the least time
per byte to compute again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradviz.engine.memory import arrays_in, memory_of
from gradviz.engine.tape import Tape
from gradviz.errors import GradvizError
from gradviz.transforms.gradient import Run
from gradviz.transforms.random_states import States, put_back, random_states, same
from gradviz.transforms.trees import flatten

ENTRY_NBYTES = 2500  # what a call costs besides arrays: its record, its place here, the function that runs it again


class Entry:
    """One call of a loop: how to run it again, and its arguments, unless they were given up."""

    __slots__ = (
        "again",
        "follows",
        "held",
        "level",
        "nbytes",
        "number",
        "parents",
        "seconds",
        "sources",
        "states",
        "variable",
    )

    def __init__(self, again: Callable[..., Any], held: list[Any], states: States, parents: list[int]) -> None:
        self.again, self.held, self.states, self.parents = again, held, states, parents
        self.number = self.variable = -1
        self.level = 0
        self.nbytes = 0
        self.seconds = 0.0
        self.sources: list[int] = []  # for each argument: which output of the call before it is, -1 for none
        self.follows = False  # it can be computed from the call before


def run_once(
    f: Callable[..., Any], values: list[Any], look: Callable[[Run, list[Any]], None] | None = None
) -> tuple[list[Any], Any]:
    """The outputs as leaves and structure. The tape that makes writes safe is dropped at once, when `look` has seen it."""
    run = Run(f, tuple(values), tuple(range(len(values))))
    try:
        outs, structure = flatten(f(*run.args))
        lowered = [run.lower(out) for out in outs]
        if look is not None:
            look(run, lowered)
        return lowered, structure
    finally:
        run.tape.close()


def own_nbytes(tape: Tape, given: list[Any]) -> int:
    """Bytes of what the records of a run hold, without the memory of its arguments."""
    memories = {id(memory_of(a)): memory_of(a) for record in tape.log for slot in record[2:] for a in arrays_in(slot)}
    for value in arrays_in(given):
        memories.pop(id(memory_of(value)), None)
    return sum(memory.nbytes for memory in memories.values())


class Loop:
    """The calls of one function on one tape."""

    def __init__(self, tape: Tape, budget_nbytes: int, name: str) -> None:
        self.tape, self.budget_nbytes, self.name = tape, budget_nbytes, name
        self.entries: list[Entry] = []
        self.made: list[int] = []  # variables that the last call made
        self.after: States | None = None  # random states when it had run
        self.kept: dict[int, Entry] = {}  # those whose arguments are here and could go, oldest first
        self.nbytes = 0
        self.call_nbytes = 0  # what one call needs while it is reversed

    # ---- forward

    def enter(self, entry: Entry) -> None:
        """A call is about to run."""
        entry.number = len(self.entries)
        entry.sources = [self.made.index(parent) if parent in self.made else -1 for parent in entry.parents]
        entry.follows = max(entry.sources, default=-1) >= 0 and same(entry.states, self.after)
        if self.entries and same(entry.states, self.entries[-1].states):
            entry.states = self.entries[-1].states  # nothing was drawn: one state for many
        entry.nbytes = sum(
            getattr(value, "nbytes", 0) for value, source in zip(entry.held, entry.sources, strict=True) if source >= 0
        )
        self.nbytes += ENTRY_NBYTES
        self.entries.append(entry)

    def measure(self, entry: Entry, tape: Tape, outs: list[Any], seconds: float) -> None:
        """A call has run on a tape of its own: what it took."""
        entry.seconds = seconds
        if entry.number & (entry.number - 1) == 0:  # 0, 1, 2, 4, 8, ...: looking takes as long as the records are many
            # besides the call's own values: its outputs once more, its cotangents, and what cotangents are added to
            around = 2 * sum(getattr(value, "nbytes", 0) for value in (*outs, *entry.held))
            self.call_nbytes = max(self.call_nbytes, around + own_nbytes(tape, entry.held))
        if self.call_nbytes + 2 * entry.nbytes > self.budget_nbytes:
            raise GradvizError(
                f"budget_bytes={self.budget_nbytes:,} is too small: one call of {self.name} needs {self.call_nbytes:,} bytes while it "
                f"is reversed, and {entry.nbytes:,} for its arguments. Make the calls smaller, or the budget larger."
            )

    def entered(self, entry: Entry, made: list[int]) -> None:
        """The call is on the tape, with these variables."""
        self.made, self.after = made, random_states([generator for generator, _ in entry.states[2]])
        if same(self.after, entry.states):
            self.after = entry.states
        entry.variable = len(self.tape.log) - 1 - sum(k >= 0 for k in made)
        entry.held = []  # the record holds them now, where a write looks for what it would destroy
        if entry.follows:
            self.keep(entry, first=0)

    def keep(self, entry: Entry, first: int) -> None:
        """Count the arguments of a call among those that are here, and give up others, of call ``first`` or later, until all fit."""
        entry.level = 0
        self.kept[entry.number] = entry
        self.nbytes += entry.nbytes
        while self.nbytes + self.call_nbytes > self.budget_nbytes:
            others = [e for e in self.kept.values() if first <= e.number < entry.number]
            if not others:
                return
            highest, free = entry.level, []
            for other in reversed(others):
                if other.level < highest:
                    free.append(other)
                highest = max(highest, other.level)
            if free:
                self.give_up(min(free, key=self.price))
            else:
                entry.level = others[-1].level + 1
                self.give_up(others[-1])

    def price(self, entry: Entry) -> float:
        """Seconds that computing the arguments of a call again takes, for each byte they hold."""
        numbers = sorted(self.kept)
        before = max((n for n in numbers if n < entry.number), default=0)
        return sum(e.seconds for e in self.entries[before : entry.number]) / max(entry.nbytes, 1)

    def give_up(self, entry: Entry) -> None:
        """Forget the arguments of a call that can be computed from the call before."""
        if self.kept.pop(entry.number, None) is None:
            return
        self.nbytes -= entry.nbytes
        held = self.held_by(entry)
        for k, source in enumerate(entry.sources):
            if source >= 0:
                held[k] = None

    def held_by(self, entry: Entry) -> list[Any]:
        """The arguments of a call as its record has them."""
        if entry.variable >= len(self.tape.log) or self.tape.log[entry.variable] is None:
            return entry.held
        return self.tape.log[entry.variable][3]

    # ---- backward

    def restore(self, entry: Entry, held: list[Any]) -> list[Any]:
        """The arguments of a call that is being reversed."""
        entry.held = held
        if entry.follows and entry.number not in self.kept:
            start = entry
            while start.follows and start.number not in self.kept:
                start = self.entries[start.number - 1]
            put_back(start.states)
            for number in range(start.number, entry.number):
                outs, _ = run_once(self.entries[number].again, self.held_by(self.entries[number]))
                nxt = self.entries[number + 1]
                arguments = self.held_by(nxt)
                for k, source in enumerate(nxt.sources):
                    if source >= 0:
                        arguments[k] = outs[source]
                self.keep(nxt, first=start.number + 1)
        return held

    def leave(self, entry: Entry) -> None:
        """A call has been reversed; what it held makes room for others."""
        if entry.follows:
            self.give_up(entry)
        entry.held = []
