"""What of a plan runs without Python: kernels, products, fills and copies, on memory that is known by cells.

A cell holds an address that may be another in each call: of an input, or of an array that the call makes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

RUN, FILL, COPY, LOOP = range(4)
FIXED = -1  # in the place of a cell: the offset is an address that stays


class Spot(NamedTuple):
    """A piece of memory: ``offset`` bytes from what a cell holds."""

    cell: int
    offset: int


class Table:
    """Steps as ``entry.c`` reads them, gathered as a plan is written.

    Attributes
    ----------
    whole : nothing among the steps needs Python
    cells : how many there are; the first hold the addresses of the inputs
    made : (dtype, shape, cell) for each array that a call makes
    steps : (kind, what it needs), in order
    """

    def __init__(self, inputs: int) -> None:
        self.whole = True
        self.cells = inputs
        self.made: list[tuple[Any, tuple[int, ...], int]] = []
        self.steps: list[tuple[int, tuple[Any, ...]]] = []
        self._numbers: dict[Any, int] = {}

    def needs_python(self) -> None:
        """A step cannot be entered."""
        self.whole = False

    def cell(self) -> int:
        """A cell more."""
        self.cells += 1
        return self.cells - 1

    def make(self, key: Any, meta: Any) -> int:
        """The number of an array that a call makes, known by ``key``."""
        if key not in self._numbers:
            self._numbers[key] = len(self.made)
            self.made.append((meta.dtype, meta.shape, self.cell()))
        return self._numbers[key]

    def run(self, what: Any, patches: list[tuple[int, Spot]]) -> None:
        """A kernel or product, after the addresses of some spots were entered into its own table."""
        self.steps.append((RUN, (what, [(target, *spot) for target, spot in patches])))

    def fill(self, spot: Spot, meta: Any, number: Any) -> None:
        """An array of one number, in C order."""
        pattern = np.full((), number, meta.dtype).tobytes()
        self.steps.append((FILL, (*spot, pattern, meta.nbytes // len(pattern))))

    def copy(self, target: Spot, source: Spot, nbytes: int) -> None:
        """Bytes that follow each other."""
        self.steps.append((COPY, (*target, *source, nbytes)))
