"""A profile as one static HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradviz.findings.finding import Finding
from gradviz.graph.copies import copies_by_reason
from gradviz.graph.lines import Line, lines
from gradviz.graph.memory import holders, memory
from gradviz.graph.shares import shares
from gradviz.graph.syncs import syncs_by_trigger
from gradviz.record.events import Kind, Role
from gradviz.record.trace import Trace
from gradviz.report.finding_json import findings_of
from gradviz.report.page import document, escaped
from gradviz.report.svg_memory import memory_svg
from gradviz.report.svg_timeline import WINDOW_EVENTS, telling_window, timeline_svg
from gradviz.report.text import recording_text, simulated_text
from gradviz.version import __version__
from gradviz.words import count_text, duration_text, nbytes_text, share_text

FRAGMENT_LIMIT_NBYTES = 2_000_000

_SHARE_CLASSES = {
    "forward": "k-call",
    "pullbacks": "k-pullback",
    "accumulations": "k-accumulate",
    "copies": "k-copy",
    "syncs": "k-sync",
    "compiling": "k-compile",
    "collecting": "k-collect",
    "python": "k-span",
}


@dataclass(frozen=True)
class Room:
    """How much of everything a page may hold."""

    findings: int
    lines: int
    rows: int
    events: int


PAGE = Room(findings=200, lines=300, rows=15, events=6000)
_FRAGMENTS = (Room(20, 30, 10, 2500), Room(10, 15, 5, 800), Room(5, 5, 3, 100))


def report_html(trace: Trace, findings: Iterable[Any] = ()) -> str:
    """The whole page.

    Examples
    --------
    >>> Path("report.html").write_text(report_html(trace, find_all(trace)))  # doctest: +SKIP
    """
    return document(page_title(trace), static_body(trace, findings))


def html_fragment(trace: Trace, findings: Iterable[Any] = (), height_px: int = 640) -> str:
    """The page for display in a notebook: in a frame of its own, and less than 2 MB whatever was recorded.

    It runs no script, so it shows in every front end that shows frames; what is left out is said in it.
    """
    found = list(findings)
    for room in _FRAGMENTS:
        page = document(page_title(trace), static_body(trace, found, room))
        frame = framed(page, recording_text(trace), height_px)
        if len(frame.encode()) < FRAGMENT_LIMIT_NBYTES:
            break
    return frame


def static_body(trace: Trace, findings: Iterable[Any] = (), room: Room = PAGE) -> str:
    """What stands between the body tags; an interactive viewer puts its own body in its place (see `document`)."""
    found = findings_of(findings)
    sections = [
        _head(trace),
        _findings(found, room),
        _lines(trace, room),
        _timeline(trace, found, room),
        _memory(trace, room),
        f'<div class="pair">{_copies(trace, room)}{_syncs(trace, room)}</div>',
        f"<footer>{escaped(recording_text(trace))}. Made by gradviz {__version__}.</footer>",
    ]
    return f"<main>\n{chr(10).join(section for section in sections if section)}\n</main>"


def page_title(trace: Trace) -> str:
    """What a page about the run is called."""
    return " ".join(["gradviz", str(trace.meta.get("label") or "")]).strip()


def framed(page: str, fallback: str, height_px: int) -> str:
    """A page in a frame of its own; ``fallback`` is for readers that show no frames."""
    document_ = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe title="gradviz report" width="100%" height="{height_px}" frameborder="0" sandbox="" '
        f'srcdoc="{document_}">gradviz: {escaped(fallback)}</iframe>'
    )


def _head(trace: Trace) -> str:
    label, simulated = escaped(str(trace.meta.get("label") or "")), simulated_text(trace)
    facts = [recording_text(trace)] + [f"{key} {trace.meta[key]}" for key in ("python", "numpy") if trace.meta.get(key)]
    facts += [str(trace.meta["started"])] if trace.meta.get("started") else []
    stamp = f'<span class="stamp" title="times come from a model, not from a clock">{escaped(simulated)}</span>'
    return (
        f'<header><div class="top"><h1>gradviz <small>{label}</small></h1>{stamp if simulated else ""}</div>'
        f'<p class="dim">{escaped(" · ".join(facts))}</p>{_tiles(trace)}{_share_bar(trace)}</header>'
    )


def _tiles(trace: Trace) -> str:
    copied, synced, curve = copies_by_reason(trace), syncs_by_trigger(trace), memory(trace)
    waited_ns = sum(group.wait_ns for group in synced)
    tiles = [
        ("time", duration_text(trace.duration_ns), ""),
        ("peak memory", nbytes_text(curve.peak_nbytes), ""),
        (
            "pullbacks",
            count_text(len(trace.rows(Kind.PULLBACK))),
            f"of {count_text(len(trace.rows(Kind.CALL)), 'call')}",
        ),
        ("copies", count_text(sum(g.count for g in copied)), nbytes_text(sum(g.nbytes for g in copied))),
        ("syncs", count_text(sum(g.count for g in synced)), f"waited {duration_text(waited_ns)}" if synced else ""),
    ]
    cells = [f"<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>" for name, value, note in tiles]
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def _share_bar(trace: Trace) -> str:
    """What the host's time went to, as one bar."""
    spent = {name: ns for name, ns in shares(trace).items() if ns > 0}
    total_ns = sum(spent.values()) or 1
    boxes, left = [], 0.0
    for name, ns in spent.items():
        width = 1000 * ns / total_ns
        box = f'<rect class="{_SHARE_CLASSES[name]}" x="{left:.1f}" width="{width:.1f}" height="14">'
        boxes.append(f"{box}<title>{name} {duration_text(ns)}</title></rect>")
        left += width
    entries = [(_SHARE_CLASSES[name], f"{name} {share_text(ns / total_ns)}") for name, ns in spent.items()]
    bar = f'viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="share of time">{"".join(boxes)}'
    return f'<div class="share"><svg {bar}</svg></div>{_legend(entries)}'


