"""Is the memory curve the sum of the buffers alive, and are their holders named?"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradviz.graph.memory import holders, memory
from gradviz.record.events import Kind, Role
from gradviz.record.trace import Trace
from tests.traces import Maker, long_trace, made_trace

BUFFERS = st.lists(
    st.tuples(st.integers(0, 40), st.none() | st.integers(0, 20), st.integers(0, 1 << 50), st.sampled_from(Role)),
    max_size=25,
)


def trace_of(buffers) -> Trace:
    maker = Maker()
    for begin, length, nbytes, role in buffers:
        maker.now_ns = begin
        maker.buffer(nbytes, role=role, free_ns=-1 if length is None else begin + length)
    return maker.trace()


@given(BUFFERS)
def test_the_curve_is_the_sum_of_the_buffers(buffers):
    found = memory(trace_of(buffers))
    for moment, nbytes in zip(found.times_ns, found.nbytes, strict=True):
        for role in Role:
            alive = [
                n
                for b, length, n, r in buffers
                if r == role and b <= moment and (length is None or moment < b + length)
            ]
            assert nbytes[role] == sum(alive)
    assert found.peak_nbytes == found.total_nbytes.max()


@given(BUFFERS, st.integers(2, 12))
def test_leaving_moments_out_keeps_the_peak(buffers, points):
    whole, reduced = memory(trace_of(buffers)), memory(trace_of(buffers), points=points)
    assert reduced.peak_nbytes == whole.peak_nbytes == reduced.total_nbytes.max()
    assert len(reduced.times_ns) <= max(points + 3, 4)
    assert reduced.moments == whole.moments
    at = np.searchsorted(whole.times_ns, reduced.times_ns)
    assert np.array_equal(whole.nbytes[at], reduced.nbytes)


@given(BUFFERS)
def test_holders_account_for_every_byte_of_the_peak(buffers):
    trace = trace_of(buffers)
    found = memory(trace)
    assert sum(holder.nbytes for holder in holders(trace, found.peak_ns)) == found.peak_nbytes


def test_holders_are_grouped_by_call_line_and_role():
    maker = Maker()
    maker.buffer(64, role=Role.INPUT)
    for nbytes in (100, 300):
        with maker.event(Kind.CALL, "tanh", site=maker.sites[0]) as call:
            maker.buffer(nbytes, call, Role.SAVED)
            maker.wait()
    found = holders(maker.trace(), maker.now_ns)
    assert [(h.nbytes, h.role, h.name, h.where, len(h.buffers)) for h in found] == [
        (400, Role.SAVED, "tanh", "train.py:3", 2),
        (64, Role.INPUT, "", "", 1),
    ]
    assert found[0].buffers.tolist() == [2, 1]


def test_one_device_alone():
    trace = made_trace(2, simulated=True)
    trace.buffers["device"][::2] = 0
    parts = [memory(trace, device).total_nbytes.max() for device in (0, 1)]
    assert max(parts) <= memory(trace).peak_nbytes <= sum(parts)


def test_a_trace_without_buffers():
    assert memory(Trace()).peak_nbytes == 0
    assert holders(Trace(), 0) == []


def test_large_traces_are_reduced():
    found = memory(long_trace(50_000), points=1000)
    assert found.moments > 20_000
    assert len(found.times_ns) <= 1003
