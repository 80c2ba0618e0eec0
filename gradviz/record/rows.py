"""How events are packed to bytes while recording: one layout for each kind of row, for writing and for reading back.

A packed row takes 0.2 µs and about its own size; tuples of Python integers would take four times the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

# name -> struct code of each field
LAYOUTS: dict[str, dict[str, str]] = {
    "event": {
        "number": "i", "start_ns": "q", "end_ns": "q", "parent": "i", "call": "i", "site": "i", "nbytes": "q", "lane": "h", "flags": "H",
        "kind": "B", "name_str": "i", "description": "i", "a": "i", "b": "i", "out": "i", "how": "B",
    },
    # the two kinds of event that small programs are made of, without what can be told from the rest
    "call": {
        "number": "i", "start_ns": "q", "duration_ns": "I", "parent": "i", "site": "i", "flags": "B", "how": "B", "name_str": "H",
        "description": "i", "a": "i", "b": "i",
    },
    "pull": {  # a and b: the variable, and how many entries are subnormal
        "number": "i", "start_ns": "q", "duration_ns": "I", "parent": "i", "call": "i", "flags": "B", "how": "B", "name_str": "H",
        "description": "i", "a": "i", "b": "i", "out": "i",
    },
    "use": {"event": "i", "buffer": "i", "how": "B"},
    "buffer": {
        "buffer": "i", "nbytes": "q", "reserved_nbytes": "q", "alloc_ns": "q", "alloc_event": "i", "from_pool": "B", "description": "i",
        "device": "h",
    },
    "copy": {"event": "i", "source": "i", "target": "i", "nbytes": "q", "direction": "B", "reason": "B", "because": "i"},
    "sync": {
        "event": "i", "trigger": "B", "stream": "h", "nbytes": "q", "host_wait_ns": "q", "value_used": "B", "on_device": "B",
    },
    "contribution": {
        "event": "i", "variable": "i", "buffer": "i", "state": "B", "nbytes": "q", "useful_nbytes": "q", "used": "B", "denormals": "i",
    },
}  # fmt: skip
PACK = {name: Struct("<" + "".join(fields.values())).pack for name, fields in LAYOUTS.items()}
DTYPE = {
    name: np.dtype([(field, np.dtype("<" + code)) for field, code in fields.items()])
    for name, fields in LAYOUTS.items()
}
EVENT, CALL_ROW, PULL_ROW, USE = PACK["event"], PACK["call"], PACK["pull"], PACK["use"]
BUFFER, COPY, SYNC, CONTRIBUTION = PACK["buffer"], PACK["copy"], PACK["sync"], PACK["contribution"]

A_SAVED, B_SAVED, OUT_SAVED, OUT_MADE, IS_BORROWED = 1, 2, 4, 8, 16  # bits of ``how`` in events
INHERITED = -2  # site of an event that stands where its forward call does
LONGEST_SHORT_NS = 1 << 32  # what takes longer gets a full row
MOST_SHORT_NAMES = 1 << 16


class Rows(list[bytes]):
    """Packed rows, in the order they were written. `join` makes one object of many, which saves their headers."""

    joined = 0  # how many objects at the front are joined ones

    def join(self) -> None:
        """Join what was written since the last time."""
        if len(self) > self.joined + 1:
            self[self.joined :] = [b"".join(self[self.joined :])]
        self.joined = len(self)


def unpacked(name: str, chunks: Sequence[list[bytes]]) -> np.ndarray[Any, Any]:
    """Rows of one layout, from lists of packed ones."""
    return np.frombuffer(bytearray(b"".join(b"".join(list(chunk)) for chunk in chunks)), DTYPE[name])
