"""What the thread is doing that passes a door: which read, which function, an index, or something that another door tells of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Passing(threading.local):
    """What a thread is doing in CuPy.

    Attributes
    ----------
    read : what the read under way is called (``"float"``), "" for none
    function : the NumPy function under way, "" for none
    indexing : an index is being resolved
    closed : how many doors are passed that tell of all that happens inside
    """

    marks: tuple[Callable[[], None], Callable[[], None]] | None = (
        None  # called when a door opens and closes, in any thread
    )

    def __init__(self) -> None:
        self.read = ""
        self.function = ""
        self.indexing = False
        self.closed = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other door tell of what happens in this block."""
        self.closed += 1
        marks = Passing.marks
        if marks is not None:
            marks[0]()
        try:
            yield
        finally:
            self.closed -= 1
            if marks is not None:
                marks[1]()


PASSING = Passing()
