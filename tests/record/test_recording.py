"""Is what was recorded kept, whatever happens to the run, and is nothing left behind?"""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import gradviz as gv
from gradviz.record.assemble import assemble
from gradviz.record.check import check_trace
from gradviz.record.current import CURRENT, OPEN, current_recorder
from gradviz.record.events import Flag, Kind
from gradviz.record.recording import Recording

X = np.arange(1.0, 6.0)


def f(x):
    return np.sum(np.sin(x) * x)


def names(trace, kind=Kind.CALL):
    return [trace.name(i) for i in trace.rows(kind)]


ONE = ["sin", "multiply", "sum"]


def test_off_leaves_nothing():
    gv.grad(f)(X)
    assert current_recorder() is None
    callbacks = list(gc.callbacks)
    with gv.profile():
        gv.grad(f)(X)
    assert current_recorder() is None
    assert OPEN == []
    assert gc.callbacks == callbacks


def test_nested():
    with gv.profile(label="outer") as outer:
        gv.grad(f)(X)
        with gv.profile(label="inner") as inner:
            gv.grad(f)(X)
        gv.grad(f)(X)
    assert names(inner.trace) == ONE
    assert names(outer.trace) == ONE * 3
    for p in (outer, inner):
        check_trace(p.trace)
    starts = outer.trace.events["start_ns"][outer.trace.rows(Kind.CALL)]
    assert np.all(np.diff(starts) >= 0)
    assert outer.trace.meta["label"] == "outer"


def test_read_while_it_runs():
    with gv.profile() as p, gv.span("step"):
        assert names(p.trace) == []
        gv.grad(f)(X)
        first = p.trace
        check_trace(first)
        assert names(first) == ONE
        step = names(first, Kind.SPAN).index("step")
        assert first.events["flags"][first.rows(Kind.SPAN)[step]] & Flag.OPEN
        gv.grad(f)(X)
    assert names(p.trace) == ONE * 2
    assert not np.any(p.trace.events["flags"] & Flag.OPEN)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
@pytest.mark.parametrize("inside", ["forward", "pullback"])
def test_an_exception_passes_and_what_was_recorded_stays(error, inside):
    @gv.rule
    def broken(x):
        if inside == "forward":
            raise error("stop")
        return x

    @broken.pullback
    def broken_to_x(ct):
        raise error("stop")

    kept = []

    def run():
        with gv.profile() as p:
            kept.append(p)
            gv.grad(lambda x: np.sum(broken(np.sin(x))))(X)

    with pytest.raises(error, match="stop"):
        run()
    trace = kept[0].trace
    check_trace(trace)
    assert names(trace)[:2] == ["sin", "broken"]
    assert np.any(trace.events["flags"] & Flag.FAILED)
    assert current_recorder() is None
    with gv.profile() as again:
        gv.grad(f)(X)
    assert names(again.trace) == ONE


def test_a_decorator_keeps_the_last_profile():
    @gv.profile
    def step(x):
        return gv.grad(f)(x)

    @gv.profile(label="named")
    def other(x):
        return gv.grad(f)(x)

    assert step.profile is None
    assert np.array_equal(step(X), gv.grad(f)(X))
    first = step.profile
    step(X)
    assert names(step.profile.trace) == ONE
    assert step.profile is not first
    assert step.profile.trace.meta["label"] == "step"
    other(X)
    assert other.profile.trace.meta["label"] == "named"
    assert step.__name__ == "step"


def test_dropped_events_are_counted():
    recording = Recording(max_events=10)
    token = CURRENT.set(recording)
    try:
        gradient = gv.grad(lambda x: np.sum(np.sin(np.sin(np.sin(x)))))(X)
    finally:
        CURRENT.reset(token)
        recording.close()
    trace, _ = assemble(recording)
    check_trace(trace)
    whole = gv.profile()
    with whole as p:
        want = gv.grad(lambda x: np.sum(np.sin(np.sin(np.sin(x)))))(X)
    assert np.array_equal(gradient, want)
    assert len(trace) <= 10
    assert trace.meta["dropped"] > 0
    assert len(trace) + trace.meta["dropped"] == len(p.trace)


def test_threads_started_inside_are_recorded_on_lanes_of_their_own():
    with gv.profile() as p:
        threads = [threading.Thread(target=lambda: gv.grad(f)(X), name=f"worker {k}") for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gv.grad(f)(X)
    trace = p.trace
    check_trace(trace)
    assert names(trace).count("sin") == 4
    lanes = trace.events["lane"][trace.rows(Kind.CALL)]
    assert len(set(lanes.tolist())) == 4


def test_a_thread_that_ran_before_is_not_recorded():
    begin, end = threading.Event(), threading.Event()

    def work():
        begin.wait()
        gv.grad(f)(X)
        end.set()

    thread = threading.Thread(target=work)
    thread.start()
    with gv.profile() as p:
        begin.set()
        end.wait()
    thread.join()
    assert names(p.trace) == []


def test_spans_nest():
    with gv.profile() as p, gv.span("a"), gv.span("b"):
        gv.grad(f)(X)
    trace = p.trace
    rows = {trace.name(i): i for i in trace.rows(Kind.SPAN)}
    assert trace.events["parent"][rows["b"]] == rows["a"]
    assert trace.events["parent"][rows["forward"]] == rows["b"]


def test_the_collector_is_told():
    with gv.profile() as p:
        gc.collect()
    assert names(p.trace, Kind.COLLECT) == ["garbage collection"]


def test_forward_mode_and_second_order():
    with gv.profile() as p:
        gv.jvp(f, (X,), (X,))
        gv.grad(lambda x: np.sum(gv.grad(f)(x)))(X)
        gv.hessian(f)(X)
    check_trace(p.trace)
    assert "sin" in names(p.trace)
