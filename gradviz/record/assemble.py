"""From packed rows to a `Trace`: sorted columns, and the facts that only the end of a run can tell."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np

from gradviz.record.events import TABLES, Answer, Flag, Kind, LaneKind, Role, State, Use
from gradviz.record.recording import Recording
from gradviz.record.rows import A_SAVED, B_SAVED, DTYPE, INHERITED, IS_BORROWED, OUT_MADE, OUT_SAVED, unpacked
from gradviz.record.scribe import Scribe
from gradviz.record.trace import Table, Trace

NO, YES, UNKNOWN = int(Answer.NO), int(Answer.YES), int(Answer.UNKNOWN)


def assemble(recording: Recording) -> tuple[Trace, dict[str, str]]:
    """The trace of a recording (which may still be running), and the user's sources by file."""
    recording.bury()
    end_ns = recording.end_ns or recording.clock()
    scribes = list(recording.scribes)
    events = _events(recording, scribes, end_ns)
    events = events[np.argsort(events["number"], kind="stable")]
    row_of = Renumber(events["number"])
    buffers = _known_buffers(recording, events)
    buffer_of = Renumber(buffers["buffer"])
    uses = _uses(events, scribes, row_of, buffer_of)
    contributions = np.concatenate(
        [unpacked("contribution", [s.contributions for s in scribes]), _plain_contributions(events)]
    )
    contributions = contributions[np.argsort(contributions["event"], kind="stable")]
    tables: dict[str, Table] = {}
    for column in ("parent", "call"):
        events[column] = row_of(events[column])
    sites, became, sources = recording.lines.table(recording.text)
    sites_of = Lookup(became)(events["site"])
    inherits = (events["site"] == INHERITED) & (events["call"] >= 0)
    events["site"] = sites_of
    for _ in range(8):  # a call inside a pullback of a call inside a pullback ...
        events["site"][inherits] = events["site"][events["call"][inherits]]
    inner = (events["site"] < 0) & (events["parent"] >= 0)
    events["site"][inner] = events["site"][events["parent"][inner]]
    events["start_ns"] -= recording.origin_ns
    events["end_ns"] -= recording.origin_ns
    tables["events"] = {name: np.ascontiguousarray(events[name]) for name in TABLES["events"]}
    _contain(tables["events"])
    tables["uses"] = uses
    tables["buffers"] = _buffers(recording, buffers, row_of, buffer_of, uses, tables["events"])
    tables["copies"] = _copies(unpacked("copy", [s.copies for s in scribes]), row_of, buffer_of, tables, recording)
    contributions["event"] = row_of(contributions["event"])
    contributions["buffer"] = buffer_of(contributions["buffer"])
    variables = contributions["variable"]
    contributions["variable"] = np.where(variables >= 0, row_of(np.maximum(variables, 0)), variables)
    tables["contributions"] = columns(contributions[contributions["event"] >= 0], "contributions")
    tables["syncs"] = _syncs(unpacked("sync", [s.syncs for s in scribes]), row_of, tables)
    tables["sites"] = {name: np.array(sites[name], dtype) for name, dtype in TABLES["sites"].items()}
    tables["devices"] = _devices(recording)
    tables["lanes"] = _lanes(recording)
    meta = {
        "label": recording.label,
        "duration_ns": int(end_ns - recording.origin_ns),
        "recorder_ns": int(sum(s.own_ns for s in scribes)) if recording.device is None else 0,
        "dropped": int(sum(s.dropped for s in scribes)),
        "simulated": recording.device is not None,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(recording.started)),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "devices": [str(name) for name in recording.devices] or ["host"],
    }
    return Trace(tables, list(recording.strings), meta), sources


def columns(table: np.ndarray, name: str) -> Table:
    return {column: np.ascontiguousarray(table[column]) for column in TABLES[name]}


