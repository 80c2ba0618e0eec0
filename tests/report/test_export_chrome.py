"""Will Perfetto take every event, in its place?"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.graph.memory import memory
from gradviz.record.events import Kind
from gradviz.record.trace import Trace
from gradviz.report.export_chrome import chrome_json, save_chrome
from tests.report.findings import ODD, SYNC, WRONG
from tests.traces import ODD_NAMES, Maker, long_trace, made_trace


def strict(text: str) -> dict:
    def refuse(name):
        raise ValueError(name)

    text.encode()
    return json.loads(text, parse_constant=refuse)


def cut(us: float) -> int:
    """Nanoseconds as older Perfettos read them."""
    return int(us * 1000.0)


def events(text: str, phase: str) -> list[dict]:
    return [event for event in strict(text)["traceEvents"] if event["ph"] == phase]


def check_nesting(text: str) -> None:
    """As Perfetto nests: in file order for equal begins, on each track."""
    spans = sorted(events(text, "X"), key=lambda e: (e["pid"], e["tid"], cut(e["ts"])))
    for _, track in groupby(spans, key=lambda e: (e["pid"], e["tid"])):
        ends: list[int] = []
        for span in track:
            begin, end = cut(span["ts"]), cut(span["ts"]) + cut(span["dur"])
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or end <= ends[-1]
            ends.append(end)


@given(st.lists(st.tuples(st.integers(0, 1 << 45), st.integers(0, 1 << 12), st.integers(0, 2)), max_size=20))
def test_any_intervals_nest(intervals):
    maker = Maker()
    begin = 0
    for step, length, lane in intervals:
        begin += step >> 35
        maker.add("events", kind=Kind.CALL, name="f", lane=lane % 2, start_ns=begin, end_ns=begin + length)
    check_nesting(chrome_json(maker.trace()))


@given(st.integers(0, 30), st.booleans())
def test_every_event_is_there_with_its_times(seed, simulated):
    trace = made_trace(2, 5, seed, simulated)
    text = chrome_json(trace)
    check_nesting(text)
    spans = sorted(events(text, "X"), key=lambda event: event["args"]["event"])
    assert [cut(span["ts"]) for span in spans] == trace.events["start_ns"].tolist()
    assert [round(span["ts"] * 1000) for span in spans] == trace.events["start_ns"].tolist()
    assert [cut(span["dur"]) for span in spans] == (trace.events["end_ns"] - trace.events["start_ns"]).tolist()


def test_times_survive_cutting_however_large():
    from gradviz.report.export_chrome import _microseconds

    ns = np.random.default_rng(0).integers(0, 1 << 50, 100_000)
    us = np.array(_microseconds(ns))
    assert np.array_equal((us * 1000.0).astype(np.int64), ns)
    assert np.array_equal(np.rint(us * 1000.0).astype(np.int64), ns)


def test_one_arrow_from_each_call_to_each_of_its_pullbacks():
    trace = made_trace(3)
    text = chrome_json(trace)
    starts, ends = events(text, "s"), events(text, "f")
    assert Counter(e["id"] for e in starts) == Counter(e["id"] for e in ends) == Counter(range(1, len(starts) + 1))
    assert {e["bp"] for e in ends} == {"e"}
    span, bound = {}, {}
    for event in strict(text)["traceEvents"]:
        if event["ph"] == "X":
            span = event
        elif event["ph"] in "sf":
            assert (event["pid"], event["tid"], event["ts"]) == (span["pid"], span["tid"], span["ts"])
            bound.setdefault(event["id"], {})[event["ph"]] = span["args"]["event"]
    pullbacks = trace.rows(Kind.PULLBACK).tolist()
    assert sorted((pair["s"], pair["f"]) for pair in bound.values()) == sorted(
        (int(trace.events["call"][row]), row) for row in pullbacks
    )


def test_nothing_binds_to_a_span_of_no_length():
    maker = Maker()
    with maker.event(Kind.CALL, "f") as call:
        pass
    with maker.event(Kind.PULLBACK, "f > x", call=call):
        maker.wait(10)
    assert events(chrome_json(maker.trace()), "s") == []


def test_odd_names_and_numbers_are_strict_json():
    trace = made_trace(10, names=ODD_NAMES)
    trace.meta |= {"label": ODD_NAMES[4], "recorder_ns": float("nan")}
    text = chrome_json(trace, [SYNC, *ODD, *WRONG])
    names = {event["name"] for event in events(text, "X")}
    assert {'a"b', "C:\\temp\\x.py", "漢字 😀", "two␊lines␉tab", "\ufffd lone", "(no name)"} <= names
    assert max(map(len, names)) == 500
    assert len(events(text, "i")) == 1 + len(ODD) + len(WRONG)


def test_counters_are_the_memory_by_role():
    trace = made_trace(3)
    counters = events(chrome_json(trace), "C")
    curve = memory(trace)
    assert [sum(event["args"].values()) for event in counters] == curve.total_nbytes.tolist()


def test_buffers_begin_and_end():
    trace = made_trace(3)
    text = chrome_json(trace)
    begins, ends = ({e["id"]: e["ts"] for e in events(text, phase)} for phase in "be")
    assert begins.keys() == ends.keys()
    assert len(begins) == len(trace.buffers["nbytes"])
    assert all(begins[i] <= ends[i] for i in begins)


def test_findings_stand_at_their_evidence():
    trace = made_trace(3)
    (instant,) = events(chrome_json(trace, [SYNC]), "i")
    assert instant["name"] == SYNC["title"]
    assert cut(instant["ts"]) == trace.events["start_ns"][4]
    assert instant["args"]["remedy"] == SYNC["remedy"]


def test_tracks_have_names_and_devices_are_processes():
    names = {
        e["args"]["name"]: (e["pid"], e["tid"])
        for e in events(chrome_json(made_trace(1, simulated=True), [SYNC]), "M")
        if "name" in e["args"]
    }
    assert names["MainThread"] == (1, 1)
    assert names["sim:a100 stream 0"] == (2, 2)
    assert {"host", "sim:a100", "findings"} <= names.keys()


def test_what_is_left_out_is_said():
    trace = long_trace(60_000)
    trace.meta["dropped"] = 7
    other = strict(chrome_json(trace))["otherData"]
    assert other["events"] == len(trace)
    assert other["dropped"] == 7
    assert other["simulated"] is True
    assert other["buffers"] == f"10000 of {len(trace.buffers['nbytes'])}, the largest"
    assert other["memory"].endswith("moments, the peaks kept")


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_files(tmp_path, name):
    trace = made_trace(2)
    save_chrome(trace, tmp_path / name, [SYNC])
    data = (tmp_path / name).read_bytes()
    data = gzip.decompress(data) if name.endswith("gz") else data
    assert data.decode() == chrome_json(trace, [SYNC])


def test_an_empty_trace():
    assert strict(chrome_json(Trace()))["traceEvents"] == []
