"""What a terminal shows of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradviz.findings.finding import Finding
from gradviz.graph.compare import Change, Difference, Total
from gradviz.graph.copies import copies_by_reason
from gradviz.graph.lines import lines
from gradviz.graph.memory import Memory, holders, memory
from gradviz.graph.shares import shares
from gradviz.graph.syncs import syncs_by_trigger
from gradviz.record.trace import Trace
from gradviz.report.finding_json import findings_of
from gradviz.report.plain import clipped, plain, shown_width
from gradviz.report.terminal import Column, Paper, Style, bar, chart
from gradviz.words import count_text, duration_text, nbytes_text, share_text

_SEVERITY_STYLE: dict[str, Style] = {"high": "red", "medium": "yellow", "low": "cyan"}
_CHART_ROWS = 4
_WIDE = 100


class Text(str):
    """A text that a prompt shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def summary(
    trace: Trace, findings: Iterable[Any] = (), top: int = 10, width: int | None = None, colour: bool | None = None
) -> Text:
    """The findings of a run, then where its time and memory went, as text.

    Parameters
    ----------
    trace : what was recorded
    findings : what was found in it
    top : at most so many findings, lines, holders
    width : columns; by default those of the terminal
    colour : by default only where a terminal is

    Examples
    --------
    >>> print(summary(trace, find_all(trace)))  # doctest: +SKIP
    """
    paper = Paper.like_stdout(width, colour)
    sections = [
        _head(paper, trace),
        _findings(paper, trace, findings_of(findings), top),
        _lines(paper, trace, top),
        _memory(paper, trace, top),
        _copies(paper, trace, top),
        _syncs(paper, trace, top),
    ]
    return Text("\n\n".join("\n".join(section) for section in sections if section))


def comparison_text(
    difference: Difference, top: int = 10, width: int | None = None, colour: bool | None = None
) -> Text:
    """Two runs side by side, as text: their totals, then what changed most."""
    paper = Paper.like_stdout(width, colour)
    totals = [_total_row(total) for total in difference.totals if total.before or total.after]
    columns = [Column(""), *(Column(name, right=True) for name in ("before", "after", "change"))]
    changes = difference.changes[:top]
    note = f"{len(changes)} of {count_text(len(difference.changes), 'group')}" if changes else "nothing"
    sections = [[paper.heading("Totals"), *paper.table(columns, totals)], [paper.heading("What changed", note)]]
    if changes:
        names = ("verdict", "line", "what", "time", "bytes", "count")
        table = [Column(n, right=n in names[3:], keep_end=n == "line", flexible=n == "what") for n in names]
        sections[1] += paper.table(table, [_change_row(change) for change in changes])
    return Text("\n\n".join("\n".join(section) for section in sections))


def recording_text(trace: Trace) -> str:
    """How much was recorded, how much was not, and what recording cost: shown with every view.

    Examples
    --------
    >>> recording_text(trace)  # doctest: +SKIP
    '12,304 events; 0 dropped; recorder used 3.10 ms of 118 ms'
    """
    used, whole = duration_text(int(trace.meta.get("recorder_ns") or 0)), duration_text(trace.duration_ns)
    dropped = int(trace.meta.get("dropped") or 0)
    return f"{count_text(len(trace), 'event')}; {count_text(dropped)} dropped; recorder used {used} of {whole}"


def simulated_text(trace: Trace) -> str:
    """``SIMULATED`` with the devices whose times come from a model; "" if all times were measured."""
    devices = trace.devices
    names = [trace.text(int(i)) for i in devices["name_str"][devices["simulated"] == 1]]
    return " ".join(["SIMULATED", *map(plain, names)]) if names or trace.meta.get("simulated") else ""


def _head(paper: Paper, trace: Trace) -> list[str]:
    label = plain(str(trace.meta.get("label") or ""))
    whole_ns = trace.duration_ns
    spent = [(name, ns) for name, ns in shares(trace).items() if ns > 0]
    total_ns = sum(ns for _, ns in spent) or 1
    facts = [duration_text(whole_ns), f"peak {nbytes_text(memory(trace).peak_nbytes)}", recording_text(trace)]
    simulated = simulated_text(trace)
    return [
        paper.ends(f"gradviz  {label}", simulated, "bold", "magenta"),
        *paper.joined(facts),
        *paper.joined([f"{name} {share_text(ns / total_ns)}" for name, ns in spent]),
    ]