def _known_buffers(recording: Recording, events: np.ndarray) -> np.ndarray:
    """All buffers: those that got a row of their own, and those that a call made as its one output."""
    explicit = unpacked("buffer", [recording.made])
    making = events[events["how"] & OUT_MADE > 0]
    implicit = np.zeros(len(making), DTYPE["buffer"])
    implicit["buffer"] = implicit["alloc_event"] = making["number"]
    implicit["nbytes"] = implicit["reserved_nbytes"] = making["nbytes"]
    implicit["alloc_ns"] = making["end_ns"]
    implicit["from_pool"] = UNKNOWN
    implicit["description"] = making["description"]
    together = np.concatenate([explicit, implicit])
    return together[np.argsort(together["buffer"], kind="stable")]


def _uses(events: np.ndarray, scribes: list[Scribe], row_of: Renumber, buffer_of: Renumber) -> Table:
    """Which event used which buffer: from the event rows themselves, from rows of their own, and what pullbacks load."""
    number, how = events["number"], events["how"]
    made = how & OUT_MADE > 0
    reads = events["kind"] != Kind.PULLBACK
    parts = [unpacked("use", [s.uses for s in scribes])]
    for mask, column, use in (
        (reads & (events["a"] >= 0), "a", Use.READ),
        (reads & (events["b"] >= 0), "b", Use.READ),
        ((events["out"] >= 0) & made, "out", Use.MAKE),
        ((events["out"] >= 0) & ~made, "out", Use.VIEW),
        (reads & (how & A_SAVED > 0) & (events["a"] >= 0), "a", Use.SAVE),
        (reads & (how & B_SAVED > 0) & (events["b"] >= 0), "b", Use.SAVE),
        ((how & OUT_SAVED > 0) & (events["out"] >= 0), "out", Use.SAVE),
    ):
        part = np.empty(int(mask.sum()), DTYPE["use"])
        part["event"], part["buffer"], part["how"] = number[mask], events[column][mask], int(use)
        parts.append(part)
    uses = np.concatenate(parts)
    uses["event"], uses["buffer"] = row_of(uses["event"]), buffer_of(uses["buffer"])
    uses = uses[(uses["event"] >= 0) & (uses["buffer"] >= 0)]
    uses = np.concatenate([uses, _loads(events, uses, row_of)])
    return columns(uses[np.argsort(uses["event"], kind="stable")], "uses")


def _plain_contributions(events: np.ndarray) -> np.ndarray:
    """Those of pullbacks with one plain result, whose event row holds them."""
    simple = events[
        (events["kind"] == Kind.PULLBACK) & (events["a"] != -1)
    ]  # a and b of a pullback: variable and denormals
    made = np.empty(len(simple), DTYPE["contribution"])
    made["event"], made["variable"], made["buffer"], made["denormals"] = (
        simple["number"],
        simple["a"],
        simple["out"],
        simple["b"],
    )
    made["state"] = np.where(simple["how"] & IS_BORROWED > 0, int(State.BORROWED), int(State.OWNED))
    made["nbytes"] = made["useful_nbytes"] = simple["nbytes"]
    made["used"] = YES
    return made


def _loads(events: np.ndarray, uses: np.ndarray, row_of: Renumber) -> np.ndarray:
    """A pullback loads what its forward call saved."""
    saves = uses[uses["how"] == Use.SAVE]
    saves = saves[np.argsort(saves["event"], kind="stable")]
    pullbacks = np.flatnonzero(events["kind"] == Kind.PULLBACK)
    calls = row_of(events["call"][pullbacks])
    first, last = np.searchsorted(saves["event"], calls, "left"), np.searchsorted(saves["event"], calls, "right")
    counts = np.where(calls >= 0, last - first, 0)
    loads = np.empty(int(counts.sum()), DTYPE["use"])
    loads["event"] = np.repeat(pullbacks, counts)
    at = np.repeat(first, counts) + np.arange(len(loads)) - np.repeat(np.cumsum(counts) - counts, counts)
    loads["buffer"], loads["how"] = saves["buffer"][at], int(Use.LOAD)
    return loads


