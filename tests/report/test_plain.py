"""Is any name shown on one line, without harm?"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.report.plain import clipped, plain, shown_width
from tests.traces import ODD_NAMES

ANY_TEXT = st.text() | st.sampled_from(ODD_NAMES) | st.text(st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp"]))


@given(ANY_TEXT, st.integers(1, 50))
def test_nothing_that_controls_or_reorders_is_left(text, limit):
    shown = plain(text, limit)
    shown.encode()
    assert len(shown) <= limit
    assert shown.splitlines() in ([], [shown])
    assert not any(
        unicodedata.category(c) in ("Cc", "Cs") or unicodedata.bidirectional(c) in _REORDERING for c in shown
    )


_REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_ordinary_text_is_left_alone():
    for text in ('a"b', "C:\\temp\\x.py", "漢字 😀", "<b>&amp;", "α × β › x"):
        assert plain(text) == text


def test_controls_become_their_pictures():
    assert plain("two\nlines\x1b[31m\x7f") == "two␊lines␛[31m␡"
    assert plain("\ud800 lone") == "\ufffd lone"


@given(ANY_TEXT.map(plain), st.integers(0, 30), st.booleans())
def test_clipping_keeps_to_the_width(text, width, keep_end):
    assert shown_width(clipped(text, width, keep_end)) <= width or shown_width(text) <= width


@pytest.mark.parametrize(("options", "result"), [({}, "a/long/path…"), ({"keep_end": True}, "…train.py:12")])
def test_where_it_is_cut(options, result):
    assert clipped("a/long/path/train.py:12", 12, **options) == result


def test_wide_characters_take_two_columns():
    assert shown_width("漢字") == 4
    assert clipped("漢字漢字", 5) == "漢字…"
