"""Is what differs found, and only that?"""

from __future__ import annotations

import pytest

from gradviz.graph.compare import compare
from gradviz.record.events import Kind, Reason
from gradviz.record.trace import Trace
from tests.traces import Maker, long_trace, made_trace


def run(*lines, copies=0, ns=100_000, nbytes=80) -> Trace:
    """One call on each line, given as ``(number, text)``."""
    maker = Maker()
    buffer = maker.buffer(nbytes)
    for number, text in lines:
        with maker.event(Kind.CALL, "exp", site=maker.site("a.py", number, "f", text), nbytes=nbytes):
            maker.wait(ns)
            for _ in range(copies):
                maker.copy(buffer, nbytes, Reason.DEFENSIVE)
    return maker.trace()


def test_a_trace_does_not_differ_from_itself():
    trace = made_trace(4, simulated=True)
    found = compare(trace, trace)
    assert found.changes == []
    assert len(found.new) == len(found.gone) == 0
    assert (found.pairs[:, 0] == found.pairs[:, 1]).all()
    assert len(found.pairs) == len(trace) - len(trace.rows(Kind.SPAN))
    assert all(total.before == total.after for total in found.totals)


def test_an_inserted_line_does_not_make_the_others_new():
    found = compare(run((3, "a"), (4, "b")), run((3, "a"), (4, "new"), (5, "b")))
    assert [(c.verdict, c.where, c.count_after) for c in found.changes] == [("new", "a.py:4", 1)]
    assert found.pairs.tolist() == [[0, 0], [1, 2]]
    assert found.new.tolist() == [1]


def test_lines_without_text_are_matched_by_number():
    found = compare(run((3, ""), (4, "")), run((3, "")))
    assert [(c.verdict, c.where) for c in found.changes] == [("gone", "a.py:4")]
    assert found.gone.tolist() == [1]


def test_occurrences_are_matched_in_order():
    found = compare(run((3, "a"), (3, "a")), run((3, "a"), (3, "a"), (3, "a")))
    (change,) = found.changes
    assert (change.verdict, change.count_before, change.count_after, change.matched) == ("more", 2, 3, 2)
    assert found.pairs.tolist() == [[0, 0], [1, 1]]
    assert found.new.tolist() == [2]


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"ns": 300_000}, "slower"),
        ({"ns": 30_000}, "faster"),
        ({"ns": 104_000}, None),
        ({"nbytes": 800}, "larger"),
        ({"nbytes": 8}, "smaller"),
    ],
)
def test_verdicts(options, verdict):
    found = compare(run((3, "a")), run((3, "a"), **options))
    assert [change.verdict for change in found.changes] == ([verdict] if verdict else [])
    if verdict:
        assert found.only(verdict) == found.changes


def test_new_copies_are_named_and_counted():
    found = compare(run((3, "a")), run((3, "a"), copies=2))
    (change,) = found.only("new")
    assert (change.kind, change.name, change.count_after, change.delta_nbytes) == (Kind.COPY, "defensive", 2, 160)
    totals = {total.name: (total.before, total.after, total.unit) for total in found.totals}
    assert totals["copies"] == (0, 2, "")
    assert totals["copied"] == (0, 160, "bytes")
    assert totals["calls"] == (1, 1, "")


def test_nothing_against_something():
    found = compare(Trace(), made_trace(1))
    assert {change.verdict for change in found.changes} == {"new"}
    assert len(found.pairs) == 0


def test_a_million_events_against_another_million():
    a, b = long_trace(1_000_000, 1), long_trace(1_000_000, 2)
    found = compare(a, b)
    assert len(found.pairs) + len(found.new) + len(b.rows(Kind.SPAN)) == len(b)
