"""The trace: the tables of one recording, with the texts their columns refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradviz.record.events import TABLES, Kind

Table = dict[str, np.ndarray]


def empty_tables() -> dict[str, Table]:
    """All tables with no rows."""
    return {table: {name: np.empty(0, dtype) for name, dtype in columns.items()} for table, columns in TABLES.items()}


@dataclass
class Trace:
    """Everything that was recorded in one run.

    Attributes
    ----------
    tables : table name -> column name -> 1-D array; see `gradviz.record.events.TABLES`
    strings : the texts that ``*_str`` columns index; ``strings[0] == ""``
    meta : JSON-ready facts about the run:
        ``duration_ns``, ``recorder_ns`` (time the recorder itself used), ``dropped`` (events left out),
        ``simulated`` (bool), ``label``, ``started`` (ISO 8601), ``python``, ``numpy``, ``devices``
    """

    tables: dict[str, Table] = field(default_factory=empty_tables)
    strings: list[str] = field(default_factory=lambda: [""])
    meta: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Table:
        """A table as an attribute: ``trace.events["start_ns"]``."""
        if name in TABLES:
            return self.tables[name]
        raise AttributeError(f"a trace has no table {name!r}; it has {', '.join(TABLES)}")

    def __len__(self) -> int:
        return len(self.tables["events"]["kind"])

    @property
    def duration_ns(self) -> int:
        """How long the run took; 0 where that is not known."""
        return int(self.meta.get("duration_ns") or 0)

    def text(self, index: int) -> str:
        """The text a ``*_str`` column refers to ("" for -1)."""
        return self.strings[index] if index >= 0 else ""

    def name(self, event: int) -> str:
        """Name of an event, e.g. ``multiply`` or ``multiply > x``."""
        return self.text(int(self.tables["events"]["name_str"][event]))

    def where(self, event: int) -> str:
        """The user's line of an event: ``train.py:12``, ``Cell In[3], line 2``, or ""."""
        return self.place(int(self.tables["events"]["site"][event]))

    def place(self, site: int) -> str:
        """The user's line that a row of ``sites`` stands for; as `where`."""
        if site < 0:
            return ""
        sites = self.tables["sites"]
        cell, line = int(sites["cell"][site]), int(sites["line"][site])
        return f"Cell In[{cell}], line {line}" if cell >= 0 else f"{self.text(int(sites['file_str'][site]))}:{line}"

    def rows(self, kind: Kind) -> np.ndarray:
        """Row numbers of all events of one kind, in order of their start."""
        return np.flatnonzero(self.tables["events"]["kind"] == kind)
