"""Where the programs of one function for one kind of arguments lie: numbered, one for each way that Python took through it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from gradviz.plan.capture.devices import on_device
from gradviz.plan.capture.signature import is_input, kind_of
from gradviz.plan.disk.fingerprint import Fingerprint, Untold
from gradviz.plan.disk.names import Damaged, Unnamed
from gradviz.plan.disk.text import Kept, decoded, encoded
from gradviz.plan.disk.tree import is_record
from gradviz.plan.kernels import cache

FEWEST_ROWS = 200  # a shorter program is captured as quickly as it is read
FOLDER = "plans"


class Shelf:
    """The programs on disk for a function and a kind of arguments, as the function is now.

    Attributes
    ----------
    name : of the files, without their numbers; "" if none can be kept
    why : the reason for that
    codes, classes : what sites and results refer to
    """

    def __init__(self, f: Any, leaves: list[Any], structure: Any, donated: frozenset[int]) -> None:
        self.name, self.why = "", "GRADVIZ_CACHE_DIR is empty"
        self._roots: list[Any] = [f, *(leaf for leaf in leaves if not is_input(leaf))]
        self._words = repr((structure, [kind_of(leaf) for leaf in leaves if is_input(leaf)], sorted(donated)))
        self._number = 0
        if cache.folder(FOLDER) is None:
            return
        if any(map(on_device, leaves)):
            self.why = "its arrays lie on a device"
            return
        try:
            self._roots += classes_in(structure)
            self.name = self._name()
        except Untold as reason:
            self.why = str(reason)

    def _name(self) -> str:
        found = Fingerprint(self._roots)
        self.codes, self.classes = found.codes, found.types
        return hashlib.sha256(f"{found.hexdigest()} {self._words}".encode()).hexdigest()[:40]

    def programs(self, taken: set[str]) -> Iterator[Kept]:
        """Those that lie there and are not among the names of ``taken``, which get added."""
        while self.name:
            name = f"{self.name}-{self._number}"
            data = cache.load(name, FOLDER)
            if data is None:
                return
            self._number += 1
            if name in taken:
                continue
            taken.add(name)
            try:
                yield decoded(data)
            except Damaged:
                cache.remove(name, FOLDER)
                return

    def keep(self, rows: int, made: Callable[[Shelf], Kept], taken: set[str]) -> str:
        """Keep a program that was captured; what became of it, for people."""
        if not self.name:
            return f"not kept on disk: {self.why}"
        if rows < FEWEST_ROWS:
            return "not kept on disk: it is short"
        try:
            kept = made(self)
            data = encoded(kept)
            if self._name() != self.name:
                raise Unnamed("what it refers to was changed while it ran")
        except (Unnamed, Untold) as reason:
            return f"not kept on disk: {reason}"
        name = f"{self.name}-{self._number}"
        taken.add(name)
        self._number += 1
        return "kept on disk" if cache.store(name, data, FOLDER) else "not kept on disk: it cannot be written there"


def classes_in(structure: Any) -> Iterator[type]:
    """The classes of the containers in the arguments, that are more than lists, tuples and dicts."""
    if structure is None or structure.is_leaf():
        return
    kind = structure.type
    if kind not in (None, type(None), tuple, list, dict):
        if not is_record(kind):
            raise Untold(f"it is given a {kind.__qualname__}")
        yield kind
    for child in structure.children():
        yield from classes_in(child)
