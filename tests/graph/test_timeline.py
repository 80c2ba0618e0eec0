"""Do lanes, depths and self times say what happened?"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradviz.graph.timeline import depths, enclosing_span, lanes, self_ns, strictly_nested
from gradviz.record.events import Kind, LaneKind
from gradviz.record.trace import Trace
from tests.traces import Maker, long_trace, made_trace


def above(trace, row):
    chain = []
    while (row := int(trace.events["parent"][row])) >= 0:
        chain.append(row)
    return chain


@given(st.integers(0, 20))
def test_depth_and_span_follow_the_parents(seed):
    trace = made_trace(2, 4, seed, simulated=True)
    kind = trace.events["kind"]
    for row, (depth, span) in enumerate(zip(depths(trace), enclosing_span(trace), strict=True)):
        chain = above(trace, row)
        assert depth == len(chain)
        assert span == next((one for one in chain if kind[one] == Kind.SPAN), -1)


def test_a_hundred_thousand_levels():
    maker = Maker()
    for _ in range(100_000):
        row = maker.add("events", kind=Kind.SPAN, name="level", lane=0, parent=len(maker.rows["events"]) - 1, end_ns=9)
    trace = maker.trace()
    assert depths(trace)[row] == row
    assert enclosing_span(trace)[row] == row - 1


def test_self_times_add_up_to_the_time_of_the_outermost():
    trace = made_trace(3)
    events = trace.events
    outermost = events["parent"] < 0
    assert self_ns(trace).sum() == (events["end_ns"] - events["start_ns"])[outermost].sum()


def test_lanes_hold_every_event_once():
    trace = made_trace(3, simulated=True)
    found = lanes(trace)
    assert [lane.kind for lane in found] == [LaneKind.THREAD, LaneKind.STREAM]
    assert [lane.device for lane in found] == ["host", "sim:a100"]
    assert sorted(np.concatenate([lane.rows for lane in found]).tolist()) == list(range(len(trace)))
    for lane in found:
        events = trace.events
        covered = np.zeros(trace.meta["duration_ns"], bool)
        for row in lane.rows:
            covered[events["start_ns"][row] : events["end_ns"][row]] = True
        assert lane.busy_ns == covered.sum()


def test_an_empty_trace_has_no_lanes():
    assert lanes(Trace()) == []
    assert len(depths(Trace())) == 0


def trace_of(intervals) -> Trace:
    maker = Maker()
    for begin, length in intervals:
        maker.add("events", kind=Kind.CALL, name="f", lane=0, start_ns=begin, end_ns=begin + length)
    return maker.trace()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=30))
def test_any_intervals_nest_after_cutting(intervals):
    trace = trace_of(intervals)
    for lane in lanes(trace):
        spans = strictly_nested(trace, lane)
        assert sorted(spans.rows) == list(range(len(intervals)))
        open_ends: list[int] = []
        for row, begin, end in zip(spans.rows, spans.begin_ns, spans.end_ns, strict=True):
            assert begin == intervals[row][0]
            assert begin <= end <= sum(intervals[row])
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_what_nests_is_not_cut():
    trace = long_trace(5000)
    events = trace.events
    for lane in lanes(trace):
        spans = strictly_nested(trace, lane)
        assert spans.end_ns == events["end_ns"][spans.rows].tolist()
        parents = [spans.rows[one] if one >= 0 else -1 for one in spans.above]
        long = events["end_ns"][spans.rows] > events["start_ns"][spans.rows]
        assert np.array_equal(np.array(parents)[long], events["parent"][spans.rows][long])
