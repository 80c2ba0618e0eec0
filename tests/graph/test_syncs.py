"""Are waits told apart by trigger, line and pass, and reads on the host left out?"""

from __future__ import annotations

from gradviz.graph.syncs import syncs_by_trigger
from gradviz.record.events import Answer, Flag, Kind, Trigger
from gradviz.record.trace import Trace
from tests.traces import Maker, made_trace


def test_groups():
    maker = Maker()
    with maker.event(Kind.CALL, "f", site=maker.sites[0]):
        maker.sync(Trigger.FLOAT, 100, idle_ns=10)
        maker.sync(Trigger.FLOAT, 200, idle_ns=20)
        maker.sync(Trigger.FLOAT, 9_000_000)
    maker.rows["syncs"][2]["on_device"] = 0
    with maker.event(Kind.SPAN, "backward", flags=Flag.BACKWARD), maker.event(Kind.PULLBACK, "f", site=maker.sites[0]):
        maker.sync(Trigger.FLOAT, 50)
    maker.rows["syncs"][0]["value_used"] = maker.rows["syncs"][3]["value_used"] = Answer.YES
    assert [(s.backward, s.count, s.wait_ns, s.idle_ns, s.unused) for s in syncs_by_trigger(maker.trace())] == [
        (False, 2, 300, 30, 1),
        (True, 1, 50, 0, 0),
    ]


def test_they_add_up():
    trace = made_trace(10, simulated=True)
    found = syncs_by_trigger(trace)
    assert sum(s.count for s in found) == len(trace.rows(Kind.SYNC))
    assert sum(s.wait_ns for s in found) == trace.syncs["host_wait_ns"].sum()


def test_none():
    assert syncs_by_trigger(Trace()) == []
