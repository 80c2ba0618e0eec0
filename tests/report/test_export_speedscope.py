"""Are speedscope's profiles well formed, and their sums right?"""

from __future__ import annotations

import json

from gradviz.record.events import Kind
from gradviz.record.trace import Trace
from gradviz.report.export_speedscope import save_speedscope, speedscope
from tests.traces import ODD_NAMES, made_trace


def test_frames_open_and_close_like_a_stack():
    trace = made_trace(5, names=ODD_NAMES, simulated=True)
    found = speedscope(trace)
    frames = found["shared"]["frames"]
    assert [profile["name"] for profile in found["profiles"]] == ["MainThread", "sim:a100 stream 0", "bytes copied"]
    opened = 0
    for profile in found["profiles"][:2]:
        stack, now = [], profile["startValue"]
        for step in profile["events"]:
            assert step["at"] >= now
            now = step["at"]
            assert 0 <= step["frame"] < len(frames)
            if step["type"] == "O":
                stack.append(step["frame"])
                opened += 1
            else:
                assert stack.pop() == step["frame"]
        assert not stack
        assert now <= profile["endValue"]
    assert opened == len(trace)


def test_copied_bytes_are_weighed_by_stack():
    trace = made_trace(5)
    copied = speedscope(trace)["profiles"][-1]
    assert copied["unit"] == "bytes"
    assert sum(copied["weights"]) == copied["endValue"] == trace.copies["nbytes"].sum()
    assert len(copied["samples"]) == len(trace.rows(Kind.COPY))
    frames = speedscope(trace)["shared"]["frames"]
    first = [frames[number]["name"] for number in copied["samples"][0]]
    assert first[:2] == ["step", "forward"]
    assert first[-1] == trace.name(int(trace.copies["event"][0]))


def test_the_file_is_strict_json(tmp_path):
    path = tmp_path / "t.speedscope.json"
    save_speedscope(made_trace(2, names=ODD_NAMES), path)
    assert json.loads(path.read_bytes())["exporter"].startswith("gradviz ")


def test_an_empty_trace_has_no_profiles():
    assert speedscope(Trace())["profiles"] == []
