"""Is the time of the host shared out, all of it, once?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradviz.graph.shares import SHARES, shares
from gradviz.record.events import Flag, Kind, Reason, Trigger
from gradviz.record.trace import Trace
from tests.traces import Maker, made_trace


@given(st.integers(0, 20), st.booleans())
def test_the_shares_are_the_whole(seed, simulated):
    trace = made_trace(2, 5, seed, simulated)
    trace.meta["duration_ns"] = int(trace.events["end_ns"][trace.events["lane"] == 0].max())
    found = shares(trace)
    assert tuple(found) == SHARES
    assert sum(found.values()) == trace.meta["duration_ns"]


def test_each_kind_goes_where_it_belongs():
    maker = Maker()
    with maker.event(Kind.SPAN, "forward"):
        maker.wait(7)
        with maker.event(Kind.CALL, "f"):
            maker.wait(100)
    with maker.event(Kind.SPAN, "backward", flags=Flag.BACKWARD):
        with maker.event(Kind.PULLBACK, "f > x"):
            maker.wait(10)
            with maker.event(Kind.CALL, "inner"):
                maker.wait(1000)
            maker.sync(Trigger.ITEM, 5)
        with maker.event(Kind.ACCUMULATE, "add"):
            maker.wait(3)
    maker.copy(maker.buffer(8), 8, Reason.EXPLICIT)
    assert shares(maker.trace()) == {
        "forward": 100, "pullbacks": 1010, "accumulations": 3, "copies": 200, "syncs": 5, "compiling": 0,
        "collecting": 0, "python": 7,
    }  # fmt: skip


def test_nothing():
    assert sum(shares(Trace()).values()) == 0
