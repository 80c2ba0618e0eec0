"""Are plotly's figures true, and small enough?"""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from gradviz.errors import MissingPackageError
from gradviz.graph.memory import memory as curve
from gradviz.record.trace import Trace
from gradviz.report.figures import memory, timeline
from tests.traces import ODD_NAMES, long_trace, made_trace


def test_every_event_is_a_bar():
    trace = made_trace(3, simulated=True)
    figure = timeline(trace)
    assert sum(len(bars.x) for bars in figure.data) == len(trace)
    rows = np.concatenate([[data[0] for data in bars.customdata] for bars in figure.data]).astype(int)
    assert np.allclose(np.concatenate([bars.base for bars in figure.data]), trace.events["start_ns"][rows] / 1e6)
    assert "SIMULATED sim:a100" in figure.layout.title.text
    assert f"{len(trace)} events; 0 dropped" in figure.layout.title.text


def test_only_the_longest_of_many():
    trace = long_trace(50_000)
    figure = timeline(trace, most=100)
    assert sum(len(bars.x) for bars in figure.data) == 100
    assert "the longest 100 shown" in figure.layout.title.text
    duration = np.sort(trace.events["end_ns"] - trace.events["start_ns"])[-100:]
    assert sum(bars.x.sum() for bars in figure.data) == pytest.approx(duration.sum() / 1e6)


def test_the_layers_add_up_to_the_memory():
    trace = made_trace(3)
    figure = memory(trace)
    assert np.array_equal(np.sum([layer.y for layer in figure.data], axis=0), curve(trace).total_nbytes)
    assert all(len(layer.x) <= 2003 for layer in memory(long_trace(50_000)).data)


def test_names_are_no_markup():
    figure = timeline(made_trace(5, names=ODD_NAMES))
    texts = [text for bars in figure.data for text in bars.text]
    assert any(text.startswith("&lt;/script>") for text in texts)
    assert not any("<" in text for text in texts)


def test_an_empty_trace_has_empty_figures():
    assert len(timeline(Trace()).data) == len(memory(Trace()).data) == 0


def test_without_plotly_the_error_says_what_to_do(monkeypatch):
    real = builtins.__import__

    def without(name, *args):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackageError, match="pip install plotly"):
        timeline(Trace())
