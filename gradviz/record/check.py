"""Whether the rows of a trace refer only to things that exist."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from gradviz.errors import FileFormatError
from gradviz.record.events import TABLES, Answer, Direction, Flag, Kind, LaneKind, Reason, Role, State, Trigger, Use
from gradviz.record.trace import Trace

# (table, column) -> the table whose row it names
REFERENCES: dict[tuple[str, str], str] = {
    ("events", "lane"): "lanes",
    ("events", "parent"): "events",
    ("events", "call"): "events",
    ("events", "site"): "sites",
    ("copies", "event"): "events",
    ("copies", "source"): "buffers",
    ("copies", "target"): "buffers",
    ("copies", "because"): "events",
    ("syncs", "event"): "events",
    ("syncs", "stream"): "lanes",
    ("buffers", "device"): "devices",
    ("buffers", "alloc_event"): "events",
    ("uses", "event"): "events",
    ("uses", "buffer"): "buffers",
    ("contributions", "event"): "events",
    ("contributions", "variable"): "events",
    ("contributions", "buffer"): "buffers",
    ("lanes", "device"): "devices",
}

# The lowest number a reference may be, where it is not -1: some must exist, an input of the gradient is -2, -3, ...
_LOWEST = {
    ("events", "lane"): 0,
    ("copies", "event"): 0,
    ("syncs", "event"): 0,
    ("uses", "event"): 0,
    ("uses", "buffer"): 0,
    ("contributions", "variable"): -(1 << 31),
}

# (table, column) -> the words that its numbers stand for
WORDS: dict[tuple[str, str], type[IntEnum]] = {
    ("events", "kind"): Kind,
    ("copies", "direction"): Direction,
    ("copies", "reason"): Reason,
    ("copies", "source_read_later"): Answer,
    ("copies", "source_written_later"): Answer,
    ("copies", "target_read_later"): Answer,
    ("copies", "target_written_later"): Answer,
    ("copies", "target_escapes"): Answer,
    ("syncs", "trigger"): Trigger,
    ("syncs", "value_used"): Answer,
    ("buffers", "role"): Role,
    ("buffers", "from_pool"): Answer,
    ("uses", "how"): Use,
    ("contributions", "state"): State,
    ("contributions", "used"): Answer,
    ("lanes", "kind"): LaneKind,
}

_LATEST_NS = 1 << 61  # 73 years; leaves room to add and subtract


def check_trace(trace: Trace) -> None:
    """Raise `FileFormatError` where a row names a row, text or word that does not exist, or a time is impossible."""
    rows = {table: len(next(iter(columns.values()))) for table, columns in trace.tables.items()}
    for table, columns in TABLES.items():
        for column in columns:
            values = trace.tables[table][column]
            if column.endswith("_str"):
                _within(f"{table}.{column}", values, -1, len(trace.strings) - 1)
            elif column.endswith("_ns"):
                _within(f"{table}.{column}", values, -_LATEST_NS, _LATEST_NS)
            elif column.endswith("nbytes"):
                _within(f"{table}.{column}", values, 0, _LATEST_NS)
            elif target := REFERENCES.get((table, column)):
                _within(f"{table}.{column}", values, _LOWEST.get((table, column), -1), rows[target] - 1)
            elif words := WORDS.get((table, column)):
                _within(f"{table}.{column}", values, 0, max(words))
    _within("events.flags", trace.events["flags"], 0, sum(Flag))
    _in_order("events", trace.events["start_ns"], trace.events["end_ns"])
    buffers = trace.buffers
    freed = buffers["free_ns"] != -1
    _in_order("buffers", buffers["alloc_ns"][freed], buffers["free_ns"][freed])
    _no_circle(trace.events["parent"])


def _within(name: str, values: np.ndarray, lowest: int, highest: int) -> None:
    if not len(values):
        return
    bad = (values < lowest) | (values > highest)
    if bad.any():
        row = int(bad.argmax())
        raise FileFormatError(f"{name}, row {row}, is {int(values[row])}; it must lie in {lowest}..{highest}")


def _in_order(table: str, begins_ns: np.ndarray, ends_ns: np.ndarray) -> None:
    bad = ends_ns < begins_ns
    if bad.any():
        raise FileFormatError(f"{table}: {int(bad.sum())} rows end before they begin")


def _no_circle(parent: np.ndarray) -> None:
    """Every chain of parents must end: after k doublings each row points 2**k generations up."""
    ancestor = parent
    for _ in range(max(len(parent), 1).bit_length() + 1):
        alive = ancestor >= 0
        if not alive.any():
            return
        ancestor = np.where(alive, ancestor[ancestor], -1)
    raise FileFormatError("events.parent runs in a circle")
