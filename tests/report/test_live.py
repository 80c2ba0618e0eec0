"""Does a live view keep to its share of the time of the run that it watches?"""

from __future__ import annotations

import pytest

from gradviz.report import live
from gradviz.report.live import LEAST_S, LiveView
from gradviz.report.profile import Profile
from tests.traces import made_trace


@pytest.mark.parametrize("cost_s", [0.0001, 0.02, 3.0])
def test_looking_takes_its_share_and_no_more(monkeypatch: pytest.MonkeyPatch, cost_s: float) -> None:
    view = LiveView(Profile(made_trace()), share=0.05)
    waits, clock_s = [], 0.0

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) > 5

    def look() -> None:
        nonlocal clock_s
        clock_s += cost_s

    monkeypatch.setattr(live.time, "thread_time", lambda: clock_s)
    monkeypatch.setattr(view._done, "wait", wait)
    monkeypatch.setattr(view, "_look", look)
    view._watch()
    assert min(waits) >= LEAST_S
    assert all(cost_s / (cost_s + pause_s) <= 0.05 + 1e-9 for pause_s in waits[1:])
    assert view.spent_s == pytest.approx(5 * cost_s)


def test_a_look_is_sent_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    view = LiveView(Profile(made_trace()))
    sent = []
    monkeypatch.setattr(view.widget, "push", sent.append)
    view._look()
    assert (view.looks, len(sent)) == (1, 1)
