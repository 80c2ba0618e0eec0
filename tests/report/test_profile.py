"""Does a profile hold together what a user asks of it?"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import FileFormatError, TooLargeError
from gradviz.findings.all import find_all
from gradviz.record.events import Kind
from gradviz.record.trace import Trace
from gradviz.report.profile import Profile, compare, load
from gradviz.report.recording import profile
from tests.report.findings import SYNC
from tests.traces import long_trace, made_trace


@pytest.fixture
def made() -> Profile:
    return Profile(made_trace(3, simulated=True), [SYNC], {"train.py": "x = 1"})


def test_a_file_gives_the_profile_back(made, tmp_path):
    path = made.save(tmp_path / "run.gradviz")
    back = load(path)
    assert back.findings == made.findings
    assert back.sources == {"train.py": "x = 1"}
    assert back.trace.strings == made.trace.strings
    assert str(back.summary(width=100)) == str(made.summary(width=100))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileFormatError, match=r"run\.gradviz"):
        load(path)


def test_findings_are_looked_for_when_they_are_needed():
    trace = made_trace(10, simulated=True)
    found = Profile(trace)
    assert found._findings is None
    assert found.findings == find_all(trace)
    assert found.findings is found.findings


def test_everything_can_be_written(made, tmp_path):
    assert made.to_html(tmp_path / "r.html").read_text(encoding="utf-8") == made.to_html()
    packed = gzip.decompress(made.to_chrome_trace(tmp_path / "t.json.gz").read_bytes()).decode()
    assert packed == made.to_json()
    assert len([e for e in json.loads(made.to_json())["traceEvents"] if e["ph"] == "X"]) == len(made.trace)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "t.json.gz"]


def test_what_can_be_asked(made):
    assert made.dropped == 0
    assert len(made.events) == len(made.trace)
    assert made.events is made.events
    assert made.lines()[0].where.startswith("train.py:")
    assert len(made.graph()) == len(made.trace) + len(made.trace.buffers["nbytes"])
    row = int(made.trace.rows(Kind.PULLBACK)[0])
    near = made.graph(around=[row], hops=1)
    assert f"e{row}" in near
    assert len(near) < len(made.graph())
    assert len(made.graph(around=[row], hops=5, limit=7)) == 7
    assert made.timeline().layout.title.text.startswith("Timeline")
    assert made.memory().layout.title.text.startswith("Memory")
    with pytest.raises(TooLargeError):
        Profile(long_trace(30_000)).graph()


def test_how_it_shows_itself(made):
    bundle = made._repr_mimebundle_()
    assert {"text/html", "text/plain"} <= bundle.keys()
    assert bundle["text/html"] == made._repr_html_()
    assert bundle["text/plain"] == repr(made)
    assert repr(made).startswith("gradviz  train.py")
    assert SYNC["title"] in repr(made)
    assert repr(made.summary(top=1, width=80)) == made.summary(top=1, width=80)


def test_comparing(made):
    later = Profile(made_trace(4, simulated=True), [])
    found = made.compare(later)
    assert found.changes == compare(made, later).changes
    assert found.new.size > 0
    assert repr(found).startswith("── Totals")
    assert found.summary(top=1, width=80).count("\n") < repr(found).count("\n")
    assert "<iframe" in found._repr_html_()


@dataclass
class Growing:
    """A recording that is longer each time it is read."""

    open: bool = True
    read: int = 0

    def assemble(self) -> tuple[Trace, dict[str, str]]:
        self.read += 1
        return made_trace(self.read, calls=2), {"train.py": str(self.read)}


def test_a_running_recording_is_read_anew_and_a_finished_one_once():
    recording = Growing()
    live = Profile.of_recording(recording, recording.assemble)
    lengths = [len(live.trace), len(live.trace), len(live.events)]
    assert lengths == sorted(set(lengths))
    recording.open = False
    assert len(live.trace) == len(live.events) == len(made_trace(4, calls=2))
    assert live.sources == {"train.py": "4"}
    assert recording.read == 4


def test_a_real_recording(tmp_path):
    def loss(x):
        return np.sum(np.exp(x) * x)

    with profile(label="real") as p:
        for _ in range(3):
            gv.grad(loss)(np.ones(1000))
    assert len(p.trace.rows(Kind.PULLBACK)) >= 6
    assert "exp" in p.summary(width=140)
    assert any(line.where.startswith("test_profile.py") or "test_profile.py" in line.where for line in p.lines())
    back = load(p.save(tmp_path / "real.gradviz"))
    assert back.to_json() == p.to_json()
    assert not compare(p, back).changes
