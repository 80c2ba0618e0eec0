"""A trace as Chrome trace JSON, for Perfetto and chrome://tracing."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from gradviz.findings.finding import Finding
from gradviz.graph.memory import memory
from gradviz.graph.timeline import Lane, lanes, strictly_nested
from gradviz.record.atomic import whole_file
from gradviz.record.events import Answer, Direction, Kind, Reason, Role, Trigger
from gradviz.record.jsonable import jsonable
from gradviz.record.trace import Trace
from gradviz.report.finding_json import findings_of
from gradviz.report.plain import plain
from gradviz.version import __version__

_MOMENTS = 20_000
_BUFFERS = 10_000
_CHUNK_LINES = 10_000
_FINDINGS_TRACK = 1_000_000  # beyond every lane; Perfetto keeps track 0 for itself


def chrome_json(trace: Trace, findings: Iterable[Any] = ()) -> str:
    """``trace`` as one text of Chrome trace JSON; see `save_chrome`."""
    return "".join(_text(trace, findings))


def save_chrome(trace: Trace, path: str | os.PathLike[str], findings: Iterable[Any] = ()) -> None:
    """Write ``trace`` for ui.perfetto.dev.

    Each lane is a track, strictly nested; an arrow leads from each forward call to each of its pullbacks. Bytes alive
    by role are a counter, the largest 10,000 buffers are async spans, findings are instants. ``otherData`` says what
    was left out.

    Parameters
    ----------
    path : ends in ``.json`` or ``.json.gz``; the latter is compressed

    Examples
    --------
    >>> save_chrome(trace, "run.json.gz")  # doctest: +SKIP
    """
    with whole_file(path) as file:
        if os.fspath(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(text.encode() for text in _text(trace, findings))
        else:
            file.writelines(text.encode() for text in _text(trace, findings))


def _text(trace: Trace, findings: Iterable[Any]) -> Iterator[str]:
    """The file in pieces of some thousand lines."""
    yield '{"displayTimeUnit":"ns","otherData":' + _dumped(_other(trace)) + ',"traceEvents":[\n'
    chunk: list[str] = []
    separator = ""
    for line in _lines(trace, findings_of(findings)):
        chunk.append(line)
        if len(chunk) == _CHUNK_LINES:
            yield separator + ",\n".join(chunk)
            chunk, separator = [], ",\n"
    yield (separator + ",\n".join(chunk) if chunk else "") + "\n]}\n"


def _other(trace: Trace) -> dict[str, Any]:
    buffers = len(trace.buffers["nbytes"])
    curve = memory(trace, points=_MOMENTS)
    return {
        "exporter": f"gradviz {__version__}",
        "events": len(trace),
        "dropped": trace.meta.get("dropped", 0),
        "recorder_ns": trace.meta.get("recorder_ns", 0),
        "duration_ns": trace.duration_ns,
        "simulated": bool(trace.meta.get("simulated")),
        "label": plain(str(trace.meta.get("label", ""))),
        "buffers": f"{min(buffers, _BUFFERS)} of {buffers}, the largest",
        "memory": f"{min(len(curve.times_ns), curve.moments)} of {curve.moments} moments, the peaks kept",
    }


def _lines(trace: Trace, found: list[Finding]) -> Iterator[str]:
    every = lanes(trace)
    processes = {name: number for number, name in enumerate(dict.fromkeys(lane.device for lane in every), 1)}
    tracks = {lane.number: f'"pid":{processes[lane.device]},"tid":{lane.number + 1}' for lane in every}
    yield from _names(every, processes)
    flows = _flows(trace)
    for lane in every:
        yield from _spans(trace, lane, tracks, flows)
    yield from _counters(trace)
    yield from _buffers(trace)
    yield from _instants(trace, found)


def _names(every: list[Lane], processes: dict[str, int]) -> Iterator[str]:
    for name, pid in processes.items():
        yield _dumped({"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": plain(name)}})
        yield _dumped({"ph": "M", "pid": pid, "tid": 0, "name": "process_sort_index", "args": {"sort_index": pid}})
    for order, lane in enumerate(every):
        track = {"ph": "M", "pid": processes[lane.device], "tid": lane.number + 1}
        yield _dumped(track | {"name": "thread_name", "args": {"name": plain(lane.name)}})
        yield _dumped(track | {"name": "thread_sort_index", "args": {"sort_index": order}})


def _spans(trace: Trace, lane: Lane, tracks: dict[int, str], flows: dict[int, list[str]]) -> Iterator[str]:
    """The X events of one lane, each followed at once by its arrows' ends: these bind to the innermost open span."""
    events = trace.events
    spans = strictly_nested(trace, lane)
    begin_ns, end_ns = np.array(spans.begin_ns, np.int64), np.array(spans.end_ns, np.int64)
    details = _details(trace)
    track = tracks[lane.number]

    @cache
    def head(name: int, kind: int, site: int) -> tuple[str, str]:
        where = f',"line":{_dumped(plain(trace.place(site)))}' if site >= 0 else ""
        title = _dumped(plain(trace.text(name), 500) or "(no name)")
        return f'{{"ph":"X","name":{title},"cat":"{Kind(kind).name.lower()}",{track},"ts":', where

    columns = (events[column][lane.rows].tolist() for column in ("name_str", "kind", "site", "nbytes"))
    times = zip(_microseconds(begin_ns), _microseconds(end_ns - begin_ns), strict=True)
    for row, (ts, dur), name, kind, site, nbytes in zip(spans.rows, times, *columns, strict=True):
        start, where = head(name, kind, site)
        size = f',"nbytes":{nbytes}' if nbytes else ""
        yield f'{start}{ts!r},"dur":{dur!r},"args":{{"event":{row}{where}{size}{details.get(row, "")}}}}}'
        if dur > 0 and row in flows:
            for flow in flows[row]:
                yield f'{flow},{track},"ts":{ts!r}}}'


