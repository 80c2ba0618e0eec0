"""Are the events as dicts true to the trace?"""

from __future__ import annotations

import pytest

from gradviz.record.events import Flag, Kind
from gradviz.record.trace import Trace
from gradviz.report.event_list import event_list
from tests.traces import ODD_NAMES, Maker, made_trace


def test_times_nest_and_parents_contain():
    trace = made_trace(5, names=ODD_NAMES, simulated=True)
    found = event_list(trace)
    assert [event["name"] for event in found] == [trace.name(row) for row in range(len(trace))]
    for event in found:
        assert event["dur"] >= 0
        if event["parent"] is not None:
            around = found[event["parent"]]
            assert around["tid"] == event["tid"]
            assert around["ts"] <= event["ts"]
            assert event["ts"] + event["dur"] <= around["ts"] + around["dur"] + 1e-6


def test_backward_work_carries_the_label_of_its_forward_call():
    maker = Maker()
    calls = {}
    with maker.event(Kind.SPAN, "outer"):
        for label in ("encode", "decode"):
            with maker.event(Kind.SPAN, label), maker.event(Kind.CALL, "tanh", site=maker.sites[0]) as calls[label]:
                maker.wait(1000)
    with maker.event(Kind.SPAN, "backward", flags=Flag.BACKWARD):
        for label in ("decode", "encode"):
            with maker.event(Kind.PULLBACK, "tanh > x", call=calls[label]):
                maker.wait(1000)
    found = event_list(maker.trace())
    assert [(e["kind"], e["label"], e["path"]) for e in found if e["type"] == "pullback"] == [
        ("backward", "decode", "outer/decode"),
        ("backward", "encode", "outer/encode"),
    ]
    assert [e["kind"] for e in found] == ["span", "span", "op", "span", "op", "span", "backward", "backward"]
    assert found[2]["where"] == "train.py:3"
    assert found[0]["label"] == ""
    assert found[2]["ts"] == pytest.approx(0)
    assert found[2]["dur"] == pytest.approx(1)


def test_deep_nesting_needs_no_recursion_and_little_memory():
    maker = Maker()
    for level in range(20_000):
        maker.add("events", kind=Kind.SPAN, name=f"level {level}", lane=0, parent=level - 1, end_ns=9)
    last = event_list(maker.trace())[-1]
    assert last["path"].startswith("level 19983/")
    assert last["label"] == "level 19998"


def test_none():
    assert event_list(Trace()) == []
