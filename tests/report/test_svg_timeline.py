"""Is the picture of the timeline true and bounded?"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from gradviz.record.events import Kind
from gradviz.report.finding_json import findings_of
from gradviz.report.svg_timeline import WINDOW_EVENTS, telling_window, timeline_svg
from tests.report.findings import SYNC
from tests.traces import ODD_NAMES, Maker, long_trace, made_trace


def boxes(svg: str) -> list[ET.Element]:
    root = ET.fromstring(svg)
    return [box for box in root.iter("rect") if box.get("class") != "band"]


def test_boxes_stand_where_their_events_are():
    maker = Maker()
    with maker.event(Kind.CALL, "first", site=maker.sites[0]):
        maker.wait(250)
    maker.wait(250)
    with maker.event(Kind.PULLBACK, "second"):
        maker.wait(500)
    first, second = boxes(timeline_svg(maker.trace()).svg)
    left, right = float(first.get("x")), float(second.get("x"))
    width, double = float(first.get("width")), float(second.get("width"))
    assert double == pytest.approx(2 * width, abs=1)
    assert right - left == pytest.approx(2 * width, abs=1)
    assert first.find("title").text == "first · call · 250 ns · train.py:3"
    assert (first.get("class"), second.get("class")) == ("k-call", "k-pullback")


def test_every_event_is_drawn_or_merged():
    trace = made_trace(20, simulated=True)
    picture = timeline_svg(trace)
    tips = [box.find("title").text for box in boxes(picture.svg)]
    merged = [int(re.match(r"([\d,]+) short", tip)[1].replace(",", "")) for tip in tips if " short event" in tip]
    alone = [tip for tip in tips if " short event" not in tip]
    assert sum(merged) == picture.merged
    assert len(alone) + picture.merged == len(trace)


def test_a_million_events_make_a_small_picture():
    trace = long_trace(1_000_000)
    assert len(timeline_svg(trace).svg) < 100_000
    assert len(timeline_svg(trace, most=10_000, window_ns=(0, 50_000_000)).svg) < 1_500_000


def test_what_is_left_out_is_said():
    maker = Maker()
    for lane in range(20):
        maker.add("lanes", name=f"thread {lane}", kind=0, device=0)
        maker.add("events", kind=Kind.SPAN, name="f", lane=lane + 2, start_ns=0, end_ns=100 + lane)
    for level in range(30):
        parent = len(maker.rows["events"]) - 1 if level else -1
        maker.add("events", kind=Kind.SPAN, name=f"level {level}", lane=0, start_ns=0, end_ns=1000, parent=parent)
    picture = timeline_svg(maker.trace(duration_ns=1000))
    assert "18 not shown: nested more than 12 deep" in picture.note
    assert "5 lanes of little work not shown" in picture.note


def test_odd_names_stay_text():
    svg = timeline_svg(made_trace(5, names=ODD_NAMES, simulated=True)).svg
    tags = {element.tag for element in ET.fromstring(svg).iter()}
    assert tags == {"svg", "rect", "line", "text", "title"}


def test_findings_are_numbered_at_their_evidence():
    trace = made_trace(10)
    svg = timeline_svg(trace, findings_of([SYNC, SYNC, SYNC | {"events": [len(trace) - 1]}])).svg
    assert re.findall(r'class="flag"[^>]*>(\d)<', svg) == ["1", "3"], "the second stands on the first"


def test_the_closer_look_is_around_the_first_finding():
    trace = long_trace(20_000)
    events = trace.events
    (from_ns, until_ns), what = telling_window(trace, findings_of([SYNC | {"events": [9000]}]))
    assert from_ns <= events["start_ns"][9000] < until_ns
    inside = (events["start_ns"] >= from_ns) & (events["start_ns"] <= until_ns)
    assert 0.8 * WINDOW_EVENTS < inside.sum() < 1.5 * WINDOW_EVENTS
    assert what.startswith("around finding 1, ")
    assert telling_window(trace, [])[1].startswith("where the backward pass begins")
