"""The events of a trace as a list of plain dicts."""

from __future__ import annotations

from typing import Any

from gradviz.graph.timeline import enclosing_span, lanes, strictly_nested
from gradviz.record.events import Flag, Kind
from gradviz.record.trace import Trace

_LONGEST_PATH = 16


def event_list(trace: Trace) -> list[dict[str, Any]]:
    """Every event of ``trace`` as a dict; its place in the list is its number.

    ======================= ==========================================================================================
    ``name``, ``where``     what ran, and the user's line
    ``ts``, ``dur``         begin and length in µs; events with one ``tid`` (the lane) nest strictly
    ``parent``              the number of the event around it, or None
    ``kind``                ``span``, ``backward`` or ``op``; ``type`` has the finer `Kind`
    ``label``, ``path``     the innermost span around its forward call; the innermost 16 from outside, joined by "/"
    ======================= ==========================================================================================

    Examples
    --------
    >>> event_list(trace)[0]["name"]  # doctest: +SKIP
    'multiply'
    """
    events = trace.events
    found: list[dict[str, Any]] = [{}] * len(trace)
    spans = enclosing_span(trace).tolist()
    paths: dict[int, tuple[str, ...]] = {-1: ()}
    places = [trace.place(site) for site in range(len(trace.sites["line"]))] + [""]  # site -1 picks the last
    columns = zip(
        *(
            events[name].tolist()
            for name in ("kind", "name_str", "lane", "start_ns", "parent", "call", "site", "flags")
        ),
        _ends_ns(trace),
        strict=True,
    )
    for row, (kind, name, lane, start_ns, parent, call, site, flags, end_ns) in enumerate(columns):
        around = spans[call if call >= 0 and call != row else row]
        path = _path(trace, around, spans, paths)
        found[row] = {
            "name": trace.text(name),
            "ts": start_ns / 1000,
            "dur": (end_ns - start_ns) / 1000,
            "tid": lane,
            "parent": parent if parent >= 0 else None,
            "kind": "span" if kind == Kind.SPAN else "backward" if flags & Flag.BACKWARD else "op",
            "label": path[-1] if path else "",
            "path": "/".join(path),
            "type": Kind(kind).name.lower(),
            "where": places[site],
        }
    return found


def _ends_ns(trace: Trace) -> list[int]:
    """The ends of the events, cut so that events of one lane nest."""
    ends_ns = trace.events["end_ns"].tolist()
    for lane in lanes(trace):
        spans = strictly_nested(trace, lane)
        for row, end_ns in zip(spans.rows, spans.end_ns, strict=True):
            ends_ns[row] = end_ns
    return ends_ns


def _path(trace: Trace, span: int, spans: list[int], paths: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
    """The names of the spans around and including ``span``, from outside; no recursion, for spans may nest deeply."""
    missing = []
    while span not in paths:
        missing.append(span)
        span = spans[span]
    path = paths[span]
    for one in reversed(missing):
        path = paths[one] = (*path, trace.name(one))[-_LONGEST_PATH:]
    return path
