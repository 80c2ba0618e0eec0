"""Can the tables be read without gradviz?"""

from __future__ import annotations

import csv

from gradviz.record.events import TABLES
from gradviz.report.export_tables import readable, save_tables
from tests.traces import ODD_NAMES, made_trace


def test_numbers_become_words():
    trace = made_trace(3, simulated=True)
    events = readable(trace, "events")
    assert events["name"][:2] == ["step", "forward"]
    assert set(events["kind"]) <= {"span", "call", "pullback", "copy", "sync", "kernel", "accumulate"}
    assert "train.py:3" in events["where"]
    assert readable(trace, "copies")["direction"][0] == "host_to_host"
    assert readable(trace, "lanes")["kind"] == ["thread", "stream"]


def test_csv_files_hold_every_row(tmp_path):
    trace = made_trace(3, names=ODD_NAMES)
    save_tables(trace, tmp_path / "out")
    assert {path.stem for path in (tmp_path / "out").iterdir()} == TABLES.keys()
    with (tmp_path / "out" / "events.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["row"]) for row in rows] == list(range(len(trace)))
    assert [int(row["start_ns"]) for row in rows] == trace.events["start_ns"].tolist()
    assert 'a"b' in {row["name"] for row in rows}
