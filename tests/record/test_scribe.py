"""What stands in the trace of a small known program?"""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.record.check import check_trace
from gradviz.record.events import Answer, Flag, Kind, Reason, Role, State, Trigger, Use

X = np.arange(1.0, 6.0)


def loss(w, x):
    h = np.tanh(w * x)
    y = h[1:] + h[:-1]
    return np.sum(y * y)


def recorded(f, *args, argnums=None):
    with gv.profile() as p:
        gv.grad(f, tuple(range(len(args))) if argnums is None else argnums)(*args)
    check_trace(p.trace)
    return p.trace


@pytest.fixture(scope="module")
def trace():
    return recorded(loss, X * 0.1, X)


def told(trace, kind):
    return [
        (trace.name(i), trace.name(int(trace.events["call"][i])) if kind != Kind.SPAN else "") for i in trace.rows(kind)
    ]


def test_calls(trace):
    names = [trace.name(i) for i in trace.rows(Kind.CALL)]
    assert names == ["multiply", "tanh", "getitem", "getitem", "add", "square", "sum"]
    calls = trace.rows(Kind.CALL)
    assert np.array_equal(trace.events["call"][calls], calls)
    forward, backward = trace.rows(Kind.SPAN)
    assert (trace.name(forward), trace.name(backward)) == ("forward", "backward")
    assert np.all(trace.events["parent"][calls] == forward)
    assert not np.any(trace.events["flags"][calls] & Flag.BACKWARD)


def test_lines(trace):
    first = inspect.getsourcelines(loss)[1]
    lines = [int(trace.where(i).rpartition(":")[2]) - first for i in trace.rows(Kind.CALL)]
    assert lines == [1, 1, 2, 2, 2, 3, 3]
    for i in trace.rows(Kind.PULLBACK):
        assert trace.where(i) == trace.where(int(trace.events["call"][i]))


def test_pullbacks(trace):
    pulled = [(name.replace(" › ", ">"), call) for name, call in told(trace, Kind.PULLBACK)]
    assert pulled == [
        ("sum>a", "sum"), ("square>x", "square"), ("add>x", "add"), ("add>y", "add"),
        ("getitem>a", "getitem"), ("getitem>a", "getitem"), ("tanh>x", "tanh"), ("multiply>x", "multiply"), ("multiply>y", "multiply"),
    ]  # fmt: skip
    rows = trace.rows(Kind.PULLBACK)
    assert np.all(trace.events["flags"][rows] & Flag.BACKWARD)
    assert np.all(trace.events["parent"][rows] == trace.rows(Kind.SPAN)[1])


def test_only_wanted_pullbacks_run():
    names = [name for name, _ in told(recorded(loss, X, X, argnums=0), Kind.PULLBACK)]
    assert len(names) == 8
    names = [name for name, _ in told(recorded(lambda w: loss(w, X), X), Kind.PULLBACK)]
    assert len(names) == 8


def uses(trace, event):
    rows = trace.uses["event"] == event
    return {(int(b), Use(h).name) for b, h in zip(trace.uses["buffer"][rows], trace.uses["how"][rows], strict=True)}


def test_uses(trace):
    multiply, tanh, part = trace.rows(Kind.CALL)[:3]
    (w, x), product = sorted(b for b, how in uses(trace, multiply) if how == "READ"), None
    product = next(b for b, how in uses(trace, multiply) if how == "MAKE")
    assert uses(trace, multiply) == {(w, "READ"), (x, "READ"), (product, "MAKE"), (w, "SAVE"), (x, "SAVE")}
    out = next(b for b, how in uses(trace, tanh) if how == "MAKE")
    assert uses(trace, tanh) == {(product, "READ"), (out, "MAKE"), (out, "SAVE")}
    assert uses(trace, part) == {(out, "READ"), (out, "VIEW")}
    pull = next(i for i in trace.rows(Kind.PULLBACK) if trace.name(i).startswith("tanh"))
    assert (out, "LOAD") in uses(trace, pull)
    roles = [Role(r) for r in trace.buffers["role"]]
    assert (roles[w], roles[x], roles[product], roles[out]) == (Role.INPUT, Role.INPUT, Role.VALUE, Role.SAVED)
    assert roles.count(Role.OUTPUT) == 2


def test_life_times(trace):
    buffers = trace.buffers
    multiply = trace.rows(Kind.CALL)[0]
    product = next(b for b, how in uses(trace, multiply) if how == "MAKE")
    assert buffers["alloc_event"][product] == multiply
    assert buffers["free_ns"][product] >= 0
    assert buffers["free_ns"][product] <= trace.events["end_ns"][trace.rows(Kind.SPAN)[0]]
    inputs = buffers["role"] == Role.INPUT
    assert np.all(buffers["alloc_event"][inputs] == -1)
    made = buffers["alloc_event"] >= 0
    assert np.all(buffers["nbytes"][made & (buffers["role"] == Role.SAVED)] >= 32)


def test_contributions(trace):
    rows = trace.contributions
    states = [
        (trace.name(int(e)), State(s).name, int(n), int(u))
        for e, s, n, u in zip(rows["event"], rows["state"], rows["nbytes"], rows["useful_nbytes"], strict=True)
    ]
    assert ("getitem › a", "INDEXED", 40, 32) in states
    assert ("tanh › x", "OWNED", 40, 40) in states
    assert ("add › x", "BORROWED", 32, 32) in states
    targets = [int(v) for v in rows["variable"]]
    assert targets[-2:] == [-2, -3]  # the inputs
    assert trace.name(targets[0]) == "square"
    assert np.all(rows["used"] == Answer.YES)


