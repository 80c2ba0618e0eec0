"""Does each line get what belongs to it, once?"""

from __future__ import annotations

import numpy as np

from gradviz.graph.lines import lines
from gradviz.graph.timeline import self_ns
from gradviz.record.events import Flag, Kind, Reason, Trigger
from gradviz.record.trace import Trace
from tests.traces import Maker, made_trace


def test_nothing_is_counted_twice_and_nothing_is_lost():
    trace = made_trace(5, simulated=True)
    found = lines(trace)
    kind = trace.events["kind"]
    host = ~np.isin(kind, (Kind.SPAN, Kind.KERNEL))
    assert sum(line.host_ns for line in found) == self_ns(trace)[host].sum()
    assert sum(line.device_ns for line in found) == self_ns(trace)[kind == Kind.KERNEL].sum()
    assert sum(line.calls for line in found) == len(trace.rows(Kind.CALL))
    assert sum(line.pullbacks for line in found) == len(trace.rows(Kind.PULLBACK))
    assert sum(line.copied_nbytes for line in found) == trace.copies["nbytes"].sum()
    assert sum(line.wait_ns for line in found) == trace.syncs["host_wait_ns"].sum()
    made = trace.buffers["alloc_event"] >= 0
    assert sum(line.allocated_nbytes for line in found) == trace.buffers["nbytes"][made].sum()
    assert [line.host_ns for line in found] == sorted((line.host_ns for line in found), reverse=True)


def test_one_line():
    maker = Maker()
    site = maker.site("a.py", 7, "f", "y = x * x")
    with maker.event(Kind.CALL, "multiply", site=site) as call:
        maker.wait(100)
        buffer = maker.buffer(80, call)
        maker.copy(buffer, 80, Reason.CONTIGUOUS)
        copied_ns = maker.now_ns - 100
    with maker.event(Kind.SPAN, "backward", flags=Flag.BACKWARD):
        maker.wait(1000)
        with maker.event(Kind.PULLBACK, "multiply > x", site=site, call=call):
            maker.wait(30)
            maker.sync(Trigger.ITEM, 500, idle_ns=60)
    (line, nowhere) = lines(maker.trace())
    assert (line.where, line.function, line.text) == ("a.py:7", "f", "y = x * x")
    assert (line.forward_ns, line.backward_ns) == (100 + copied_ns, 530)
    assert (line.calls, line.pullbacks, line.copies, line.copied_nbytes) == (1, 1, 1, 80)
    assert (line.syncs, line.wait_ns, line.idle_ns, line.allocated_nbytes) == (1, 500, 60, 160)
    assert (nowhere.where, nowhere.host_ns) == ("", 0)


def test_reading_a_value_on_the_host_is_no_sync():
    maker = Maker()
    with maker.event(Kind.CALL, "sum", site=maker.sites[0]):
        maker.sync(Trigger.FLOAT, 10)
    maker.rows["syncs"][0]["on_device"] = 0
    (line,) = lines(maker.trace())
    assert (line.syncs, line.wait_ns) == (0, 0)


def test_a_cell_is_named_as_people_know_it():
    maker = Maker()
    first, again = (maker.site("<cell>", 2, function, "z", cell=3) for function in ("f", "g"))
    for site in (first, again):
        with maker.event(Kind.CALL, "exp", site=site):
            maker.wait(10)
    (line,) = lines(maker.trace())
    assert (line.where, line.calls) == ("Cell In[3], line 2", 2)


def test_an_empty_trace_has_no_lines():
    assert lines(Trace()) == []