def _findings(paper: Paper, trace: Trace, found: list[Finding], top: int) -> list[str]:
    if not found:
        return [paper.heading("Findings"), " none: nothing here wastes enough time or memory to be worth a change"]
    cost_ns = min(sum(finding.cost_ns for finding in found if not finding.harmless), trace.duration_ns)
    together = f", together {duration_text(cost_ns)} of {duration_text(trace.duration_ns)}" if cost_ns else ""
    note = count_text(len(found), "finding") + together
    rows = [paper.heading("Findings", note)]
    for number, finding in enumerate(found[:top], 1):
        rows += [*[""] * (number > 1), *_finding(paper, number, finding)]
    if len(found) > top:
        rows.append(paper.styled(f"    {len(found) - top} more: summary(top={len(found)})", "dim"))
    return rows


def _finding(paper: Paper, number: int, finding: Finding) -> list[str]:
    cost = [duration_text(finding.cost_ns)] if finding.cost_ns else []
    cost += [nbytes_text(finding.cost_nbytes)] if finding.cost_nbytes else []
    cost += [share_text(finding.share)] if finding.share else []
    cost += ["simulated"] if finding.simulated else []
    mark = "harmless now" if finding.harmless else finding.severity
    style = "dim" if finding.harmless else _SEVERITY_STYLE[finding.severity]
    where = clipped(plain(finding.where), paper.width // 3, keep_end=True)
    room = paper.width - 6 - shown_width(where)
    first, *further = paper.joined([clipped(word, room) for word in plain(finding.title).split()], " ", room)
    rows = [paper.ends(f"{number:>2}  {first}", where, "bold")]
    rows += ["    " + paper.styled(line, "bold") for line in further]
    rows.append("  ".join(["    " + paper.styled(f"● {mark}", style), *[" · ".join(cost)] * bool(cost)]))
    for word, text in (("why", finding.reason), ("do", finding.remedy), ("valid if", finding.valid_if)):
        if text:
            rows += paper.wrapped(plain(text, 2000), word, 14)
        if word == "do":
            rows += _code(paper, finding)
    return rows


def _code(paper: Paper, finding: Finding) -> list[str]:
    """The lines to take out and to put in."""
    changes: tuple[tuple[str, str, Style], ...] = (("-", finding.before, "red"), ("+", finding.after, "green"))
    return [
        " " * 12 + paper.styled(plain(f"{sign} {line}", paper.width - 12), style)
        for sign, code, style in changes
        for line in code.splitlines()[:6]
    ]


def _lines(paper: Paper, trace: Trace, top: int) -> list[str]:
    found = [line for line in lines(trace) if line.host_ns or line.device_ns]
    if not found:
        return []
    dearest_ns = max(line.host_ns for line in found) or 1
    total_ns = sum(line.host_ns for line in found) or 1
    wide = paper.width >= _WIDE
    has_device = wide and any(line.device_ns for line in found)
    numbers = ["forward", "backward", "share", *["device"] * has_device, *["calls"] * wide, "copied", "syncs"]
    columns = [Column("line", keep_end=True, most=26), *(Column(name, right=True) for name in numbers)]
    columns.insert(4, Column("", most=10 if wide else 4))
    columns.append(Column("source", flexible=True, style="dim"))
    rows = []
    for line in found[:top]:
        cells = {
            "forward": duration_text(line.forward_ns) if line.forward_ns else "–",
            "backward": duration_text(line.backward_ns) if line.backward_ns else "–",
            "share": share_text(line.host_ns / total_ns),
            "device": duration_text(line.device_ns) if line.device_ns else "–",
            "calls": count_text(line.calls),
            "copied": nbytes_text(line.copied_nbytes) if line.copies else "–",
            "syncs": count_text(line.syncs) if line.syncs else "–",
            "line": plain(line.where) or "(no line)",
            "source": plain(line.text),
            "": bar(line.host_ns / dearest_ns, 10 if wide else 4),
        }
        rows.append([cells[column.name] for column in columns])
    note = f"{min(top, len(found))} of {count_text(len(found), 'line')}"
    return [paper.heading("Time by line", note), *paper.table(columns, rows)]


def _memory(paper: Paper, trace: Trace, top: int) -> list[str]:
    found = memory(trace)
    if not found.peak_nbytes:
        return []
    held = holders(trace, found.peak_ns)
    columns = [
        Column("held", right=True), Column("", right=True), Column("role"), Column("made by", most=24),
        Column("line", flexible=True, keep_end=True), Column("buffers", right=True),
    ]  # fmt: skip
    rows = [
        [
            nbytes_text(holder.nbytes),
            share_text(holder.nbytes / found.peak_nbytes),
            holder.role.name.lower(),
            plain(holder.name) or "(before the recording)",
            plain(holder.where),
            count_text(len(holder.buffers)),
        ]
        for holder in held[:top]
    ]
    note = f"peak {nbytes_text(found.peak_nbytes)} after {duration_text(found.peak_ns)}"
    return [paper.heading("Memory", note), *_curve(paper, trace, found), *paper.table(columns, rows)]


def _curve(paper: Paper, trace: Trace, found: Memory) -> list[str]:
    """The bytes alive over time, as a chart with its axes."""
    label = nbytes_text(found.peak_nbytes).rjust(10)
    columns = paper.width - len(label) - 3
    whole_ns = max(trace.duration_ns, int(found.times_ns[-1]), 1)
    drawn = chart(found.highest(whole_ns, columns).tolist(), _CHART_ROWS)
    axis = [label + " ┤", *[" " * 10 + " │"] * (_CHART_ROWS - 2), "0 ┤".rjust(12)]
    rows = [
        paper.styled(mark, "dim") + paper.styled(row.rstrip(), "cyan") for mark, row in zip(axis, drawn, strict=True)
    ]
    scale = " " * 12 + "0 " + duration_text(whole_ns).rjust(columns - 2)
    return [*rows, paper.styled(scale, "dim")]


def _copies(paper: Paper, trace: Trace, top: int) -> list[str]:
    groups = copies_by_reason(trace)
    if not groups:
        return []
    count, nbytes, took_ns = (sum(getattr(g, name) for g in groups) for name in ("count", "nbytes", "took_ns"))
    numbers = [Column(name, right=True) for name in ("copies", "bytes", "time")]
    columns = [*numbers, Column("reason"), Column("line", flexible=True, keep_end=True)]
    rows = [
        [
            count_text(group.count),
            nbytes_text(group.nbytes),
            duration_text(group.took_ns),
            group.reason.name.lower().replace("_", " "),
            plain(group.where),
        ]
        for group in groups[:top]
    ]
    note = f"{count_text(count, 'copy', 'copies')}, {nbytes_text(nbytes)}, {duration_text(took_ns)}"
    return [paper.heading("Copies by reason", note), *paper.table(columns, rows)]


def _syncs(paper: Paper, trace: Trace, top: int) -> list[str]:
    groups = syncs_by_trigger(trace)
    if not groups:
        return []
    count, wait_ns, idle_ns = (sum(getattr(g, name) for g in groups) for name in ("count", "wait_ns", "idle_ns"))
    numbers = [Column(name, right=True) for name in ("syncs", "host waited", "device idle", "unused")]
    columns = [*numbers, Column("trigger"), Column("pass"), Column("line", flexible=True, keep_end=True)]
    rows = [
        [
            count_text(group.count),
            duration_text(group.wait_ns),
            duration_text(group.idle_ns),
            count_text(group.unused) if group.unused else "–",
            group.trigger.name.lower(),
            "backward" if group.backward else "forward",
            plain(group.where),
        ]
        for group in groups[:top]
    ]
    note = f"{count_text(count, 'sync')}, waited {duration_text(wait_ns)}, then idle {duration_text(idle_ns)}"
    return [paper.heading("Syncs", note), *paper.table(columns, rows)]


def _total_row(total: Total) -> list[str]:
    values = (total_text(total, total.before), total_text(total, total.after))
    return [total.name, *values, change_text(total.before, total.after)]


def _change_row(change: Change) -> list[str]:
    return [
        change.verdict,
        plain(change.where),
        plain(f"{change.kind.name.lower()} {change.name}"),
        signed(change.delta_ns, duration_text),
        signed(change.delta_nbytes, nbytes_text),
        f"{change.count_before:,} → {change.count_after:,}",
    ]


def total_text(total: Total, value: int) -> str:
    """One of the two values of a total, in its unit."""
    return {"ns": duration_text, "bytes": nbytes_text}.get(total.unit, count_text)(value)


def change_text(before: int, after: int) -> str:
    """How a figure changed: in percent, or as a factor if it more than doubled.

    Examples
    --------
    >>> change_text(100, 100), change_text(100, 50), change_text(100, 450), change_text(3, 0), change_text(0, 3)
    ('=', '−50 %', '×4.5', 'gone', 'new')
    """
    if before == after:
        return "="
    if not before or not after:
        return "new" if after else "gone"
    if after > 2 * before:
        return f"×{after / before:.1f}"
    percent = f"{100 * abs(after - before) / before:.0f} %"
    return "≈" if percent == "0 %" else ("+" if after > before else "−") + percent


def signed(value: int, write: Callable[[float], str]) -> str:
    """A difference with its sign; "=" for none."""
    return ("+" if value > 0 else "−") + write(abs(value)) if value else "="
