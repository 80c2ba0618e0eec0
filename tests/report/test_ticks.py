"""Do the ticks of an axis stand at round values?"""

from __future__ import annotations

from gradviz.report.ticks import size_tick, ticks, time_tick


def test_ticks_are_round_and_few():
    assert ticks(9.8, 5) == [0, 2, 4, 6, 8]
    assert ticks(3000, 4, base=2) == [0, 1024, 2048]
    assert ticks(1, 8) == [0, 1]
    for whole in (3, 7e3, 4.2e8, 9.9e12):
        assert 3 <= len(ticks(whole, 8)) <= 9
    assert (time_tick(0), time_tick(2e6), time_tick(1.5e9), size_tick(0), size_tick(4 << 20)) == (
        "0", "2 ms", "1.50 s", "0", "4 MiB",
    )  # fmt: skip
