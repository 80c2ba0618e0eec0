"""Are copies told apart by reason and line, and none forgotten?"""

from __future__ import annotations

from gradviz.graph.copies import copies_by_reason
from gradviz.record.events import Kind, Reason
from gradviz.record.trace import Trace
from tests.traces import Maker, made_trace


def test_groups():
    maker = Maker()
    buffer = maker.buffer(800)
    for site, reason in ((0, Reason.DTYPE), (0, Reason.DTYPE), (1, Reason.DTYPE), (0, Reason.RESHAPE)):
        with maker.event(Kind.CALL, "f", site=maker.sites[site]):
            maker.copy(buffer, 800, reason)
    assert [(c.reason, c.where, c.count, c.nbytes) for c in copies_by_reason(maker.trace())] == [
        (Reason.DTYPE, "train.py:3", 2, 1600),
        (Reason.DTYPE, "train.py:4", 1, 800),
        (Reason.RESHAPE, "train.py:3", 1, 800),
    ]


def test_they_add_up():
    trace = made_trace(10)
    found = copies_by_reason(trace)
    events = trace.events
    assert sum(c.count for c in found) == len(trace.rows(Kind.COPY))
    assert sum(c.nbytes for c in found) == trace.copies["nbytes"].sum()
    assert sum(c.took_ns for c in found) == (events["end_ns"] - events["start_ns"])[events["kind"] == Kind.COPY].sum()


def test_none():
    assert copies_by_reason(Trace()) == []
