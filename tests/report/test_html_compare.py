"""Does the comparison show what changed, as text only?"""

from __future__ import annotations

from gradviz.graph.compare import compare
from gradviz.record.trace import Trace
from gradviz.report.html_compare import comparison_fragment, comparison_html
from tests.report.test_html import ATTRIBUTES, TAGS, Reader
from tests.traces import ODD_NAMES, made_trace


def test_totals_and_changes():
    difference = compare(made_trace(3, names=("exp",)), made_trace(4, names=("exp", "tanh")))
    page = comparison_html(difference)
    assert page.count("<tr>") == 2 + len(difference.changes) + sum(bool(t.before or t.after) for t in difference.totals)
    assert '<span class="tag">new</span>' in page
    assert "call tanh" in page
    assert comparison_html(difference, most=3).count("<tr>") < page.count("<tr>")


def test_odd_names_stay_text():
    page = comparison_html(compare(Trace(), made_trace(5, names=ODD_NAMES)))
    reader = Reader(page)
    assert reader.tags <= TAGS
    assert reader.attributes <= ATTRIBUTES
    assert reader.depth == 0


def test_nothing_changed():
    trace = made_trace(1)
    assert "Every event of one run has its like in the other" in comparison_html(compare(trace, trace))


def test_the_fragment_is_one_frame():
    assert comparison_fragment(compare(Trace(), made_trace(1))).count("<iframe") == 1
