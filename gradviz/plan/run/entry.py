"""What a call of a compiled function goes through first: arguments of a kind that was met before go straight to their plan.

`Entrance` is the function; `gv.compile` makes a `Compiled` of it, which knows what to do with all other arguments. Where ``entry.c`` is
compiled (see `gradviz.compiled`), a kind of arguments becomes an `Entry`: it looks at their types, shapes, strides and dtypes, at whether
what will be overwritten may be, and lies apart from all else; then it runs the plan's table, or its Python where that has to. Elsewhere
and where there can be no entry, the plan is found by a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.compiled import compiled as compiled_module
from gradviz.plan.capture.overlap import span
from gradviz.plan.capture.signature import is_input, kind_of, quick_key
from gradviz.plan.program.program import Mismatch
from gradviz.plan.run.again import Again
from gradviz.record.current import CURRENT, NOBODY, OPEN
from gradviz.record.guard import ACTIVE

direct: Any = compiled_module(__name__)
if direct is not None:
    direct.know(CURRENT, OPEN, NOBODY, ACTIVE, Mismatch)

NOTHING: list[Any] = []
MOST_ENTRIES = 4  # that are tried one after the other
LEAF, TUPLE, LIST, DICT, NAMED, NONE = range(6)  # kinds of trees
ARRAY, FLOAT, COMPLEX, SCALAR, FIXED = range(5)  # kinds of leaves
INPUT, MADE, NUMBER, ITEM, CONSTANT = range(5)  # kinds of results


class ByKey:
    """Finds the plan for some arguments by a key, or by the arrays being those of the call before."""

    def __init__(self) -> None:
        self._quick: dict[Any, Any] = {}  # the latest path, by a key that is found in few steps
        self._structure: Any = None  # of the latest arguments with containers
        self._again: Any = None  # the latest arguments that were written into, which tend to come again

    def by_key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call."""
        key, values = None if kwargs else quick_key(args), args
        if key is None and self._structure is not None:
            try:
                values = self._structure.flatten_up_to((args, kwargs))
            except ValueError:
                pass
            else:
                again = self._again
                if again is not None and again[1].same(values):
                    try:
                        return again[0].run([*again[0].inputs(values)])
                    except Mismatch:
                        return self._called(args, kwargs)
                key = quick_key(values, self._structure)
        path = self._quick.get(key)
        if path is not None:
            outside = NOTHING if path.steady else path.outside()
            if outside is not None:
                try:
                    return path.run([*path.inputs(values), *outside])
                except Mismatch:
                    pass
        return self._called(args, kwargs)

    def remember(self, path: Any, args: Any, kwargs: Any, leaves: list[Any], structure: Any) -> None:
        """Let the next call with such arguments take the short way, where nothing has to be looked at but kinds."""
        if not path.plain:
            if path.steady:
                self._again, self._structure = (path, Again(leaves)), structure
            return
        key = None if kwargs else quick_key(args)
        if key is None:
            key = quick_key(leaves, structure)
            self._structure = structure
        if key is not None:
            self._quick[key] = path

    def forget(self) -> None:
        """Let all calls take the long way."""
        self._quick.clear()
        self._again = None

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whatever its arguments."""
        raise NotImplementedError


class PythonEntrance(ByKey):
    """A function that finds its plans by keys."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.by_key(args, kwargs)


class NoEntrance:
    """Stands for the compiled entrance where nothing is compiled."""


class DirectEntrance(direct.Entrance if direct is not None else NoEntrance, ByKey):  # type: ignore[misc]
    """A function that finds its plans by entries, and by keys where there can be none: on devices, in containers of the user's own."""

    entries: list[Any]

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Any, Any] = {}  # entries by what they are for

    def remember(self, path: Any, args: Any, kwargs: Any, leaves: list[Any], structure: Any) -> None:
        """Let the next call with such arguments take the short way."""
        if not (path.plain or path.steady):
            return
        key = path, structure, tuple([(kind_of(leaf), getattr(leaf, "strides", None)) for leaf in leaves])
        if key not in self._known:
            self._known[key] = entry_for(path, args, kwargs, leaves)
        entry = self._known[key]
        if entry is None:
            super().remember(path, args, kwargs, leaves, structure)
        else:
            self.entries[:] = [entry, *(e for e in self.entries if e is not entry)][:MOST_ENTRIES]

    def forget(self) -> None:
        """Let all calls take the long way."""
        super().forget()
        self._known.clear()
        self.entries.clear()