class Renumber:
    """Numbers as they were handed out -> rows of a finished table; numbers without a row become -1."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.table = np.full(int(numbers[-1]) + 2 if len(numbers) else 1, -1, np.int32)
        self.table[numbers] = np.arange(len(numbers), dtype=np.int32)

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        inside = (numbers >= 0) & (numbers < len(self.table) - 1)
        return np.where(inside, self.table[np.where(inside, numbers, -1)], -1).astype(np.int32)


class Lookup:
    def __init__(self, became: dict[int, int]) -> None:
        self.table = np.full(max(became, default=0) + 2, -1, np.int32)
        for key, value in became.items():
            self.table[key] = value

    def __call__(self, keys: np.ndarray) -> np.ndarray:
        return self.table[np.where(keys >= 0, keys, -1)]


def _events(recording: Recording, scribes: list[Scribe], end_ns: int) -> np.ndarray:
    parts = []
    sizes = np.array([*(_size(*key) for key in recording.descriptions), 8], np.int64)
    for scribe in scribes:
        part = unpacked("event", [scribe.events])
        calls, pulls = (
            _widened(unpacked("call", [scribe.calls]), sizes),
            _widened(unpacked("pull", [scribe.pulls]), sizes),
        )
        calls["call"], calls["kind"] = calls["number"], int(Kind.CALL)
        calls["out"] = np.where(calls["how"] & OUT_MADE > 0, calls["number"], -1)
        pulls["site"], pulls["kind"] = INHERITED, int(Kind.PULLBACK)
        calls["lane"] = pulls["lane"] = scribe.lane
        pulls["flags"] |= int(Flag.BACKWARD)
        if recording.device is not None:
            for rows_, packed, until, row in (
                (part, scribe.events, scribe.real_until[0], DTYPE["event"]),
                (calls, scribe.calls, scribe.real_until[1], DTYPE["call"]),
                (pulls, scribe.pulls, scribe.real_until[2], DTYPE["pull"]),
            ):
                early = rows_[: sum(map(len, packed[:until])) // row.itemsize]
                early["start_ns"] = early["end_ns"] = recording.origin_ns
                rows_["flags"] |= int(Flag.SIMULATED)
        parts += [part, calls, pulls]
        still = [
            (
                number,
                max(start, recording.origin_ns),
                end_ns,
                parent,
                -1,
                -1,
                0,
                scribe.lane,
                int(Flag.OPEN),
                int(Kind.SPAN),
                recording.text(name),
                -1,
                -1,
                -1,
                -1,
                0,
            )
            for number, start, parent, name in list(scribe.spans)
        ]
        parts.append(np.array(still, DTYPE["event"]))
    return np.concatenate(parts) if parts else np.empty(0, DTYPE["event"])


def _widened(short: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Short rows as full ones."""
    full = np.full(len(short), -1, DTYPE["event"])
    for name in short.dtype.names or ():
        if name in DTYPE["event"].names:  # type: ignore[operator]
            full[name] = short[name]
    full["end_ns"] = short["start_ns"] + short["duration_ns"]
    full["nbytes"] = sizes[short["description"]]
    return full


