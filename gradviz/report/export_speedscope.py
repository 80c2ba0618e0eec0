"""A trace as a speedscope file: each lane over time, then the bytes copied by stack."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from gradviz.graph.timeline import Lane, lanes, strictly_nested
from gradviz.record.atomic import whole_file
from gradviz.record.trace import Trace
from gradviz.report.plain import plain
from gradviz.version import __version__

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(trace: Trace) -> dict[str, Any]:
    """``trace`` in speedscope's file format, as JSON-ready dicts.

    Examples
    --------
    >>> [profile["name"] for profile in speedscope(trace)["profiles"]]  # doctest: +SKIP
    ['MainThread', 'bytes copied']
    """
    frames = _Frames(trace)
    profiles = [_over_time(trace, lane, frames) for lane in lanes(trace)]
    if len(trace.copies["event"]):
        profiles.append(_bytes_copied(trace, frames))
    return {
        "$schema": _SCHEMA,
        "name": plain(str(trace.meta.get("label") or "gradviz")),
        "exporter": f"gradviz {__version__}",
        "shared": {"frames": frames.frames},
        "profiles": profiles,
    }


def save_speedscope(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write ``trace`` for speedscope.app; its sandwich view of ``bytes copied`` says who copies most."""
    with whole_file(path) as file:
        file.write(json.dumps(speedscope(trace), allow_nan=False, separators=(",", ":")).encode())


class _Frames:
    """Numbers for pairs of name and line, in speedscope's form."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frames: list[dict[str, Any]] = []
        self.numbers: dict[tuple[int, int], int] = {}
        self.names, self.sites = trace.events["name_str"].tolist(), trace.events["site"].tolist()

    def number(self, event: int) -> int:
        key = self.names[event], self.sites[event]
        if key not in self.numbers:
            self.numbers[key] = len(self.frames)
            self.frames.append(self._frame(*key))
        return self.numbers[key]

    def _frame(self, name: int, site: int) -> dict[str, Any]:
        frame: dict[str, Any] = {"name": plain(self.trace.text(name)) or "(no name)"}
        if site >= 0:
            frame["file"] = plain(self.trace.text(int(self.trace.sites["file_str"][site])))
            frame["line"] = int(self.trace.sites["line"][site])
        return frame


def _over_time(trace: Trace, lane: Lane, frames: _Frames) -> dict[str, Any]:
    steps = list(_steps(trace, lane, frames))
    return {
        "type": "evented",
        "name": plain(lane.name),
        "unit": "nanoseconds",
        "startValue": steps[0]["at"],
        "endValue": max(step["at"] for step in steps),
        "events": steps,
    }


def _steps(trace: Trace, lane: Lane, frames: _Frames) -> Iterator[dict[str, Any]]:
    """Opened and closed frames, as if a stack were watched."""
    spans = strictly_nested(trace, lane)
    numbers = [frames.number(row) for row in spans.rows]
    around: list[int] = []
    for position, (begin_ns, above) in enumerate(zip(spans.begin_ns, spans.above, strict=True)):
        while around and around[-1] != above:
            done = around.pop()
            yield {"type": "C", "frame": numbers[done], "at": spans.end_ns[done]}
        around.append(position)
        yield {"type": "O", "frame": numbers[position], "at": begin_ns}
    for done in reversed(around):
        yield {"type": "C", "frame": numbers[done], "at": spans.end_ns[done]}


def _bytes_copied(trace: Trace, frames: _Frames) -> dict[str, Any]:
    parents = trace.events["parent"].tolist()
    stacks = []
    for event in trace.copies["event"].tolist():
        stack = []
        while event >= 0:
            stack.append(frames.number(event))
            event = parents[event]
        stacks.append(stack[::-1])
    weights = trace.copies["nbytes"].tolist()
    return {
        "type": "sampled",
        "name": "bytes copied",
        "unit": "bytes",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": stacks,
        "weights": weights,
    }
