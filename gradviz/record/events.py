"""What can stand in a trace: the tables, their columns, and the words that small integers stand for.

A trace is a set of tables; a table is a set of equally long typed columns; the row number is the identity.
The row number of a call in ``events`` is *the* number of that call: tape, graph, findings and viewer all use it.

Times are int64 nanoseconds on the host clock of the run, counted from its start (on a simulated device: its clock).
A missing reference is -1.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

SCHEMA_VERSION = 1


class Kind(IntEnum):
    """What kind of thing an event is."""

    CALL = 0  # one NumPy-level operation of the forward pass (or of a pullback that is itself traced)
    PULLBACK = 1  # one input's cotangent made from an output's cotangent
    ACCUMULATE = 2  # a cotangent added to another one of the same variable
    COPY = 3  # bytes moved; see table ``copies``
    SYNC = 4  # the host waited for a device, or read a value; see table ``syncs``
    KERNEL = 5  # work on a device stream
    SPAN = 6  # a stretch of the program named by the user or by gradviz ("forward", "backward")
    COMPILE = 7  # a kernel or plan being compiled
    COLLECT = 8  # Python's garbage collector


class Flag(IntFlag):
    """What else is true of an event."""

    BACKWARD = 1  # happened while the reverse pass ran
    RECOMPUTED = 2  # ran again only because a checkpoint threw its first result away
    FAILED = 4  # ended with an exception
    OPEN = 8  # had not ended when recording stopped; its end is the end of the recording
    SIMULATED = 16  # its times come from a model, not from a clock
    DEVICE_TIMED = 32  # its times were measured on the device; all others were seen from the host


class Reason(IntEnum):
    """Why a copy was made."""

    EXPLICIT = 0  # the user asked: ``copy()``, ``np.array(x)``
    SAVED_VALUE = 1  # a pullback had kept the value that a write was about to destroy
    CALLERS_ARRAY = 2  # the memory written to belongs to the caller
    CONTIGUOUS = 3  # the consumer needs another memory layout
    DTYPE = 4  # converted to another dtype
    BROADCAST = 5  # a broadcast view made real
    FIRST_ACCUMULATION = 6  # a shared cotangent copied once so that others can be added in place
    INDEXED = 7  # zeros made to hold the cotangent of a part (an indexing read)
    SCALAR_READ = 8  # device value read by the host
    CONSTANT_UPLOAD = 9  # host constant moved to the device
    TRANSFER = 10  # other movement between host and device
    RETURNED = 11  # result must not share memory with what the caller or the tape holds
    RESHAPE = 12  # reshape of memory that no view can express
    ADVANCED_INDEX = 13  # integer-array or mask indexing gathers
    DEFENSIVE = 14  # copied for safety from aliasing by a rule or the user's own code
    UNKNOWN = 15


class Direction(IntEnum):
    """Between which memories a copy moved bytes."""

    HOST_TO_HOST = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3


class Trigger(IntEnum):
    """What made the host wait, or read a value."""

    ITEM = 0
    FLOAT = 1
    INT = 2
    BOOL = 3
    COMPLEX = 4
    GET = 5  # whole array to the host
    PRINT = 6  # repr, str, format
    SHAPE = 7  # a result whose shape depends on values: nonzero, unique
    MASK = 8  # boolean mask as an index
    EXPLICIT = 9  # stream, event or device synchronize
    TOLIST = 10
    PAGEABLE = 11  # copy from or to pageable host memory
    ALLOCATION = 12  # the allocator had to wait for the device
    HIDDEN = 13  # inside a library, by itself: no door saw it, CUPTI did


class Answer(IntEnum):
    """A question that may stay open."""

    NO = 0
    YES = 1
    UNKNOWN = 2


class Role(IntEnum):
    """What a buffer is for."""

    INPUT = 0  # came from outside the recording
    OUTPUT = 1  # handed back to the user
    VALUE = 2  # result of a forward call that nothing keeps for backward
    SAVED = 3  # kept by a pullback
    COTANGENT = 4
    ACCUMULATOR = 5  # a cotangent that others were added into
    COPY = 6  # target of a recorded copy
    TEMPORARY = 7  # made and dropped inside one call or pullback


class Use(IntEnum):
    """How an event uses a buffer."""

    READ = 0
    WRITE = 1  # into memory that existed before
    MAKE = 2  # the buffer was allocated for this
    VIEW = 3  # the result is an alias of this buffer
    SAVE = 4  # kept for a pullback of this call
    LOAD = 5  # a kept value read by this pullback


class State(IntEnum):
    """State of a cotangent when it reached its variable."""

    ZERO = 0
    INDEXED = 1
    BORROWED = 2
    OWNED = 3


class LaneKind(IntEnum):
    """What a lane of the timeline shows."""

    THREAD = 0
    STREAM = 1
    COPY_ENGINE = 2


# table -> column -> little-endian dtype. Columns ending in _str index ``strings``.
TABLES: dict[str, dict[str, str]] = {
    # one row for each thing that took time
    "events": {
        "kind": "u1",  # Kind
        "name_str": "<i4",
        "lane": "<i2",
        "start_ns": "<i8",
        "end_ns": "<i8",
        "parent": "<i4",  # innermost enclosing event on the same lane
        "call": "<i4",  # the forward call it belongs to; a CALL's own number
        "site": "<i4",  # the user's line
        "flags": "<u2",  # Flag
        "nbytes": "<i8",  # bytes written or moved
    },
    # one row for each COPY event
    "copies": {
        "event": "<i4",
        "source": "<i4",  # buffer
        "target": "<i4",  # buffer
        "nbytes": "<i8",
        "direction": "u1",  # Direction
        "reason": "u1",  # Reason
        "because": "<i4",  # the call that made it necessary (the one that saved the value)
        "source_read_later": "u1",  # Answer
        "source_written_later": "u1",  # Answer
        "target_read_later": "u1",  # Answer
        "target_written_later": "u1",  # Answer
        "target_escapes": "u1",  # Answer: handed to the user
    },
    # one row for each SYNC event
    "syncs": {
        "event": "<i4",
        "trigger": "u1",  # Trigger
        "stream": "<i2",  # lane of the stream waited for
        "nbytes": "<i8",
        "host_wait_ns": "<i8",
        "device_idle_ns": "<i8",  # how long the device then had nothing to do
        "value_used": "u1",  # Answer
        "on_device": "u1",  # 1: a real wait; 0: a value read on the host, which costs nothing
    },
    # one row for each piece of memory
    "buffers": {
        "device": "<i2",
        "nbytes": "<i8",
        "reserved_nbytes": "<i8",  # what the allocator set aside for it
        "alloc_ns": "<i8",  # of memory older than the recording: when it was first met
        "free_ns": "<i8",  # -1: alive at the end
        "alloc_event": "<i4",  # -1: older than the recording
        "role": "u1",  # Role
        "dtype_str": "<i4",
        "shape_str": "<i4",  # "(3, 4)"
        "from_pool": "u1",  # Answer
    },
    # which event used which buffer, and how; data flow and aliases are read from here
    "uses": {
        "event": "<i4",
        "buffer": "<i4",
        "how": "u1",  # Use
    },
    # one row for each cotangent that reached a variable
    "contributions": {
        "event": "<i4",  # the PULLBACK that made it
        "variable": "<i4",  # the call (or input) whose output it is the cotangent of
        "buffer": "<i4",
        "state": "u1",  # State
        "nbytes": "<i8",  # size of the variable
        "useful_nbytes": "<i8",  # size of the part that is not structurally zero
        "used": "u1",  # Answer: somebody downstream, or the user, wanted it
        "denormals": "<i4",  # how many entries are subnormal; -1: not looked at
    },
    # one row for each line of source
    "sites": {
        "file_str": "<i4",
        "line": "<i4",  # 1-based
        "function_str": "<i4",
        "cell": "<i4",  # execution count of the notebook cell, -1 elsewhere
        "cell_hash_str": "<i4",  # blake2b-8 hex of the cell's source, "" elsewhere
        "text_str": "<i4",  # the line itself, stripped
    },
    "lanes": {
        "name_str": "<i4",
        "kind": "u1",  # LaneKind
        "device": "<i2",
    },
    "devices": {
        "name_str": "<i4",  # "host", "sim:a100"
        "simulated": "u1",
        "total_nbytes": "<i8",
        "bandwidth_bytes_per_s": "<f8",
    },
}
