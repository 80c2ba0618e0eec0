"""What changes from call to call, in one table on the device: addresses of arrays, and numbers.

Kernels find in it where their arrays lie, so that a launch is the same in every call, and a graph of launches needs no change. Words
that are not what they were are sent as arguments of one small kernel: no upload, no wait. An optimizer that is given back its own
arrays sends none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

WORD = 8


class Words:
    """The table of one frame.

    Attributes
    ----------
    now : what the words are to be
    """

    def __init__(self) -> None:
        self.count = 0
        self.fixed: list[tuple[int, int | Callable[[], int]]] = []

    def reserve(self, count: int) -> int:
        """The number of the first of so many new words."""
        self.count += count
        return self.count - count

    def fix(self, word: int, value: int | Callable[[], int]) -> None:
        """A word that never changes; a function tells it when the table has its place."""
        self.fixed.append((word, value))

    def settle(self, machine: Any) -> None:
        """Give the table its place on the device. Nothing is reserved any more."""
        self.machine = machine
        self.now = np.zeros(max(self.count, 1), np.int64)
        self.table = machine.empty(self.now.shape, self.now.dtype)
        self.start = machine.pointer(self.table)
        for word, value in self.fixed:
            self.now[word] = value if isinstance(value, int) else value()
        machine.send(self.table, np.arange(self.now.size), self.now)
        self.sent = self.now.copy()

    def address(self, word: int) -> int:
        """Where a word lies on the device."""
        return self.start + WORD * word

    def number(self, word: int, value: Any, dtype: np.dtype[Any]) -> None:
        """Write a number into the words from ``word`` on."""
        raw = np.zeros(-(-dtype.itemsize // WORD), np.int64)
        raw.view(np.uint8)[: dtype.itemsize] = np.asarray(value, dtype).reshape(1).view(np.uint8)
        self.now[word : word + raw.size] = raw

    def send(self) -> None:
        """Let the device have the words that are others than last time."""
        changed = np.flatnonzero(self.now != self.sent)
        if changed.size:
            self.machine.send(self.table, changed, self.now[changed])
            self.sent[changed] = self.now[changed]
