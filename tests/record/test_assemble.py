"""Do packed rows become a trace whose references hold, also of odd runs?"""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import gradviz as gv
from gradviz.record.assemble import Renumber
from gradviz.record.check import check_trace
from gradviz.record.events import Answer, Kind, Reason, Role, Use

X = np.arange(1.0, 6.0)


def test_renumber():
    row_of = Renumber(np.array([2, 3, 7]))
    assert row_of(np.array([2, 7, 3, 0, 5, -1, 8, 100])).tolist() == [0, 2, 1, -1, -1, -1, -1, -1]
    assert Renumber(np.empty(0, np.int64))(np.array([0, 5])).tolist() == [-1, -1]


def test_an_empty_recording():
    with gv.profile() as p:
        pass
    check_trace(p.trace)
    assert len(p.trace) == 0
    assert p.trace.meta["duration_ns"] >= 0


def test_a_span_closed_out_of_order():
    with gv.profile() as p:
        outer, inner = gv.span("outer"), gv.span("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        gv.grad(np.sum)(X)
        inner.__exit__(None, None, None)
    check_trace(p.trace)
    events = p.trace.events
    inside = events["parent"] >= 0
    assert np.all(events["end_ns"][inside] <= events["end_ns"][events["parent"][inside]])


def test_children_lie_in_their_parents():
    def f(x):
        return np.sum(gv.grad(lambda y: np.sum(np.sin(y) * y))(x) * gv.checkpoint(np.cos)(x))

    with gv.profile() as p, gv.span("step"):
        gv.grad(f)(X)
        gv.hessian(f)(X)
    check_trace(p.trace)
    events = p.trace.events
    inside = np.flatnonzero(events["parent"] >= 0)
    parents = events["parent"][inside]
    assert np.all(events["start_ns"][inside] >= events["start_ns"][parents])
    assert np.all(events["end_ns"][inside] <= events["end_ns"][parents])
    assert np.all(parents < inside)


def test_memory_dies_with_its_arrays():
    kept = []

    def f(x):
        y = np.sin(x)
        kept.append(np.ones(7) * 2)
        return np.sum(y * y)

    with gv.profile() as p:
        g = gv.grad(f)(X)
        alive = p.trace.buffers["free_ns"] < 0
        roles = p.trace.buffers["role"][alive]
        assert sorted(Role(r).name for r in roles) == ["INPUT", "OUTPUT"]
        del g
    assert np.count_nonzero(p.trace.buffers["free_ns"] < 0) == 1


def test_what_escapes():
    def f(x):
        return np.sum(x * 3.0), x[1:]

    with gv.profile() as p:
        (_, part), _ = gv.value_and_grad(f, has_aux=True)(X)
    (row,) = np.flatnonzero((p.trace.copies["reason"] == Reason.RETURNED) & (p.trace.copies["nbytes"] == part.nbytes))
    assert p.trace.copies["target_escapes"][row] == Answer.YES


def test_every_load_was_saved_and_every_view_made():
    def f(x):
        y = np.exp(x)
        z = np.stack([y, y * x]).T
        return np.sum(z @ z.T) + np.sum(y[::2] * y[::2])

    with gv.profile() as p:
        gv.grad(f)(X)
    trace = p.trace
    events, uses = trace.events, trace.uses
    saved = {(int(e), int(b)) for e, b, how in zip(*uses.values(), strict=True) if how == Use.SAVE}
    for event, buffer, how in zip(*uses.values(), strict=True):
        if how == Use.LOAD:
            assert events["kind"][event] == Kind.PULLBACK
            assert (int(events["call"][event]), int(buffer)) in saved
    makers = [int(e) for e, how in zip(uses["event"], uses["how"], strict=True) if how == Use.MAKE]
    assert len(makers) == np.count_nonzero(trace.buffers["alloc_event"] >= 0)


@pytest.mark.parametrize("n", [100_000])
def test_the_peak_is_tracemallocs(n):
    def f(x):
        for _ in range(20):
            x = np.sin(x) * x
        return np.sum(x)

    x, gradient = np.ones(n), gv.grad(f)
    gradient(x[:10])
    gc.collect()
    tracemalloc.start()
    try:
        gradient(x)
        want = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with gv.profile() as p:
        gradient(x)
    buffers = p.trace.buffers
    mine = buffers["alloc_event"] >= 0
    begin, end = buffers["alloc_ns"][mine], buffers["free_ns"][mine]
    end = np.where(end < 0, np.iinfo(np.int64).max, end)
    sizes = buffers["nbytes"][mine]
    peak = max(int(np.sum(sizes[(begin <= at) & (end > at)])) for at in begin)
    assert abs(peak - want) < 0.1 * want
