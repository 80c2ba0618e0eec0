"""Does the summary say what matters, in any terminal?"""

from __future__ import annotations

import pytest

from gradviz.graph.compare import compare
from gradviz.record.trace import Trace
from gradviz.report.plain import shown_width
from gradviz.report.text import change_text, comparison_text, recording_text, signed, simulated_text, summary
from gradviz.words import duration_text
from tests.report.findings import HARMLESS, ODD, SYNC, WRONG
from tests.traces import ODD_NAMES, long_trace, made_trace


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("names", [("multiply", "exp"), ODD_NAMES])
def test_every_line_fits_and_is_plain(width, names):
    trace = made_trace(5, names=names, simulated=True)
    trace.meta["label"] = names[-1]
    text = summary(trace, [SYNC, *ODD, *WRONG], width=width)
    text.encode()
    assert "\x1b" not in text
    for line in text.split("\n"):
        assert shown_width(line) <= width
        assert line == line.rstrip()
        assert line.isprintable()


def test_findings_stand_before_everything_else():
    text = summary(made_trace(5), [SYNC, HARMLESS], width=100)
    order = [text.index(word) for word in ("Findings", "Time by line", "Memory", "Copies by reason", "Syncs")]
    assert order == sorted(order)
    for part in (
        SYNC["title"],
        SYNC["where"],
        "213 ms · 57 % · simulated",
        SYNC["reason"],
        "- beta",
        "+ beta",
        SYNC["valid_if"],
    ):
        assert part in text
    assert "● high" in text
    assert "● harmless now" in text


def test_at_most_so_many():
    text = summary(made_trace(5), [SYNC] * 5, top=2, width=100)
    assert text.count(SYNC["title"]) == 2
    assert "3 more: summary(top=5)" in text


def test_without_findings_it_says_so():
    assert "none: nothing here wastes enough" in summary(made_trace(1), width=100)


def test_what_was_recorded_is_always_said():
    trace = made_trace(3, simulated=True)
    trace.meta |= {"dropped": 214, "recorder_ns": 3_100_000, "duration_ns": 118_000_000}
    assert recording_text(trace) == f"{len(trace)} events; 214 dropped; recorder used 3.10 ms of 118 ms"
    assert recording_text(trace) in summary(trace, width=140)
    assert "SIMULATED sim:a100" in summary(trace, width=80)
    assert simulated_text(made_trace(1)) == ""
    assert "SIMULATED" not in summary(made_trace(1), width=80)


def test_an_empty_trace_has_a_summary():
    text = summary(Trace(), width=80)
    assert "0 events; 0 dropped" in text


def test_colours_add_nothing_but_colours():
    trace = made_trace(3)
    coloured = summary(trace, [SYNC], width=80, colour=True)
    assert "\x1b[31m" in coloured
    import re

    assert re.sub(r"\x1b\[\d+m", "", coloured) == summary(trace, [SYNC], width=80, colour=False)


def test_a_prompt_shows_it_without_quotes():
    text = summary(made_trace(1), width=80)
    assert repr(text) == str(text)


def test_a_million_events_are_summed_up():
    trace = long_trace(1_000_000)
    assert f"{len(trace.events['kind']):,} events" in summary(trace, width=80)


def test_two_runs():
    difference = compare(made_trace(5, seed=1), made_trace(5, seed=2))
    text = comparison_text(difference, top=3, width=80)
    assert "Totals" in text
    assert f"3 of {len(difference.changes)} groups" in text
    assert all(shown_width(line) <= 80 for line in text.split("\n"))
    assert "nothing" in comparison_text(compare(made_trace(1), made_trace(1)), width=80)


def test_changes_in_words():
    pairs = [(100, 100), (100, 50), (100, 150), (100, 450), (3, 0), (0, 3), (1000, 1001)]
    assert [change_text(*pair) for pair in pairs] == ["=", "−50 %", "+50 %", "×4.5", "gone", "new", "≈"]
    assert [signed(ns, duration_text) for ns in (0, 500, -500)] == ["=", "+500 ns", "−500 ns"]
