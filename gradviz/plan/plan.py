"""What a plan is: a program made ready to run, and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz.plan.program import Program, evaluate


class Plan:
    """A program ready to run.

    Attributes
    ----------
    program : what was captured, with its loops rolled up
    """

    def __init__(self, program: Program, donated: frozenset[int] = frozenset()) -> None:
        self.program = program
        self.donated = donated

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for inputs of the kinds it was made for. Raises `Mismatch` before anything is overwritten."""
        return evaluate(self.program, values)