def _size(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    nbytes = dtype.itemsize
    for n in shape:
        nbytes *= n
    return nbytes


def _contain(events: Table) -> None:
    """Events that outlast their parent (a span closed out of order) end with it."""
    start, end, parent = events["start_ns"], events["end_ns"], events["parent"]
    np.maximum(end, start, out=end)
    inside = np.flatnonzero(parent >= 0)
    for _ in range(64):
        late = inside[(end[inside] > end[parent[inside]]) | (start[inside] < start[parent[inside]])]
        if not len(late):
            return
        start[late] = np.clip(start[late], start[parent[late]], end[parent[late]])
        end[late] = np.minimum(end[late], end[parent[late]])


def _buffers(
    recording: Recording, made: np.ndarray, row_of: Renumber, buffer_of: Renumber, uses: Table, events: Table
) -> Table:
    later = list(recording.described.items())
    if later:
        at = buffer_of(np.array([buffer for buffer, _ in later], np.int32))
        description = np.array([d for _, d in later], np.int32)
        made["description"][at[at >= 0]] = description[at >= 0]
    names = [
        (recording.text(str(dtype)), recording.text(str(tuple(int(n) for n in shape))))
        for dtype, shape in recording.descriptions
    ]
    texts = np.array([*names, (0, 0)], np.int32).reshape(-1, 2)
    table = {name: np.ascontiguousarray(made[name]) for name in TABLES["buffers"] if name in (made.dtype.names or ())}
    table["dtype_str"], table["shape_str"] = texts[made["description"], 0], texts[made["description"], 1]
    table["alloc_ns"] = np.maximum(table["alloc_ns"] - recording.origin_ns, 0)
    table["alloc_event"] = row_of(table["alloc_event"])
    freed, freed_ns = buffer_of(np.array(recording.freed, np.int32)), np.array(recording.freed_ns, np.int64)
    table["free_ns"] = np.full(len(made), -1, np.int64)
    known = freed >= 0
    table["free_ns"][freed[known]] = np.maximum(freed_ns[known] - recording.origin_ns, table["alloc_ns"][freed[known]])
    handed = buffer_of(np.array(sorted(recording.handed), np.int32))
    table["role"] = _roles(handed[handed >= 0], table, uses, events)
    return {name: table[name].astype(dtype, copy=False) for name, dtype in TABLES["buffers"].items()}


def _roles(handed: np.ndarray, table: Table, uses: Table, events: Table) -> np.ndarray:
    """The most telling thing that can be said of each buffer."""
    count = len(table["nbytes"])
    kind, how, buffer = events["kind"][uses["event"]], uses["how"], uses["buffer"]

    def touched(mask: np.ndarray) -> np.ndarray:
        found = np.zeros(count, bool)
        found[buffer[mask]] = True
        return found

    role = np.full(count, int(Role.TEMPORARY), np.uint8)
    role[touched((kind == Kind.CALL) & (how == Use.MAKE))] = Role.VALUE
    role[touched((kind == Kind.COPY) & (how == Use.MAKE))] = Role.COPY
    role[touched(how == Use.SAVE)] = Role.SAVED
    role[touched((kind == Kind.PULLBACK) & (how == Use.MAKE))] = Role.COTANGENT
    role[touched((kind == Kind.ACCUMULATE) & ((how == Use.WRITE) | (how == Use.MAKE)))] = Role.ACCUMULATOR
    role[handed] = Role.OUTPUT
    role[table["alloc_event"] < 0] = Role.INPUT
    return role


def _copies(
    copies: np.ndarray, row_of: Renumber, buffer_of: Renumber, tables: dict[str, Table], recording: Recording
) -> Table:
    copies["event"], copies["because"] = row_of(copies["event"]), row_of(copies["because"])
    copies["source"], copies["target"] = buffer_of(copies["source"]), buffer_of(copies["target"])
    copies = copies[copies["event"] >= 0]
    table = {
        name: np.ascontiguousarray(copies[name]) for name in TABLES["copies"] if name in (copies.dtype.names or ())
    }
    uses = tables["uses"]
    reads = np.isin(uses["how"], (Use.READ, Use.SAVE, Use.LOAD, Use.VIEW))
    last_read, last_write = _last(uses, reads, tables), _last(uses, uses["how"] == Use.WRITE, tables)
    for side in ("source", "target"):
        known = copies[side] >= 0
        at = np.where(known, copies[side], 0)
        for what, last in (("read", last_read), ("written", last_write)):
            later = last[at] > copies["event"] if len(last) else np.zeros(len(copies), bool)
            table[f"{side}_{what}_later"] = np.where(known, np.where(later, YES, NO), UNKNOWN).astype(np.uint8)
    escapes = np.isin(copies["target"], buffer_of(np.array(sorted(recording.handed), np.int32)))
    table["target_escapes"] = np.where(copies["target"] >= 0, np.where(escapes, YES, NO), UNKNOWN).astype(np.uint8)
    return {name: table[name].astype(dtype, copy=False) for name, dtype in TABLES["copies"].items()}


def _last(uses: Table, mask: np.ndarray, tables: dict[str, Table]) -> np.ndarray:
    """The last event that used each buffer in one way."""
    last = np.full(len(tables["buffers"]["nbytes"]), -1, np.int64)
    np.maximum.at(last, uses["buffer"][mask], uses["event"][mask])
    return last


def _syncs(syncs: np.ndarray, row_of: Renumber, tables: dict[str, Table]) -> Table:
    """Waits, with how long the stream waited for then stood idle, and whether the value read was wanted."""
    syncs["event"] = row_of(syncs["event"])
    syncs = syncs[syncs["event"] >= 0]
    events = tables["events"]
    table = {name: np.ascontiguousarray(syncs[name]) for name in TABLES["syncs"] if name in (syncs.dtype.names or ())}
    idle = np.zeros(len(syncs), np.int64)
    for lane in np.unique(syncs["stream"][syncs["on_device"] == 1]):
        work = np.flatnonzero((events["lane"] == lane) & (events["kind"] == Kind.KERNEL))
        work = work[np.argsort(events["start_ns"][work], kind="stable")]
        mine = np.flatnonzero((syncs["stream"] == lane) & (syncs["on_device"] == 1))
        asked, done = events["start_ns"][syncs["event"][mine]], events["end_ns"][syncs["event"][mine]]
        after = np.searchsorted(events["start_ns"][work], done, side="left")
        follows = after < len(work)
        starts = events["start_ns"][work][np.minimum(after, max(len(work) - 1, 0))] if len(work) else done
        ends = np.maximum.accumulate(events["end_ns"][work]) if len(work) else np.empty(0, np.int64)
        finished = np.where(after > 0, ends[np.maximum(after - 1, 0)], asked) if len(work) else asked
        idle[mine] = np.where(follows, np.maximum(starts - np.maximum(finished, asked), 0), 0)
    table["device_idle_ns"] = idle
    unwanted = tables["contributions"]["event"][tables["contributions"]["used"] == NO]
    wanted = tables["contributions"]["event"][tables["contributions"]["used"] == YES]
    parent = events["parent"][syncs["event"]]
    in_wasteful = np.isin(parent, unwanted)
    table["value_used"] = np.where(in_wasteful, NO, np.where(np.isin(parent, wanted), YES, UNKNOWN)).astype(np.uint8)
    return {name: table[name].astype(dtype, copy=False) for name, dtype in TABLES["syncs"].items()}


def _devices(recording: Recording) -> Table:
    devices = list(recording.devices.values())
    return {
        "name_str": np.array([recording.text(d.name) for d in devices], np.int32),
        "simulated": np.array([d.simulated for d in devices], np.uint8),
        "total_nbytes": np.array([d.total_nbytes for d in devices], np.int64),
        "bandwidth_bytes_per_s": np.array([d.bandwidth_bytes_per_s for d in devices], np.float64),
    }


def _lanes(recording: Recording) -> Table:
    names = list(recording.devices)
    streams = next((names.index(name) for name in names if name != "host"), -1)
    return {
        "name_str": np.array([recording.text(name) for name, _, _ in recording.lanes], np.int32),
        "kind": np.array([kind for _, kind, _ in recording.lanes], np.uint8),
        "device": np.array(
            [
                streams if kind == LaneKind.STREAM else names.index(d) if d in names else -1
                for _, kind, d in recording.lanes
            ],
            np.int16,
        ),
    }