def _legend(entries: Iterable[tuple[str, str]]) -> str:
    swatch = '<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{}" width="10" height="10"/></svg>'
    items = [f"<li>{swatch.format(kind)}{escaped(text)}</li>" for kind, text in entries]
    return f'<ul class="legend">{"".join(items)}</ul>'


def section(title: str, note: str, content: str) -> str:
    """A part of the page; ``content`` is markup."""
    return f"<section><h2>{title}<small>{escaped(note, 400)}</small></h2>{content}</section>"


def _findings(found: list[Finding], room: Room) -> str:
    if not found:
        text = "Nothing here wastes enough time or memory to be worth a change."
        return section("What to change", "", f'<p class="none">{text}</p>')
    items = [_finding(number, finding) for number, finding in enumerate(found[: room.findings], 1)]
    note = _of(len(items), len(found), "finding")
    return section("What to change", note, f'<ol class="findings">{"".join(items)}</ol>')


def _finding(number: int, finding: Finding) -> str:
    costs = [duration_text(finding.cost_ns)] if finding.cost_ns else []
    costs += [nbytes_text(finding.cost_nbytes)] if finding.cost_nbytes else []
    costs += [f"{share_text(finding.share)} of the run"] if finding.share else []
    costs += [f"{count_text(finding.count)} times"] if finding.count > 1 else []
    costs += ["simulated"] if finding.simulated else []
    name = "harmless" if finding.harmless else finding.severity
    rows = [("why", escaped(finding.reason, 2000)), ("do", escaped(finding.remedy, 2000) + _code(finding))]
    rows += [("valid if", escaped(finding.valid_if, 2000))]
    listed = "".join(f"<dt>{word}</dt><dd>{text}</dd>" for word, text in rows if text)
    reasons = f'<dl class="why">{listed}</dl>' if listed else ""
    return (
        f'<li class="finding {name}"><div class="top"><h3>{number}. {escaped(finding.title)}</h3>'
        f'<span class="where">{escaped(finding.where)}</span></div><p class="cost">'
        f'<span class="tag">{"harmless now" if finding.harmless else name}</span> <b>{" · ".join(costs)}</b></p>'
        f"{reasons}</li>"
    )


def _code(finding: Finding) -> str:
    """The lines to take out and to put in."""
    old = [f"<del>- {escaped(line)}</del>" for line in finding.before.splitlines()[:12]]
    new = [f"<ins>+ {escaped(line)}</ins>" for line in finding.after.splitlines()[:12]]
    return f"<pre>{chr(10).join(old + new)}</pre>" if old or new else ""


def _lines(trace: Trace, room: Room) -> str:
    found = [line for line in lines(trace) if line.host_ns or line.device_ns or line.allocated_nbytes]
    if not found:
        return ""
    dearest_ns = max(line.host_ns for line in found) or 1
    rows = [_line(line, dearest_ns) for line in found[: room.lines]]
    heads = [head for head in rows[0] if any(row[head] for row in rows)]
    cells = ([row[head] or '<td class="n">–</td>' for head in heads] for row in rows)
    return section("Time by line", _of(len(rows), len(found), "line"), table(heads, cells))


