"""What a plan is: a program made ready to run, and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz.plan.batch import batch
from gradviz.plan.block import read
from gradviz.plan.fuse import fuse
from gradviz.plan.place import Placement
from gradviz.plan.products import products
from gradviz.plan.program import Program
from gradviz.plan.run import Frame
from gradviz.plan.simplify import simplify


class Plan:
    """A program ready to run.

    Attributes
    ----------
    program : what was captured, with its loops rolled up
    block : what is left to do, as nodes
    steps : what runs together, in order
    placement : where everything lives
    donated : inputs that may be overwritten
    layouts : for each input "C", "F", or "any" for arrays whose entries do not follow each other, which are copied first
    """

    def __init__(
        self,
        program: Program,
        donated: frozenset[int] = frozenset(),
        written: Sequence[tuple[int, int]] = (),
        layouts: Sequence[str] = (),
    ) -> None:
        self.program, self.donated = program, donated
        self.block = products(simplify(batch(simplify(read(program)))))
        self.steps, places = fuse(self.block, layouts)
        self.placement = Placement(self.block, self.steps, places, donated, dict(written))
        self.frames = [Frame(self.block, self.steps, self.placement)]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for inputs of the kinds it was made for, without those that are written into inputs.

        Raises `Mismatch` before anything is overwritten.
        """
        try:
            frame = self.frames.pop()
        except IndexError:  # all are in use, by other threads
            frame = Frame(self.block, self.steps, self.placement)
        try:
            return frame.run(list(values) if frame.places.copied else values)
        finally:
            self.frames.append(frame)
