"""Does text keep to its paper?"""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.report.plain import plain, shown_width
from gradviz.report.terminal import Column, Paper, bar, chart
from tests.traces import ODD_NAMES

CELLS = st.sampled_from(ODD_NAMES).map(plain) | st.text(max_size=40).map(plain)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), st.integers(60, 140))
def test_no_line_is_wider_than_the_paper(rows, width):
    columns = [Column("line", keep_end=True), Column("number", right=True), Column("source", flexible=True)]
    for line in Paper(width, colour=False).table(columns, rows):
        assert shown_width(line) <= width


@given(CELLS, CELLS, st.integers(60, 140))
def test_headings_and_ends_fit(left, right, width):
    paper = Paper(width, colour=False)
    right = plain(right, 30)
    assert shown_width(paper.heading("Title", left)) <= width
    assert shown_width(paper.ends(left, right)) <= max(width, shown_width(right) + 3)
    assert all(shown_width(line) <= width for line in paper.wrapped("word " * 50, "why", 14))


def test_a_column_without_room_is_left_out():
    paper = Paper(60, colour=False)
    wide = [Column("a" * 30), Column("b" * 20), Column("source", flexible=True)]
    assert "source" not in paper.table(wide, [])[0]


def test_columns_stand_on_their_side():
    columns = [Column("left"), Column("right", right=True)]
    assert Paper(60, colour=False).table(columns, [("a", "1"), ("bc", "20")]) == [
        " left  right",
        " a         1",
        " bc       20",
    ]


def test_parts_are_never_broken():
    assert Paper(60, colour=False).joined(["a" * 40, "b" * 15, "c" * 10]) == ["a" * 40 + " · " + "b" * 15, "c" * 10]


def test_colour_only_where_it_is_wanted(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", Terminal())
    assert Paper.like_stdout().colour
    assert Paper.like_stdout().styled("x", "bold") == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Paper.like_stdout().colour
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not Paper.like_stdout().colour
    monkeypatch.setattr("sys.stdout", None)
    assert not Paper.like_stdout().colour


@pytest.mark.parametrize(("width", "given"), [(60, 10), (80, 80), (140, 500)])
def test_the_width_stays_within_reason(width, given):
    assert Paper.like_stdout(given).width == width


def test_bars_and_charts():
    assert [bar(share, 3) for share in (0, 1e-9, 0.5, 1, 7)] == ["", "▏", "█▌", "███", "███"]
    assert chart([0, 1, 4], 1) == [" ▂█"]
    assert chart([4, 8], 2) == [" █", "██"]
    assert chart([0, 0], 1) == ["  "]