def _line(line: Line, dearest_ns: int) -> dict[str, str]:
    """The cells of one line by their heads; "" for nothing to tell."""
    forward, backward = (1000 * ns / dearest_ns for ns in (line.forward_ns, line.backward_ns))
    bar = (
        '<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="k-call" width="{forward:.0f}" height="10"/>'
        f'<rect class="k-pullback" x="{forward:.0f}" width="{backward:.0f}" height="10"/></svg>'
    )
    numbers = {
        "n:forward": line.forward_ns and duration_text(line.forward_ns),
        "n:backward": line.backward_ns and duration_text(line.backward_ns),
        "": bar,
        "n:device": line.device_ns and duration_text(line.device_ns),
        "n:calls": line.calls and count_text(line.calls),
        "n:copied": line.copies and nbytes_text(line.copied_nbytes),
        "n:syncs": line.syncs and f"{count_text(line.syncs)} · {duration_text(line.wait_ns)}",
        "n:allocated": line.allocated_nbytes and nbytes_text(line.allocated_nbytes),
    }
    return {
        "line": f'<td class="where"><code>{escaped(line.where) or "(no line)"}</code></td>',
        "source": f'<td class="source"><code title="{escaped(line.function)}">{escaped(line.text)}</code></td>',
        **{head: f'<td class="n">{text}</td>' if text else "" for head, text in numbers.items()},
    }


def _timeline(trace: Trace, found: list[Finding], room: Room) -> str:
    if not len(trace):
        return ""
    marked = found[: room.findings]
    whole = timeline_svg(trace, marked, room.events)
    plots = [f'<div class="plot">{whole.svg}</div>']
    if whole.merged > len(trace) // 2 and len(trace) > 3 * WINDOW_EVENTS:
        window_ns, why = telling_window(trace, marked)
        closer = timeline_svg(trace, marked, room.events, window_ns)
        plots.append(f'<p class="closer">A closer look: {escaped(why)}</p><div class="plot">{closer.svg}</div>')
    legend = _legend((f"k-{kind.name.lower()}", kind.name.lower()) for kind in whole.kinds)
    return section("Timeline", whole.note, "".join(plots) + legend)


def _memory(trace: Trace, room: Room) -> str:
    curve = memory(trace, points=4000)
    if not curve.peak_nbytes:
        return ""
    held = holders(trace, curve.peak_ns)
    seen = [role for role in Role if curve.nbytes[:, role].any()]
    legend = _legend((f"r-{role.name.lower()}", role.name.lower()) for role in seen)
    rows = [
        [
            *_numbers(nbytes_text(holder.nbytes), share_text(holder.nbytes / curve.peak_nbytes)),
            f"<td>{holder.role.name.lower()}</td>",
            f'<td class="name">{escaped(holder.name) or "(before the recording)"}</td>',
            f'<td class="where"><code>{escaped(holder.where)}</code></td>',
            *_numbers(count_text(len(holder.buffers))),
        ]
        for holder in held[: room.rows]
    ]
    listed = table(("n:held at the peak", "n:", "role", "made by", "line", "n:buffers"), rows)
    picture = f'<div class="plot">{memory_svg(curve, trace.duration_ns)}</div>{legend}'
    return section("Memory", "who holds the peak: " + _of(len(rows), len(held), "holder"), picture + listed)


def _copies(trace: Trace, room: Room) -> str:
    groups = copies_by_reason(trace)
    if not groups:
        return ""
    rows = [
        [
            *_numbers(count_text(group.count), nbytes_text(group.nbytes), duration_text(group.took_ns)),
            f"<td>{group.reason.name.lower().replace('_', ' ')}</td>",
            f'<td class="where"><code>{escaped(group.where)}</code></td>',
        ]
        for group in groups[: room.rows]
    ]
    listed = table(("n:copies", "n:bytes", "n:time", "reason", "line"), rows)
    return section("Copies", _of(len(rows), len(groups), "group"), listed)


def _syncs(trace: Trace, room: Room) -> str:
    groups = syncs_by_trigger(trace)
    if not groups:
        return ""
    rows = [
        [
            *_numbers(count_text(group.count), duration_text(group.wait_ns), duration_text(group.idle_ns)),
            f'<td class="name">{group.trigger.name.lower()}{", unused" if group.unused == group.count else ""}</td>',
            f"<td>{'backward' if group.backward else 'forward'}</td>",
            f'<td class="where"><code>{escaped(group.where)}</code></td>',
        ]
        for group in groups[: room.rows]
    ]
    listed = table(("n:syncs", "n:host waited", "n:device idle", "trigger", "pass", "line"), rows)
    return section("Syncs", _of(len(rows), len(groups), "group"), listed)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a head that begins with ``n:`` stands above numbers."""
    cells = [f'<th class="n">{head[2:]}</th>' if head.startswith("n:") else f"<th>{head}</th>" for head in heads]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{"".join(cells)}</tr></thead><tbody>{body}</tbody></table></div>'


def _numbers(*values: str) -> Iterator[str]:
    return (f'<td class="n">{value}</td>' for value in values)


def _of(shown: int, every: int, one: str) -> str:
    return (
        count_text(every, one)
        if shown == every
        else f"{count_text(shown)} of {count_text(every, one)}; the rest not shown"
    )
