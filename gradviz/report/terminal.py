"""How text is laid out in a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gradviz.report.plain import clipped, shown_width

Style = Literal["bold", "dim", "red", "yellow", "green", "cyan", "magenta"]

_CODES: dict[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}
_NARROWEST, _WIDEST = 60, 140
_LEAST_FLEXIBLE = 10
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Column:
    """One column of a table: its heading, on which side it stands, and what may be cut off when room is short.

    A ``flexible`` column takes the room that the others leave; one with ``keep_end`` is cut at its front.
    """

    name: str
    right: bool = False
    flexible: bool = False
    keep_end: bool = False
    most: int = 32
    style: Style | None = None


@dataclass(frozen=True)
class Paper:
    """What is written on: so many columns, with or without colour."""

    width: int
    colour: bool

    @classmethod
    def like_stdout(cls, width: int | None = None, colour: bool | None = None) -> Paper:
        """As wide as the terminal (within reason), coloured only if one is there and wants it."""
        if colour is None:
            unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
            colour = bool(not unwanted and sys.stdout and sys.stdout.isatty())
        width = shutil.get_terminal_size((100, 24)).columns if width is None else width
        return cls(min(max(width, _NARROWEST), _WIDEST), colour)

    def styled(self, text: str, style: Style | None) -> str:
        """``text`` in a style, if there is colour."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def ends(self, left: str, right: str, left_style: Style | None = None, right_style: Style | None = None) -> str:
        """One line with something at both its ends; the left is cut if they do not fit."""
        left = clipped(left, self.width - shown_width(right) - 2 if right else self.width)
        gap = self.width - shown_width(left) - shown_width(right)
        return (self.styled(left, left_style) + " " * gap + self.styled(right, right_style)).rstrip()

    def heading(self, title: str, note: str = "") -> str:
        """A line that opens a section."""
        note = clipped(note, self.width - len(title) - 8)
        line = "─" * (self.width - len(title) - shown_width(note) - (3 if note else 1) - 3)
        parts = [
            self.styled("──", "dim"),
            self.styled(title, "bold"),
            self.styled(line, "dim"),
            self.styled(note, "dim"),
        ]
        return " ".join(part for part in parts if part)

    def joined(self, parts: Sequence[str], between: str = " · ", width: int = 0) -> list[str]:
        """The parts one after the other, in as many lines of ``width`` columns as they need; no part is broken."""
        lines = [""]
        for part in parts:
            longer = lines[-1] + between + part if lines[-1] else part
            if shown_width(longer) <= (width or self.width):
                lines[-1] = longer
            else:
                lines.append(part)
        return lines

    def wrapped(self, text: str, first: str, indent: int) -> list[str]:
        """``text`` in lines behind the word ``first``; ``indent`` columns are left free."""
        width = self.width - indent
        lines = self.joined([clipped(word, width) for word in text.split()], " ", width)
        head = " " * 4 + self.styled(first.ljust(indent - 4), "dim")
        return [head + lines[0], *(" " * indent + line for line in lines[1:])]

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
        """A table with headings; no line is wider than the paper."""
        names = [column.name for column in columns]
        widths = self._widths(columns, [names, *rows])
        heading = self.styled(self._row(columns, names, widths), "dim")
        return [heading, *(self._row(columns, row, widths, styled=True) for row in rows)]

    def _widths(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
        """A width for each column; 0 for a flexible one without room. The widest give way until the rest fits."""
        wanted = [max(map(shown_width, cells)) for cells in zip(*rows, strict=True)]
        widths = [0 if c.flexible else min(width, c.most) for width, c in zip(wanted, columns, strict=True)]
        room = self.width - 1 - sum(widths) - 2 * (len(columns) - 1)
        for i, column in enumerate(columns):
            if column.flexible and room >= _LEAST_FLEXIBLE:
                widths[i] = min(wanted[i], room)
        while 1 + sum(widths) + 2 * (sum(width > 0 for width in widths) - 1) > self.width:
            widths[widths.index(max(widths))] -= 1
        return widths

    def _row(self, columns: Sequence[Column], row: Sequence[str], widths: list[int], styled: bool = False) -> str:
        cells = []
        for column, text, width in zip(columns, row, widths, strict=True):
            if width or not column.flexible:
                text = clipped(text, width, column.keep_end)
                pad = " " * (width - shown_width(text))
                text = self.styled(text, column.style) if styled else text
                cells.append(pad + text if column.right else text + pad)
        return " " + "  ".join(cells).rstrip()


def bar(share: float, width: int) -> str:
    """A bar that fills ``share`` of ``width`` columns, to the eighth of a column.

    Examples
    --------
    >>> bar(0.5, 3)
    '█▌'
    """
    eighths = round(min(max(share, 0), 1) * width * 8)
    if eighths == 0 and share > 0:
        eighths = 1
    return ("█" * (eighths // 8) + _PARTS[eighths % 8]).rstrip()


def chart(values: Sequence[float], rows: int) -> list[str]:
    """A filled curve, ``rows`` lines high, one column for each value.

    Examples
    --------
    >>> chart([0, 1, 4], 1)
    [' ▂█']
    """
    top = max(values, default=0) or 1
    levels = [max(round(value / top * rows * 8), 1 if value > 0 else 0) for value in values]
    return ["".join(_EIGHTHS[min(max(level - 8 * row, 0), 8)] for level in levels) for row in reversed(range(rows))]
