"""What a plan is: a program made ready to run, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradviz.plan.batch import batch
from gradviz.plan.block import read
from gradviz.plan.explain import Explanation, Memory, explain, memory
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
    calls : how many calls were captured
    compile_ns : what its kernels took to compile, or to read from disk
    layouts : for each input "C", "F", or "any" for arrays whose entries do not follow each other, which are copied first
    """

    def __init__(
        self,
        program: Program,
        donated: frozenset[int] = frozenset(),
        written: Sequence[tuple[int, int]] = (),
        layouts: Sequence[str] = (),
        calls: int = 0,
    ) -> None:
        self.program, self.donated = program, donated
        self.block = products(simplify(batch(simplify(read(program)))))
        self.steps, places = fuse(self.block, layouts)
        self.placement = Placement(self.block, self.steps, places, donated, dict(written))
        self.frames = [Frame(self.block, self.steps, self.placement)]
        self.compile_ns = self.frames[0].compile_ns
        self.calls = calls

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

    def explain(self, line: Callable[[int], str] = str) -> Explanation:
        """The steps, the bytes they move, and each copy that is left; ``line`` tells the user's line behind a site."""
        return explain(self, line)

    def memory(self) -> Memory:
        """What a call needs beside its arguments."""
        return memory(self)
