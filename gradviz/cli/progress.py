"""How far a long job is: one line that changes on a terminal, a line for each step elsewhere."""

from __future__ import annotations

import sys


class Progress:
    """Says on stderr which step of how many runs.

    Parameters
    ----------
    steps : how many there will be; 0 if that is not known
    """

    def __init__(self, steps: int = 0) -> None:
        self.steps, self.done = steps, 0
        self.changing = sys.stderr.isatty()

    def step(self, text: str) -> None:
        """The next step begins."""
        self.done += 1
        head = f"[{self.done}/{self.steps}] " if self.steps else ""
        if self.changing:
            sys.stderr.write(f"\r\x1b[K{head}{text} …")
        else:
            sys.stderr.write(f"{head}{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Make room for output."""
        if self.changing:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
