"""Made-up traces of any size for tests of what reads them: shaped like real ones, different with each seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from gradviz.record.events import TABLES, Direction, Flag, Kind, LaneKind, Reason, Role, State, Trigger, Use
from gradviz.record.trace import Trace, empty_tables

ODD_NAMES = (
    'a"b', "C:\\temp\\x.py", "two\nlines\ttab", "\x00\x07ctl\x1b[31mred", "\ud800 lone", "漢字 😀", "\u202eabc", "",
    "NaN",     "</script><img src=x onerror=alert(1)>", "]]>&amp;--><svg/onload=alert(1)>", "x" * 10_000,
)  # fmt: skip

_PROGRAM = (
    (3, "loss", "h = np.tanh(x @ w1)"),
    (4, "loss", "y = np.exp(h) * mask"),
    (5, "loss", "z = np.tensordot(y, w2, axes=1)"),
    (6, "loss", "for i in range(n): total += p[i] * z[i]"),
    (7, "loss", "return np.mean((z - t) ** 2)"),
    (12, "train", "params = adam(params, gradient)"),
)
_CALLS = ("matmul", "tanh", "multiply", "exp", "tensordot", "getitem", "subtract", "power", "mean", "reshape")


class Maker:
    """Builds a trace event by event on a clock of its own.

    >>> maker = Maker()
    >>> with maker.event(Kind.CALL, "multiply") as call:
    ...     maker.wait(1000)
    >>> maker.trace().name(call)
    'multiply'
    """

    def __init__(self, seed: int = 0, simulated: bool = False) -> None:
        self.random = random.Random(seed)
        self.now_ns = 0
        self.rows: dict[str, list[dict]] = {table: [] for table in TABLES}
        self.strings = {"": 0}
        self.open: dict[int, list[int]] = {}
        self.simulated = simulated
        name = "sim:a100" if simulated else "host"
        self.host = self.add("devices", name="host", simulated=0, total_nbytes=8 << 30, bandwidth_bytes_per_s=2e10)
        self.device = (
            self.add("devices", name=name, simulated=1, total_nbytes=80 << 30, bandwidth_bytes_per_s=1.5e12)
            if simulated
            else self.host
        )
        self.thread = self.add("lanes", name="MainThread", kind=LaneKind.THREAD, device=self.host)
        self.stream = self.add("lanes", name=f"{name} stream 0", kind=LaneKind.STREAM, device=self.device)
        self.sites = [self.site("train.py", line, function, text) for line, function, text in _PROGRAM]

    def text(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def add(self, table: str, **values) -> int:
        """A row; texts may be given as ``name="..."`` for ``name_str``; what is not given is -1 (0 for unsigned)."""
        row = {}
        for column, dtype in TABLES[table].items():
            key = column.removesuffix("_str")
            value = values.pop(key, values.pop(column, 0 if "u" in dtype or column.endswith(("nbytes", "_ns")) else -1))
            row[column] = self.text(value) if isinstance(value, str) else value
        assert not values, f"{table} has no {list(values)}"
        self.rows[table].append(row)
        return len(self.rows[table]) - 1

    def site(self, file: str, line: int, function: str = "f", text: str = "", cell: int = -1) -> int:
        return self.add("sites", file=file, line=line, function=function, text=text, cell=cell, cell_hash="")

    def wait(self, ns: int | None = None) -> None:
        self.now_ns += int(self.random.lognormvariate(7, 1)) if ns is None else ns

    @contextmanager
    def event(self, kind: Kind, name: str, lane: int | None = None, **columns) -> Iterator[int]:
        """An event that lasts as long as the block; yields its number."""
        lane = self.thread if lane is None else lane
        stack = self.open.setdefault(lane, [])
        parent = stack[-1] if stack else -1
        above = self.rows["events"][parent] if stack else {"site": -1, "call": -1, "flags": 0}
        row = self.add(
            "events", kind=kind, name=name, lane=lane, start_ns=self.now_ns, parent=parent,
            site=columns.pop("site", above["site"]), call=columns.pop("call", above["call"]),
            flags=columns.pop("flags", above["flags"]), **columns,
        )  # fmt: skip
        if kind == Kind.CALL and self.rows["events"][row]["call"] == above["call"]:
            self.rows["events"][row]["call"] = row
        stack.append(row)
        try:
            yield row
        finally:
            stack.pop()
            self.rows["events"][row]["end_ns"] = self.now_ns

    def buffer(self, nbytes: int, event: int = -1, role: Role = Role.VALUE, free_ns: int = -1, **columns) -> int:
        """A buffer allocated now."""
        return self.add(
            "buffers", device=self.device, nbytes=nbytes, reserved_nbytes=-(-nbytes // 512) * 512, alloc_ns=self.now_ns,
            free_ns=free_ns, alloc_event=event, role=role, dtype="float64", shape=f"({nbytes // 8},)", **columns,
        )  # fmt: skip

    def free(self, buffer: int) -> None:
        self.rows["buffers"][buffer]["free_ns"] = self.now_ns

    def copy(self, source: int, nbytes: int, reason: Reason, **columns) -> int:
        """A COPY event with its row and target buffer."""
        direction = columns.pop("direction", Direction.HOST_TO_HOST)
        with self.event(Kind.COPY, reason.name.lower(), nbytes=nbytes) as event:
            target = self.buffer(nbytes, event, Role.COPY)
            self.wait(max(nbytes // 20, 200))
        self.add(
            "copies",
            event=event,
            source=source,
            target=target,
            nbytes=nbytes,
            direction=direction,
            reason=reason,
            **columns,
        )
        self.uses(event, (source, Use.READ), (target, Use.MAKE))
        return target

    def sync(self, trigger: Trigger, wait_ns: int, idle_ns: int = 0) -> int:
        with self.event(Kind.SYNC, trigger.name.lower(), nbytes=8) as event:
            self.wait(wait_ns)
        self.add(
            "syncs", event=event, trigger=trigger, stream=self.stream, nbytes=8, host_wait_ns=wait_ns,
            device_idle_ns=idle_ns, on_device=1,
        )  # fmt: skip
        return event

    def uses(self, event: int, *uses: tuple[int, Use]) -> None:
        for buffer, how in uses:
            self.add("uses", event=event, buffer=buffer, how=how)

    def trace(self, **meta) -> Trace:
        tables = empty_tables()
        for table, columns in TABLES.items():
            for column, dtype in columns.items():
                tables[table][column] = np.array([row[column] for row in self.rows[table]], dtype)
        facts = {
            "duration_ns": self.now_ns, "recorder_ns": self.now_ns // 40, "dropped": 0, "simulated": self.simulated,
            "label": "train.py", "started": "2026-01-02T03:04:05", "python": "3.11", "numpy": "2.4",
            "devices": ["sim:a100" if self.simulated else "host"],
        }  # fmt: skip
        return Trace(tables, list(self.strings), facts | meta)

    def step(self, calls: int = 12, names: tuple[str, ...] = _CALLS) -> None:
        """One training step: calls, then a pullback for each of them, with copies, syncs and kernels among them."""
        taped: list[tuple[int, int]] = []
        first = len(self.rows["buffers"])
        with self.event(Kind.SPAN, "step"):
            value = self.buffer(1 << self.random.randrange(10, 22), role=Role.INPUT)
            with self.event(Kind.SPAN, "forward"):
                for _ in range(calls):
                    value = self._call(self.random.choice(names), value, taped)
            with self.event(Kind.SPAN, "backward", flags=Flag.BACKWARD):
                self._backward(taped)
        self.wait()
        for buffer in range(first, len(self.rows["buffers"]) - 1):  # the last one is still held
            if self.rows["buffers"][buffer]["free_ns"] < 0:
                self.free(buffer)

    def _call(self, name: str, value: int, taped: list[tuple[int, int]]) -> int:
        site = self.random.choice(self.sites)
        nbytes = 1 << self.random.randrange(8, 22)
        with self.event(Kind.CALL, name, site=site, nbytes=nbytes) as call:
            self.wait()
            if self.random.random() < 0.2:
                value = self.copy(value, nbytes, self.random.choice(list(Reason)[:8]), because=call)
            saved = self.random.random() < 0.6
            result = self.buffer(nbytes, call, Role.SAVED if saved else Role.VALUE)
            self._kernel(name, call, nbytes)
            self.wait()
        self.uses(call, (value, Use.READ), (result, Use.SAVE if saved else Use.MAKE), (result, Use.MAKE))
        taped.append((call, result))
        return result

    def _backward(self, taped: list[tuple[int, int]]) -> None:
        accumulator = self.buffer(1 << 16, role=Role.ACCUMULATOR)
        for call, result in reversed(taped):
            row = self.rows["events"][call]
            name = next(text for text, index in self.strings.items() if index == row["name_str"])
            like = {"call": call, "site": row["site"], "nbytes": row["nbytes"]}
            with self.event(Kind.PULLBACK, f"{name} > x", **like) as pullback:
                self.wait()
                if self.random.random() < 0.15:
                    self.sync(self.random.choice(list(Trigger)), self.random.randrange(10**3, 10**5), 5000)
                cotangent = self.buffer(row["nbytes"], pullback, Role.COTANGENT)
                self._kernel(f"{name} > x", call, row["nbytes"])
            self.uses(pullback, (result, Use.LOAD), (cotangent, Use.MAKE))
            self.add(
                "contributions", event=pullback, variable=call, buffer=cotangent, state=State.OWNED,
                nbytes=row["nbytes"], useful_nbytes=row["nbytes"] // 2, denormals=-1,
            )  # fmt: skip
            if self.random.random() < 0.3:
                with self.event(Kind.ACCUMULATE, name, **like) as event:
                    self.wait()
                self.uses(event, (cotangent, Use.READ), (accumulator, Use.WRITE))
            self.free(cotangent)
            if self.rows["buffers"][result]["free_ns"] < 0:
                self.free(result)

    def _kernel(self, name: str, call: int, nbytes: int) -> None:
        """Work on the device stream that starts where the last kernel ended."""
        if not self.simulated:
            return
        before = (row["end_ns"] for row in self.rows["events"][-50:] if row["lane"] == self.stream)
        start_ns = max(self.now_ns, max(before, default=0))
        self.add(
            "events", kind=Kind.KERNEL, name=name, lane=self.stream, start_ns=start_ns,
            end_ns=start_ns + 500 + nbytes // 100, nbytes=nbytes, call=call, flags=Flag.SIMULATED,
            site=self.rows["events"][call]["site"],
        )  # fmt: skip


def made_trace(steps=3, calls=12, seed=0, simulated=False, names: tuple[str, ...] = _CALLS) -> Trace:
    """A training run of ``steps`` steps."""
    maker = Maker(seed, simulated)
    for _ in range(steps):
        maker.step(calls, names)
    if simulated:
        maker.now_ns = max(maker.now_ns, *(row["end_ns"] for row in maker.rows["events"]))
    return maker.trace()


def long_trace(events: int, seed: int = 0) -> Trace:
    """At least ``events`` events: a made trace told again and again, with times that differ each time."""
    part = made_trace(40, 40, seed, simulated=True)
    times = -(-events // len(part))
    rows = {table: len(next(iter(columns.values()))) for table, columns in part.tables.items()}
    duration_ns = int(part.meta["duration_ns"])
    once = {"sites", "lanes", "devices"}
    targets = {
        "parent": "events", "call": "events", "event": "events", "because": "events", "alloc_event": "events",
        "variable": "events", "source": "buffers", "target": "buffers", "buffer": "buffers",
    }  # fmt: skip
    tables = empty_tables()
    for table, columns in part.tables.items():
        for column, values in columns.items():
            shift = rows[targets[column]] if column in targets else duration_ns if column in _TIMES else 0
            if table in once or not shift:
                tables[table][column] = values.copy() if table in once else np.tile(values, times)
                continue
            shifts = np.repeat(np.arange(times, dtype=np.int64) * shift, rows[table])
            tiled = np.tile(values, times)
            tables[table][column] = np.where(tiled < 0, tiled, tiled + shifts).astype(values.dtype)
    trace = Trace(tables, part.strings, part.meta | {"duration_ns": duration_ns * times})
    _warp(trace, seed)
    return trace


_TIMES = {"start_ns", "end_ns", "alloc_ns", "free_ns"}


def _warp(trace: Trace, seed: int) -> None:
    """Stretch the time between every two neighbouring moments at random; order, so nesting, stays."""
    tables = trace.events, trace.buffers
    columns = [(table, column) for table in tables for column in sorted(_TIMES & table.keys())]
    moments, where = np.unique(np.concatenate([table[column] for table, column in columns]), return_inverse=True)
    gaps = np.diff(moments, prepend=0) * np.random.default_rng(seed).lognormal(0, 0.3, len(moments))
    warped = np.cumsum(np.maximum(gaps, 1)).astype(np.int64)
    pieces = np.split(warped[where], np.cumsum([len(table[column]) for table, column in columns])[:-1])
    for (table, column), piece in zip(columns, pieces, strict=True):
        table[column] = np.where(table[column] < 0, -1, piece)
    trace.meta["duration_ns"] = int(max(warped[-1], trace.meta["duration_ns"]))
