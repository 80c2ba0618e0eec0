"""Are quantities written as people read them?"""

from __future__ import annotations

import pytest

from gradviz.words import count_text, duration_text, list_text, nbytes_text, share_text, times_text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"), (812, "812 ns"), (999, "999 ns"), (1000, "1.00 µs"), (3_100, "3.10 µs"), (999_999, "1.00 ms"),
        (17_250_000, "17.2 ms"), (118_000_000, "118 ms"), (1.5e9, "1.50 s"), (119e9, "119 s"), (185e9, "3 min 5 s"),
    ],
)  # fmt: skip
def test_durations(ns, text):
    assert duration_text(ns) == text


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (25 << 20, "25.0 MiB"),
        (3 << 40, "3.00 TiB"),
    ],
)
def test_sizes(nbytes, text):
    assert nbytes_text(nbytes) == text


def test_counts_and_shares():
    assert (count_text(12304), count_text(1, "copy", "copies"), count_text(2, "sync")) == (
        "12,304",
        "1 copy",
        "2 syncs",
    )
    assert [share_text(share) for share in (0, 0.004, 0.574, 1)] == ["0 %", "<1 %", "57 %", "100 %"]


def test_counts_in_words():
    assert [times_text(n) for n in (1, 2, 1234)] == ["once", "twice", "1,234 times"]
    assert (count_text(2.5, "scalar"), list_text(["a"]), list_text(["a", "b", "c"])) == (
        "2.5 scalars",
        "a",
        "a, b and c",
    )
