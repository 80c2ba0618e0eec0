"""A trace as plotly figures, for those who compose their own views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import MissingPackageError
from gradviz.graph import memory as curves
from gradviz.graph.timeline import lanes
from gradviz.record.events import Kind, Role
from gradviz.record.trace import Trace
from gradviz.report.palette import KIND_COLOURS, ROLE_COLOURS
from gradviz.report.plain import plain
from gradviz.report.text import recording_text, simulated_text
from gradviz.report.ticks import size_tick, ticks
from gradviz.words import count_text, duration_text, nbytes_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_POINTS = 2000
_HOVER = "<b>%{text}</b><br>%{customdata[1]}<br>%{customdata[2]}<br>event %{customdata[0]}<extra></extra>"


def timeline(trace: Trace, most: int = 3000) -> Figure:
    """The lanes of ``trace`` over time; the longest ``most`` events, one bar each.

    Examples
    --------
    >>> timeline(trace).show()  # doctest: +SKIP
    """
    go = _plotly()
    events = trace.events
    duration_ns = events["end_ns"] - events["start_ns"]
    longest = np.zeros(len(trace), bool)
    longest[np.argsort(-duration_ns, kind="stable")[:most]] = True
    rows_of = [(lane, level) for lane in lanes(trace) for level in range(int(lane.depth.max()) + 1)]
    # Rows are known by their label: an inner row has the same lane, so its label is a text that shows as nothing.
    labels = [plain(lane.name, 24) if level == 0 else "\u200b" * row for row, (lane, level) in enumerate(rows_of)]
    figure = go.Figure()
    for kind in Kind:
        chosen, places = [], []
        for label, (lane, level) in zip(labels, rows_of, strict=True):
            rows = lane.rows[(lane.depth == level) & longest[lane.rows] & (events["kind"][lane.rows] == kind)]
            chosen += rows.tolist()
            places += [label] * len(rows)
        if chosen:
            figure.add_bar(
                y=places,
                base=events["start_ns"][chosen] / 1e6,
                x=duration_ns[chosen] / 1e6,
                orientation="h",
                name=kind.name.lower(),
                marker={"color": KIND_COLOURS[kind], "line": {"width": 0}},
                text=[_markup_free(trace.name(row)) for row in chosen],
                textposition="inside",
                insidetextanchor="start",
                textangle=0,
                customdata=[
                    [row, duration_text(int(duration_ns[row])), _markup_free(trace.where(row))] for row in chosen
                ],
                hovertemplate=_HOVER,
            )
    drawn = int(longest.sum())
    shown = "" if drawn == len(trace) else f"; the longest {count_text(drawn)} shown"
    figure.update_layout(
        barmode="overlay", bargap=0.08, height=180 + 24 * len(labels), **_layout(trace, "Timeline", shown)
    )
    figure.update_layout(uniformtext={"minsize": 10, "mode": "hide"})
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1])
    return figure


def memory(trace: Trace) -> Figure:
    """Bytes alive over time, by role, with the peak marked.

    Examples
    --------
    >>> memory(trace).write_html("memory.html")  # doctest: +SKIP
    """
    go = _plotly()
    found = curves.memory(trace, points=_POINTS)
    figure = go.Figure()
    for role in Role:
        if found.nbytes[:, role].any():
            figure.add_scatter(
                x=found.times_ns / 1e6,
                y=found.nbytes[:, role],
                name=role.name.lower(),
                stackgroup="alive",
                line={"shape": "hv", "width": 0.5, "color": ROLE_COLOURS[role]},
                fillcolor=ROLE_COLOURS[role],
                text=[nbytes_text(value) for value in found.nbytes[:, role].tolist()],
                hovertemplate="%{text}<extra>%{fullData.name}</extra>",
            )
    if found.peak_nbytes:
        peak = f"peak {nbytes_text(found.peak_nbytes)}"
        figure.add_vline(found.peak_ns / 1e6, line={"dash": "dot", "width": 1}, annotation_text=peak)
    shown = (
        ""
        if found.moments <= _POINTS
        else f"; {count_text(len(found.times_ns))} of {count_text(found.moments)} moments"
    )
    figure.update_layout(hovermode="x unified", **_layout(trace, "Memory", shown))
    marks = ticks(found.peak_nbytes, 6, base=2)
    figure.update_yaxes(title="bytes alive", tickvals=marks, ticktext=[size_tick(mark) for mark in marks])
    return figure


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise MissingPackageError("figures need plotly, which is not installed: pip install plotly") from error
    return go


def _layout(trace: Trace, title: str, shown: str) -> dict[str, Any]:
    note = " · ".join(part for part in (recording_text(trace) + shown, _markup_free(simulated_text(trace))) if part)
    return {
        "title": {"text": f"{title}<br><sup>{note}</sup>"},
        "template": "plotly_white",
        "xaxis": {"title": "time (ms)", "rangemode": "tozero"},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "margin": {"t": 70, "r": 20, "b": 90},
    }


def _markup_free(text: str) -> str:
    """Text that plotly, which reads a little HTML in labels, shows as it is."""
    return plain(text, 80).replace("&", "&amp;").replace("<", "&lt;")
