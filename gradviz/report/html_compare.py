"""Two profiles side by side as one static HTML page."""

from __future__ import annotations

from gradviz.graph.compare import Change, Difference, Total
from gradviz.report.html import framed, section, table
from gradviz.report.page import document, escaped
from gradviz.report.text import change_text, signed, total_text
from gradviz.words import count_text, duration_text, nbytes_text

_TITLE = "gradviz comparison"


def comparison_html(difference: Difference, most: int = 300) -> str:
    """The whole page: totals, then the groups of events that changed most."""
    return document(_TITLE, _body(difference, most))


def comparison_fragment(difference: Difference, most: int = 40, height_px: int = 520) -> str:
    """The page for display in a notebook."""
    return framed(comparison_html(difference, most), "comparison of two profiles", height_px)


def _body(difference: Difference, most: int) -> str:
    totals = [_total(total) for total in difference.totals if total.before or total.after]
    changes = [_change(change) for change in difference.changes[:most]]
    note = f"{count_text(len(changes))} of {count_text(len(difference.changes), 'group')} of events"
    nothing = '<p class="none">Every event of one run has its like in the other.</p>'
    heads = ("", "line", "what", "n:time", "n:bytes", "n:count")
    return (
        '<main><div class="top"><h1>gradviz <small>before and after</small></h1></div>'
        + section("Totals", "", table(("", "n:before", "n:after", "n:change", ""), totals))
        + section("What changed", note, table(heads, changes) if changes else nothing)
        + "</main>"
    )


def _total(total: Total) -> list[str]:
    largest = max(total.before, total.after)
    bars = "".join(
        f'<rect class="{kind}" y="{y}" width="{1000 * value / largest:.0f}" height="4"/>'
        for kind, y, value in (("k-span", 0, total.before), ("k-call", 6, total.after))
    )
    values = (total_text(total, total.before), total_text(total, total.after), change_text(total.before, total.after))
    bar = f'<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
    return [f"<td>{escaped(total.name)}</td>", *(f'<td class="n">{value}</td>' for value in values), f"<td>{bar}</td>"]


def _change(change: Change) -> list[str]:
    worse = {"new": "high", "more": "high", "slower": "high", "larger": "medium"}.get(change.verdict, "low")
    numbers = (
        signed(change.delta_ns, duration_text),
        signed(change.delta_nbytes, nbytes_text),
        f"{change.count_before:,} → {change.count_after:,}",
    )
    return [
        f'<td class="{worse}"><span class="tag">{change.verdict}</span></td>',
        f'<td class="where"><code>{escaped(change.where)}</code></td>',
        f'<td class="name">{change.kind.name.lower()} {escaped(change.name)}</td>',
        *(f'<td class="n">{number}</td>' for number in numbers),
    ]