def _flows(trace: Trace) -> dict[int, list[str]]:
    """The beginnings of the lines that draw arrows, by the event they start or end at; each arrow has its own id."""
    events = trace.events
    lasting = events["end_ns"] > events["start_ns"]  # nothing binds to a span of no length
    pullbacks = trace.rows(Kind.PULLBACK)
    calls = events["call"][pullbacks]
    good = (calls >= 0) & lasting[pullbacks] & lasting[calls]
    flows: dict[int, list[str]] = {}
    for number, (call, pullback) in enumerate(zip(calls[good].tolist(), pullbacks[good].tolist(), strict=True), 1):
        arrow = f'"cat":"pullback","name":"pullback","id":{number}'
        flows.setdefault(call, []).append(f'{{"ph":"s",{arrow}')
        flows.setdefault(pullback, []).append(f'{{"ph":"f","bp":"e",{arrow}')
    return flows


def _details(trace: Trace) -> dict[int, str]:
    """What the side tables know of copies and syncs, as the end of ``args``."""
    copies, syncs = trace.copies, trace.syncs
    found = {}
    for event, reason, direction in zip(*(copies[c].tolist() for c in ("event", "reason", "direction")), strict=True):
        found[event] = f',"reason":"{Reason(reason).name.lower()}","direction":"{Direction(direction).name.lower()}"'
    columns = ("event", "trigger", "host_wait_ns", "device_idle_ns", "value_used")
    for event, trigger, wait_ns, idle_ns, used in zip(*(syncs[c].tolist() for c in columns), strict=True):
        found[event] = (
            f',"trigger":"{Trigger(trigger).name.lower()}","host_wait_ns":{wait_ns},"device_idle_ns":{idle_ns}'
            f',"value_used":"{Answer(used).name.lower()}"'
        )
    return found


def _counters(trace: Trace) -> Iterator[str]:
    found = memory(trace, points=_MOMENTS)
    if not found.moments:
        return
    seen = [role for role in Role if found.nbytes[:, role].any()]
    for ts, nbytes in zip(_microseconds(found.times_ns), found.nbytes.tolist(), strict=True):
        values = ",".join(f'"{role.name.lower()}":{nbytes[role]}' for role in seen)
        yield f'{{"ph":"C","name":"bytes alive","pid":1,"tid":0,"ts":{ts!r},"args":{{{values}}}}}'


def _buffers(trace: Trace) -> Iterator[str]:
    buffers = trace.buffers
    rows = np.sort(np.argsort(-buffers["nbytes"], kind="stable")[:_BUFFERS])
    until_ns = np.where(buffers["free_ns"] < 0, trace.duration_ns, buffers["free_ns"])
    ends_ns = np.maximum(until_ns, buffers["alloc_ns"])[rows]
    times = zip(_microseconds(buffers["alloc_ns"][rows]), _microseconds(ends_ns), strict=True)
    for row, (begin, end) in zip(rows.tolist(), times, strict=True):
        role = Role(int(buffers["role"][row])).name.lower()
        facts = {"buffer": row, "nbytes": int(buffers["nbytes"][row]), "event": int(buffers["alloc_event"][row])}
        facts |= {name: plain(trace.text(int(buffers[f"{name}_str"][row])), 80) for name in ("shape", "dtype")}
        one = f'"cat":"buffer","id":"b{row}","name":"{role}","pid":1,"tid":0'
        yield f'{{"ph":"b",{one},"ts":{begin!r},"args":{_dumped(facts)}}}'
        yield f'{{"ph":"e",{one},"ts":{end!r}}}'


def _instants(trace: Trace, found: list[Finding]) -> Iterator[str]:
    """Each finding where its first evidence begins, on a track of their own."""
    if found:
        name = {"ph": "M", "pid": 1, "tid": _FINDINGS_TRACK, "name": "thread_name", "args": {"name": "findings"}}
        yield _dumped(name)
    for finding in found:
        rows = [event for event in finding.events[:1] if event < len(trace)]
        (ts,) = _microseconds(trace.events["start_ns"][rows]) if rows else (0.0,)
        args = {"line": plain(finding.where), "cost_ns": finding.cost_ns, "cost_nbytes": finding.cost_nbytes}
        args |= {"severity": finding.severity, "remedy": plain(finding.remedy, 2000)}
        title = _dumped(plain(finding.title, 500))
        head = f'"ph":"i","s":"t","name":{title},"cat":"finding","pid":1,"tid":{_FINDINGS_TRACK}'
        yield f'{{{head},"ts":{ts!r},"args":{_dumped(args)}}}'


def _microseconds(ns: np.ndarray) -> list[float]:
    """Microseconds; 1000 times them is exactly ``ns`` again, whether a reader rounds or, as older Perfettos, cuts."""
    us = ns / 1000
    cut = (us * 1000.0).astype(np.int64) < ns
    return np.where(cut, np.nextafter(us, np.inf), us).tolist()


def _dumped(value: Any) -> str:
    return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