if TYPE_CHECKING:
    Entrance = PythonEntrance
else:
    Entrance = PythonEntrance if direct is None else DirectEntrance


# ---- entries


def entry_for(path: Any, args: Any, kwargs: Any, leaves: list[Any]) -> Any:
    """The entry for arguments of a path; None if there is something about them that only Python can tell."""
    if path.plan.machine is not None:
        return None
    arguments, found = taken_apart(args)
    if kwargs:
        more, beyond = taken_apart(kwargs)
        arguments, found = [*arguments, *more], [*found, *beyond]
    if len(found) != len(leaves) or any(a is not b for a, b in zip(found, leaves, strict=True)):
        return None
    frame = path.plan.frames[-1] if path.plan.frames else None
    steps, given = frame.direct() if frame is not None else (None, [])
    result, marks = taken_apart(path.wrap(sample := [Mark() for _ in range(path.count)]))
    if len(marks) != len(sample) or any(a is not b for a, b in zip(marks, sample, strict=True)):
        steps = None
    slots = frame.slots if frame is not None else {}
    kinds, which = Kinds(), []
    n = 0
    for leaf in leaves:
        which.append(kinds.number(known_leaf(leaf, n in path.overwritten, slots.get(n))))
        n += is_input(leaf)
    leaf_of = [k for k, leaf in enumerate(leaves) if is_input(leaf)]
    given = [(kind, leaf_of[at] if kind == INPUT else at, about) for kind, at, about in given]
    outside = [] if path.steady else path.outside()
    which += [kinds.number(known_leaf(a, k in path.overwritten, None)) for k, a in enumerate(outside or [], n)]
    return direct.Entry(
        path.run, path.plan.frames, frame, None if path.steady else path.outside, steps, path.plain, arguments, kinds.all, which,
        len(leaves), result if steps is not None else [], given,
    )  # fmt: skip


class Kinds:
    """Kinds of leaves, those of arrays once each."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, kind: Any) -> int:
        """Which one a kind is."""
        if kind[0] == ARRAY and kind in self._numbers:
            return self._numbers[kind]
        if kind[0] == ARRAY:
            self._numbers[kind] = len(self.all)
        self.all.append(kind)
        return len(self.all) - 1


class Mark:
    """Stands for a leaf."""


def known_leaf(leaf: Any, written: bool, slot: Any) -> tuple[Any, ...]:
    """What has to be the same about a leaf, as ``entry.c`` reads it."""
    kind = type(leaf)
    where = 0 if slot is None else slot.ctypes.data
    if kind is np.ndarray:
        start = leaf.ctypes.data
        first, end = span(leaf) if leaf.size else (start, start)
        return ARRAY, written, kind, leaf.dtype, leaf.shape, leaf.strides, 0, first - start, end - start
    number = FLOAT if kind is float else COMPLEX if kind is complex else SCALAR if is_input(leaf) else FIXED
    return number, written, kind, leaf if number == FIXED else None, (), (), where, 0, 0


def taken_apart(tree: Any) -> tuple[list[Any], list[Any]]:
    """The nodes of a tree, each before its children, as (kind, how many those are, ...), and its leaves, as `flatten` finds them."""
    nodes: list[Any] = []
    leaves: list[Any] = []
    todo = [tree]
    while todo:
        at = todo.pop()
        kind = type(at)
        children: Sequence[Any] = ()
        if at is None:
            nodes.append((NONE, 0, None, None))
        elif kind is tuple or kind is list:
            children = at
            nodes.append((TUPLE if kind is tuple else LIST, len(at), None, None))
        elif kind is dict and all(type(key) is str for key in at):
            keys = tuple(sorted(at))
            children = [at[key] for key in keys]
            nodes.append((DICT, len(at), dict.fromkeys(at), keys))
        elif isinstance(at, tuple) and hasattr(kind, "_fields"):
            children = at
            nodes.append((NAMED, len(at), kind, None))
        else:
            nodes.append((LEAF, 0, None, None))
            leaves.append(at)
        todo += reversed(children)
    return nodes, leaves
