"""The part of a large trace that is worth keeping where there is room for little of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradviz.record.events import TABLES
from gradviz.record.trace import Table, Trace

# What each reference column counts rows of.
_EVENTS = {"parent", "call", "event", "because", "alloc_event", "variable"}
_BUFFERS = {"source", "target", "buffer"}


def thin(trace: Trace, findings: Iterable[Mapping[str, Any]], events: int) -> tuple[Trace, list[dict[str, Any]]]:
    """A trace of about ``events`` events, and the findings with the numbers that events have in it.

    Kept are the evidence of findings and the longest of the rest, each with what encloses it and with its forward call;
    buffers that are alive at the peak of memory, and the largest of the rest. ``meta["recorded"]`` says how many events
    there were, ``meta["recorded_buffers"]`` how many buffers.

    Parameters
    ----------
    trace : any trace; one with no more events than asked for comes back as it is
    findings : findings as JSON-ready dicts
    events : how many to keep; enclosing events may add some

    Examples
    --------
    >>> small, found = thin(trace, [], 20_000)  # doctest: +SKIP
    """
    found = [dict(finding) for finding in findings]
    if len(trace) <= events:
        return trace, found
    kept_events = _events(trace, found, events)
    kept_buffers = _buffers(trace, events)
    became_event, became_buffer = _numbers(kept_events), _numbers(kept_buffers)
    tables = {
        name: _renumbered(_kept(trace, name, kept_events, kept_buffers), became_event, became_buffer) for name in TABLES
    }
    for finding in found:
        finding["events"] = _renamed(finding.get("events", ()), became_event)
        finding["buffers"] = _renamed(finding.get("buffers", ()), became_buffer)
    meta = {"recorded": len(trace), "recorded_buffers": len(kept_buffers), **trace.meta}
    return replace(trace, tables=tables, meta=meta), found


def _events(trace: Trace, findings: list[dict[str, Any]], limit: int) -> np.ndarray:
    columns = trace.events
    worth = (columns["end_ns"] - columns["start_ns"]).astype(np.float64)
    evidence = [event for finding in findings for event in finding.get("events", ())[:200]]
    worth[evidence] = np.inf
    kept = np.zeros(len(trace), bool)
    kept[np.argsort(-worth, kind="stable")[:limit]] = True
    for column in ("call", "parent"):
        more = kept
        while more.any():
            wanted = columns[column][more]
            more = np.zeros_like(kept)
            more[wanted[wanted >= 0]] = True
            more &= ~kept
            kept |= more
    return kept


def _buffers(trace: Trace, limit: int) -> np.ndarray:
    columns = trace.buffers
    kept = np.ones(len(columns["nbytes"]), bool)
    if len(kept) <= limit:
        return kept
    peak_ns = _peak_ns(columns)
    alive = (columns["alloc_ns"] <= peak_ns) & ((columns["free_ns"] < 0) | (columns["free_ns"] > peak_ns))
    worth = np.where(alive, np.inf, columns["nbytes"])
    kept[np.argsort(-worth, kind="stable")[limit:]] = False
    return kept


def _peak_ns(buffers: Table) -> int:
    freed = buffers["free_ns"] >= 0
    moments = np.concatenate([buffers["free_ns"][freed], buffers["alloc_ns"]])
    changes = np.concatenate([-buffers["nbytes"][freed], buffers["nbytes"]])
    order = np.argsort(moments, kind="stable")
    return int(moments[order][np.argmax(np.cumsum(changes[order]))])


def _numbers(kept: np.ndarray) -> np.ndarray:
    """Old row number -> new one, -1 for what goes; the last entry answers for -1."""
    return np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)


def _renamed(rows: Iterable[int], became: np.ndarray) -> list[int]:
    return [int(became[row]) for row in rows if 0 <= row < len(became) - 1 and became[row] >= 0]


def _kept(trace: Trace, name: str, events: np.ndarray, buffers: np.ndarray) -> Table:
    table = trace.tables[name]
    if name == "events":
        rows = events
    elif name == "buffers":
        rows = buffers
    elif name == "uses":
        rows = events[table["event"]] & buffers[table["buffer"]]
    elif "event" in table:
        rows = events[table["event"]]
    else:
        return dict(table)
    return {column: values[rows] for column, values in table.items()}


def _renumbered(table: Table, events: np.ndarray, buffers: np.ndarray) -> Table:
    for column in table:
        if column in _EVENTS:
            table[column] = events[table[column]]
        elif column in _BUFFERS:
            table[column] = buffers[table[column]]
    return table
