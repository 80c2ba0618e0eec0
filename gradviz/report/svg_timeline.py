"""The timeline as a picture: the longest events one by one, the others merged where a pixel cannot tell them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gradviz.findings.finding import Finding
from gradviz.graph.timeline import Lane, lanes
from gradviz.record.events import Flag, Kind
from gradviz.record.trace import Trace
from gradviz.report.page import escaped
from gradviz.report.plain import clipped, plain
from gradviz.report.ticks import ticks, time_tick
from gradviz.words import count_text, duration_text

_WIDTH_PX = 1080
_LEFT_PX = 130
_PLOT_PX = _WIDTH_PX - _LEFT_PX - 8
_ROW_PX = 16
_HEAD_PX = 34
_LANE_GAP_PX = 10
_MOST_LANES = 16
_MOST_LEVELS = 12
_CHARACTER_PX = 6.2
WINDOW_EVENTS = 120
_DARK_ON = {Kind.SPAN, Kind.ACCUMULATE, Kind.PULLBACK}


@dataclass(frozen=True)
class Picture:
    """An SVG, the kinds of event in the trace, how many events are merged, and what is left out in words."""

    svg: str
    kinds: list[Kind]
    merged: int
    note: str


@dataclass(frozen=True)
class _Scale:
    """Time to pixels: ``from_ns`` stands at the left edge."""

    from_ns: int
    until_ns: int

    @property
    def px_per_ns(self) -> float:
        return _PLOT_PX / max(self.until_ns - self.from_ns, 1)

    def px(self, ns: float) -> float:
        return _LEFT_PX + min(max((ns - self.from_ns) * self.px_per_ns, 0), _PLOT_PX)


def timeline_svg(
    trace: Trace, findings: Sequence[Finding] = (), most: int = 2500, window_ns: tuple[int, int] | None = None
) -> Picture:
    """The lanes of ``trace`` over time.

    Parameters
    ----------
    trace : what was recorded
    findings : findings, marked where their first evidence is
    most : at most so many events are drawn one by one
    window_ns : the stretch of time to show; by default all of it
    """
    events = trace.events
    scale = _Scale(*(window_ns or (0, whole_ns(trace))))
    every = lanes(trace)
    busiest = sorted(every, key=lambda lane: -lane.busy_ns)[:_MOST_LANES]
    shown = sorted(busiest, key=lambda lane: (lane.kind, lane.number))
    seen = (events["start_ns"] < scale.until_ns) & (events["end_ns"] >= scale.from_ns)
    duration_ns = np.where(seen, events["end_ns"] - events["start_ns"], -1)
    alone = np.zeros(len(trace), bool)
    alone[np.argsort(-duration_ns, kind="stable")[:most]] = True
    alone &= duration_ns * scale.px_per_ns >= 1
    parts: list[str] = []
    top_px, merged, deep = _HEAD_PX, 0, 0
    for lane in shown:
        levels = min(int(lane.depth.max()) + 1, _MOST_LEVELS)
        visible = seen[lane.rows] & (lane.depth < levels)
        merged += int((visible & ~alone[lane.rows]).sum())
        deep += int((seen[lane.rows] & ~visible).sum())
        parts += _lane(trace, lane, levels, top_px, scale, seen, alone)
        top_px += levels * _ROW_PX + _LANE_GAP_PX
    drawing = "".join([*_axis(scale, top_px), *parts, *_flags(trace, findings, scale, top_px)])
    label = f"Timeline of {count_text(int(seen.sum()), 'event')} in {count_text(len(shown), 'lane')}"
    svg = f'<svg viewBox="0 0 {_WIDTH_PX} {top_px}" role="img" aria-label="{label}">{drawing}</svg>'
    counts = np.bincount(events["kind"], minlength=len(Kind))
    note = _note(len(trace), merged, deep, len(every) - len(shown))
    return Picture(svg, [kind for kind in Kind if counts[kind]], merged, note)


def whole_ns(trace: Trace) -> int:
    """The time that a timeline must show: to the end of the run, and of its last event."""
    return max(trace.duration_ns, int(trace.events["end_ns"].max(initial=0)), 1)


def telling_window(trace: Trace, findings: Sequence[Finding]) -> tuple[tuple[int, int], str]:
    """About a hundred events, and which: around the first finding, else where the backward pass begins."""
    events = trace.events
    number, event = next(
        ((n, event) for n, finding in enumerate(findings, 1) for event in finding.events[:1] if event < len(trace)),
        (0, -1),
    )
    if event < 0:
        backward = np.flatnonzero(events["flags"] & Flag.BACKWARD)
        event = int(backward[0]) if len(backward) else 0
    order = np.argsort(events["start_ns"], kind="stable")
    position = int(np.searchsorted(events["start_ns"][order], events["start_ns"][event]))
    first, last = max(position - WINDOW_EVENTS // 3, 0), min(position + 2 * WINDOW_EVENTS // 3, len(trace) - 1)
    from_ns, until_ns = (int(events["start_ns"][order[place]]) for place in (first, last))
    until_ns = max(until_ns, from_ns + 1)
    what = f"around finding {number}" if number else "where the backward pass begins"
    return (from_ns, until_ns), f"{what}, {duration_text(until_ns - from_ns)} from {time_tick(from_ns)} on"


def _note(events: int, merged: int, deep: int, lanes_left: int) -> str:
    parts = [f"{count_text(events, 'event')}"]
    if merged:
        parts.append(f"{count_text(merged)} merged: too short to be drawn one by one")
    if deep:
        parts.append(f"{count_text(deep)} not shown: nested more than {_MOST_LEVELS} deep")
    if lanes_left:
        parts.append(f"{count_text(lanes_left, 'lane')} of little work not shown")
    return "; ".join(parts)


def _lane(
    trace: Trace, lane: Lane, levels: int, top_px: int, scale: _Scale, seen: np.ndarray, alone: np.ndarray
) -> Iterator[str]:
    yield f'<text x="0" y="{top_px + 12}">{escaped(clipped(plain(lane.name), 18))}</text>'
    if levels > 1:
        yield f'<text class="faint" x="0" y="{top_px + 27}">{duration_text(lane.busy_ns)} busy</text>'
    yield f'<rect class="band" x="{_LEFT_PX}" y="{top_px}" width="{_PLOT_PX}" height="{levels * _ROW_PX}"/>'
    for level in range(levels):
        rows = lane.rows[(lane.depth == level) & seen[lane.rows]]
        y_px = top_px + level * _ROW_PX
        yield from _merged(trace, rows[~alone[rows]], y_px, scale)
        yield from (_event(trace, row, y_px, scale) for row in rows[alone[rows]].tolist())


def _event(trace: Trace, row: int, y_px: int, scale: _Scale) -> str:
    events = trace.events
    start_ns, end_ns = int(events["start_ns"][row]), int(events["end_ns"][row])
    kind, name = Kind(int(events["kind"][row])).name.lower(), plain(trace.name(row), 80)
    left_px, right_px = scale.px(start_ns), scale.px(end_ns)
    tip = " · ".join(part for part in (name, kind, duration_text(end_ns - start_ns), trace.where(row)) if part)
    box = (
        f'<rect class="k-{kind}" x="{left_px:.1f}" y="{y_px + 1}" width="{max(right_px - left_px - 0.4, 0.6):.1f}" '
        f'height="{_ROW_PX - 2}"><title>{escaped(tip)}</title></rect>'
    )
    letters = int((right_px - left_px - 6) / _CHARACTER_PX)
    if letters < 3 or not name:
        return box
    tone = "on dark" if Kind[kind.upper()] in _DARK_ON else "on"
    return f'{box}<text class="{tone}" x="{left_px + 3:.1f}" y="{y_px + 12}">{escaped(clipped(name, letters))}</text>'


def _merged(trace: Trace, rows: np.ndarray, y_px: int, scale: _Scale) -> Iterator[str]:
    """Short events, a box for each run of pixels in which the same kind takes most of the time."""
    if not len(rows):
        return
    events = trace.events
    pixel = ((events["start_ns"][rows] - scale.from_ns) * scale.px_per_ns).astype(int).clip(0, _PLOT_PX - 1)
    time_ns = np.zeros((_PLOT_PX, len(Kind)))
    np.add.at(time_ns, (pixel, events["kind"][rows]), events["end_ns"][rows] - events["start_ns"][rows] + 1)
    count = np.bincount(pixel, minlength=_PLOT_PX)
    ruling = np.where(count > 0, time_ns.argmax(axis=1), -1)
    starts = np.flatnonzero(np.diff(ruling, prepend=-2))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), _PLOT_PX], strict=True):
        if ruling[start] >= 0:
            kind = Kind(int(ruling[start])).name.lower()
            tip = f"{count_text(int(count[start:end].sum()), 'short event')}, mostly {kind}"
            box = f'class="k-{kind}" x="{_LEFT_PX + start}" y="{y_px + 1}" width="{end - start}" height="{_ROW_PX - 2}"'
            yield f'<rect {box} opacity=".65"><title>{tip}</title></rect>'


def _axis(scale: _Scale, bottom_px: int) -> Iterator[str]:
    for after_ns in ticks(scale.until_ns - scale.from_ns, 8):
        x_px = scale.px(scale.from_ns + after_ns)
        sign = "+" if scale.from_ns and after_ns else ""
        yield f'<line class="grid" x1="{x_px:.1f}" x2="{x_px:.1f}" y1="20" y2="{bottom_px}"/>'
        if x_px < _WIDTH_PX - 40:
            yield f'<text class="faint" x="{x_px + 3:.1f}" y="28">{sign}{time_tick(after_ns)}</text>'


def _flags(trace: Trace, findings: Sequence[Finding], scale: _Scale, bottom_px: int) -> Iterator[str]:
    """The number of each finding above its first evidence; one that would cover another is left out."""
    taken: list[float] = []
    for number, finding in enumerate(findings, 1):
        for event in finding.events[:1]:
            start_ns = int(trace.events["start_ns"][event]) if event < len(trace) else -1
            x_px = scale.px(start_ns)
            if scale.from_ns <= start_ns < scale.until_ns and all(abs(x_px - other) >= 14 for other in taken):
                taken.append(x_px)
                title = f"<title>{escaped(finding.title)}</title>"
                yield f'<line class="mark" x1="{x_px:.1f}" x2="{x_px:.1f}" y1="14" y2="{bottom_px}"/>'
                yield f'<text class="flag" x="{x_px:.1f}" y="11" text-anchor="middle">{number}{title}</text>'
