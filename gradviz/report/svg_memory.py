"""Bytes alive over time as a picture: one layer for each role."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradviz.graph.memory import Memory
from gradviz.record.events import Role
from gradviz.report.page import escaped
from gradviz.report.ticks import size_tick, ticks, time_tick
from gradviz.words import duration_text, nbytes_text

_WIDTH_PX = 1080
_HEIGHT_PX = 210
_LEFT_PX, _TOP_PX, _BOTTOM_PX = 80, 20, 186
_PLOT_PX = _WIDTH_PX - _LEFT_PX - 8
_COLUMNS = 330


def memory_svg(found: Memory, duration_ns: int) -> str:
    """The curve of ``found``; each column shows the moment in it at which most was alive."""
    whole_ns = max(duration_ns, int(found.times_ns[-1]), 1)
    top_nbytes = found.peak_nbytes * 1.08 or 1
    columns = _columns(found, whole_ns)
    layers = np.cumsum(columns, axis=1)
    floor = np.zeros(len(columns), np.int64)
    parts = list(_axes(whole_ns, top_nbytes))
    for role in Role:
        if columns[:, role].any():
            parts.append(f'<path class="r-{role.name.lower()}" d="{_area(floor, layers[:, role], top_nbytes)}"/>')
        floor = layers[:, role]
    parts += _peak(found, whole_ns, top_nbytes)
    label = escaped(f"Bytes alive over time, at most {nbytes_text(found.peak_nbytes)}")
    return f'<svg viewBox="0 0 {_WIDTH_PX} {_HEIGHT_PX}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _columns(found: Memory, whole_ns: int) -> np.ndarray:
    """Bytes by role in each column, at the moment of the column's highest total; shape (columns, roles)."""
    edges_ns = np.linspace(0, whole_ns, _COLUMNS + 1)
    starts = np.searchsorted(found.times_ns, edges_ns[:-1], "right") - 1
    ends = np.searchsorted(found.times_ns, edges_ns[1:], "left")
    columns = np.zeros((_COLUMNS, len(Role)), np.int64)
    for column, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        first = max(start, 0)
        if end > first:
            columns[column] = found.nbytes[first + int(found.total_nbytes[first:end].argmax())]
    return columns


def _area(floor: np.ndarray, roof: np.ndarray, top_nbytes: float) -> str:
    """A path along the roof from left to right and back along the floor, in steps."""
    x_px = [f"{_LEFT_PX + _PLOT_PX * i / len(roof):.1f}" for i in range(len(roof) + 1)]
    upper = [f"{_y_px(value, top_nbytes):.1f}" for value in roof.tolist()]
    lower = [f"{_y_px(value, top_nbytes):.1f}" for value in floor.tolist()]
    forth = [f"V{y}H{x}" for y, x in zip(upper, x_px[1:], strict=True)]
    back = [f"V{y}H{x}" for y, x in zip(reversed(lower), reversed(x_px[:-1]), strict=True)]
    return f"M{x_px[0]} {lower[0]}{''.join(forth)}{''.join(back)}Z"


def _y_px(nbytes: float, top_nbytes: float) -> float:
    return _BOTTOM_PX - (_BOTTOM_PX - _TOP_PX) * nbytes / top_nbytes


def _axes(whole_ns: int, top_nbytes: float) -> Iterator[str]:
    for nbytes in ticks(top_nbytes, 5, base=2):
        y_px = _y_px(nbytes, top_nbytes)
        yield f'<line class="grid" x1="{_LEFT_PX}" x2="{_WIDTH_PX - 8}" y1="{y_px:.1f}" y2="{y_px:.1f}"/>'
        yield f'<text class="faint" x="{_LEFT_PX - 6}" y="{y_px + 4:.1f}" text-anchor="end">{size_tick(nbytes)}</text>'
    for tick_ns in ticks(whole_ns, 8):
        x_px = _LEFT_PX + _PLOT_PX * tick_ns / whole_ns
        yield f'<text class="faint" x="{x_px:.1f}" y="{_BOTTOM_PX + 16}">{time_tick(tick_ns)}</text>'


def _peak(found: Memory, whole_ns: int, top_nbytes: float) -> Iterator[str]:
    x_px = _LEFT_PX + _PLOT_PX * found.peak_ns / whole_ns
    y_px = _y_px(found.peak_nbytes, top_nbytes)
    side = "start" if x_px < _WIDTH_PX * 0.7 else "end"
    shift_px = 6 if side == "start" else -6
    yield f'<line class="mark" x1="{x_px:.1f}" x2="{x_px:.1f}" y1="6" y2="{_BOTTOM_PX}"/>'
    text = f"peak {nbytes_text(found.peak_nbytes)} after {duration_text(found.peak_ns)}"
    yield f'<text x="{x_px + shift_px:.1f}" y="{min(y_px, 14):.1f}" text-anchor="{side}">{escaped(text)}</text>'