def test_accumulations_in_place():
    def twice(x):
        y = np.tanh(x)
        return np.sum(y * np.exp(y))

    trace = recorded(twice, X)
    (accumulated,) = trace.rows(Kind.ACCUMULATE)
    assert {how for _, how in uses(trace, accumulated)} == {"WRITE"}


def test_zeros_for_parts(trace):
    (copied,) = trace.copies["event"]
    assert Reason(trace.copies["reason"][0]) is Reason.INDEXED
    assert trace.name(int(trace.copies["because"][0])) == "tanh"
    assert trace.events["nbytes"][copied] == 40


def test_writes_and_rescues():
    def f(a):
        b = a + 1.0
        c = b * b
        b[1:3] = a[:2]
        return np.sum(c * b)

    trace = recorded(f, X)
    write = next(i for i in trace.rows(Kind.CALL) if trace.name(i) == "setitem")
    assert trace.events["nbytes"][write] == 16
    (rescue,) = np.flatnonzero(trace.copies["reason"] == Reason.SAVED_VALUE)
    copies = trace.copies
    assert trace.name(int(copies["because"][rescue])) == "square"
    assert trace.where(int(copies["event"][rescue])) == trace.where(write)
    source = int(copies["source"][rescue])
    assert (source, "WRITE") in uses(trace, write)
    assert copies["source_written_later"][rescue] == Answer.YES
    assert copies["target_written_later"][rescue] == Answer.NO
    assert copies["target_escapes"][rescue] == Answer.NO


def test_bytes_written():
    def f(a):
        b = gnp.zeros((2, 5))
        b += a
        b += 1.0
        b[1] = 2.0
        b[:, 0] = a[:2]
        b[[0, 1]] = a
        return np.sum(b)

    trace = recorded(f, X)
    written = [
        (trace.name(i), int(trace.events["nbytes"][i])) for i in trace.rows(Kind.CALL) if trace.name(i) != "getitem"
    ]
    assert written[:-1] == [("add", 80), ("add", 80), ("setitem", 40), ("setitem", 16), ("setitem", 40)]


def test_reads_of_values():
    def f(a):
        s = np.sum(a)
        if s > 0 and float(s) > 0 and bool(s):
            print(f"{s:.1f}", end="")
        return s * s.item()

    trace = recorded(f, X)
    assert [Trigger(t).name for t in trace.syncs["trigger"]] == ["FLOAT", "BOOL", "PRINT", "ITEM"]
    assert not np.any(trace.syncs["on_device"])


def test_calls_through_which_nothing_flows_are_recorded():
    names = [name for name, _ in told(recorded(lambda a: np.sum(a[np.argsort(a)] * (a > 2.0)), X), Kind.CALL)]
    assert "argsort" in names
    assert "greater" in names


def test_a_failed_call():
    def f(a):
        with contextlib.suppress(ValueError):
            a @ np.ones((2, 2))
        return np.sum(a * a)

    trace = recorded(f, X)
    (failed,) = np.flatnonzero(trace.events["flags"] & Flag.FAILED)
    assert trace.name(failed) == "matmul"
    after = [i for i in trace.rows(Kind.CALL) if i > failed]
    assert np.all(trace.events["parent"][after] == trace.rows(Kind.SPAN)[0])


def test_what_a_checkpoint_runs_again():
    def f(a):
        return np.sum(np.cos(gv.checkpoint(lambda q: np.sin(q) * q)(a * 2.0)) * a)

    trace = recorded(f, X)
    calls = trace.rows(Kind.CALL)
    again = trace.events["flags"][calls] & Flag.RECOMPUTED > 0
    assert [trace.name(i) for i in calls[again]] == ["sin", "multiply"]
    assert np.all(trace.events["flags"][calls[again]] & Flag.BACKWARD)
    assert np.all(trace.events["flags"][trace.rows(Kind.PULLBACK)] & Flag.BACKWARD)
    assert not np.any(trace.events["flags"][trace.rows(Kind.PULLBACK)] & Flag.RECOMPUTED)
    assert {trace.where(i) for i in calls[again]} == {trace.where(calls[1])}


def programs():
    def small(a):
        return np.sum(np.sin(a) * a)

    def buffers(a):
        b = gnp.zeros((3, a.size))
        for i in range(3):
            b[i] = a * float(i)
            b += 1.0
        b[0] *= b[1]
        return np.sum(b * b)

    def shared(a):
        b = np.exp(a)
        c = b + b[::-1]
        d = c.reshape(-1, 1)
        d *= 2.0
        return np.sum(c * b) + np.sum(c.T) + np.sum(a[[0, 0, 1]])

    def second(a):
        return np.sum(gv.grad(shared)(a) * a)

    def forgetful(a):
        return np.sum(gv.checkpoint(lambda q: np.sin(q * q))(a))

    return [small, buffers, shared, second, forgetful]


@pytest.mark.parametrize("f", programs(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [X, np.linspace(0, 1, 3001)], ids=["small", "large"])
def test_recording_changes_no_bit(f, x):
    want = gv.grad(f)(x)
    with gv.profile() as p:
        got = gv.grad(f)(x)
    check_trace(p.trace)
    assert np.array_equal(got, want)
    assert got.strides == want.strides


def test_the_recorder_counts_its_own_time(trace):
    assert trace.meta["recorder_ns"] > 0
    assert trace.meta["dropped"] == 0
    assert trace.meta["duration_ns"] >= trace.events["end_ns"].max()
