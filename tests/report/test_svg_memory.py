"""Is the picture of memory true?"""

from __future__ import annotations

import re

import numpy as np
import pytest

from gradviz.graph.memory import memory
from gradviz.record.events import Role
from gradviz.report.svg_memory import memory_svg
from tests.traces import Maker, long_trace, made_trace


def heights(path: str) -> list[float]:
    return [float(y) for y in re.findall(r"V([\d.]+)", path)]


def test_layers_are_as_high_as_their_bytes():
    maker = Maker()
    saved = maker.buffer(3 << 20, role=Role.SAVED)
    maker.wait(500)
    maker.buffer(1 << 20, role=Role.COPY)
    maker.wait(500)
    maker.free(saved)
    maker.wait(1000)
    svg = memory_svg(memory(maker.trace()), maker.now_ns)
    paths = dict(re.findall(r'class="r-(\w+)" d="([^"]+)"', svg))
    assert paths.keys() == {"saved", "copy"}
    floor = max(heights(paths["saved"]))
    roof = floor - np.array(heights(paths["copy"])[:330])
    assert roof[10] / roof[100] == pytest.approx(3 / 4, rel=0.01)
    assert roof[250] / roof[100] == pytest.approx(1 / 4, rel=0.02)
    assert "peak 4.00 MiB after 500 ns" in svg


def test_the_peak_is_never_lost():
    trace = long_trace(100_000)
    found = memory(trace, points=1000)
    svg = memory_svg(found, trace.meta["duration_ns"])
    top = min(min(heights(d)) for d in re.findall(r' d="([^"]+)"', svg))
    scale = (186 - 20) / (found.peak_nbytes * 1.08)
    assert 186 - top == pytest.approx(found.peak_nbytes * scale, abs=0.2)
    assert len(svg) < 80_000


def test_it_is_one_picture_with_a_name():
    svg = memory_svg(memory(made_trace(1)), 10)
    assert svg.startswith("<svg ")
    assert 'role="img" aria-label="Bytes alive over time, at most ' in svg
