"""Does a thinned trace hold together, keep what matters, and say what it left out?"""

from __future__ import annotations

import base64

import numpy as np
import pytest

from gradviz.graph.lines import lines
from gradviz.record.check import check_trace
from gradviz.record.files import loads
from gradviz.report.interactive import Run, interactive_html, mime_data, viewer_script
from gradviz.report.thin import thin
from tests.traces import long_trace, made_trace


@pytest.fixture(scope="module")
def trace():
    return long_trace(20_000)


def test_a_small_trace_comes_back_as_it_is() -> None:
    small = made_trace()
    assert thin(small, [], 10_000)[0] is small


def test_references_still_point_at_the_same_things(trace) -> None:
    small, _ = thin(trace, [], 2000)
    check_trace(small)
    assert 2000 <= len(small) < 6000
    assert small.meta["recorded"] == len(trace)
    events = small.events
    for column in ("parent", "call"):
        held = np.flatnonzero(events[column] >= 0)
        assert np.all(events["start_ns"][events[column][held]] <= events["start_ns"][held])
    inside = np.flatnonzero(events["parent"] >= 0)
    assert np.all(events["end_ns"][events["parent"][inside]] >= events["end_ns"][inside])


def test_the_longest_events_and_the_evidence_stay(trace) -> None:
    shortest = int(np.argmin(trace.events["end_ns"] - trace.events["start_ns"]))
    small, found = thin(trace, [{"title": "x", "events": [shortest], "buffers": [0]}], 500)
    assert small.name(found[0]["events"][0]) == trace.name(shortest)
    longest = np.sort(trace.events["end_ns"] - trace.events["start_ns"])[-400:]
    kept = np.sort(small.events["end_ns"] - small.events["start_ns"])[-400:]
    assert np.array_equal(longest, kept)


def test_the_peak_of_memory_stays(trace) -> None:
    def peak(buffers) -> int:
        freed = buffers["free_ns"] >= 0
        moments = np.concatenate([buffers["free_ns"][freed], buffers["alloc_ns"]])
        changes = np.concatenate([-buffers["nbytes"][freed], buffers["nbytes"]])
        return int(np.cumsum(changes[np.argsort(moments, kind="stable")]).max())

    small, _ = thin(trace, [], 1000)
    assert len(small.buffers["nbytes"]) == 1000
    assert peak(small.buffers) == peak(trace.buffers)


def test_sums_by_line_are_those_of_the_whole_run(trace) -> None:
    run = Run(trace, [], {}).thinned(1000)
    assert sum(line["forward_ns"] for line in run.view["lines"]) == sum(line.forward_ns for line in lines(trace))


def test_an_output_is_small_and_a_report_is_whole(trace) -> None:
    data = mime_data(Run(long_trace(200_000), [], {}))
    assert len(data["profile"]) < 1_000_000
    assert viewer_script(), "the front end is not built: run `npm run build` in labextension"
    page = interactive_html(Run(trace, [], {"a.py": "</script><b>"}), "title", "<p>static</p>")
    assert page
    assert "</script><b>" not in page
    block = page.split('data-role="after">')[1].split("<")[0]
    assert len(loads(base64.b64decode(block))[0]) == len(trace)
