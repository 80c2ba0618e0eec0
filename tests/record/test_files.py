"""Does a .gradviz file give back what was saved, and refuse what it cannot trust?"""

from __future__ import annotations

import io
import json
import math
import random
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.errors import FileFormatError, FileTooLargeError, FileVersionError
from gradviz.record.events import TABLES
from gradviz.record.files import dumps, load, loads, save
from gradviz.record.trace import Trace
from tests.traces import ODD_NAMES, long_trace, made_trace

FINDING = {"kind": "sync_in_pullback", "title": "a sync", "events": [1, 2], "buffers": [0], "share": 0.5}


def same(a: Trace, b: Trace) -> bool:
    return (
        a.strings == b.strings
        and a.meta == b.meta
        and all(np.array_equal(a.tables[t][c], b.tables[t][c]) for t in TABLES for c in TABLES[t])
        and all(b.tables[t][c].dtype == np.dtype(TABLES[t][c]) for t in TABLES for c in TABLES[t])
    )


def rewritten(data: bytes, manifest=None, drop=(), add=(), **members: bytes) -> bytes:
    """The file with some members changed; ``manifest`` is a function that changes it in place."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = members.get(name.replace("/", "__"), old.read(name))
            if name == "manifest.json" and manifest:
                parsed = json.loads(content)
                changed = manifest(parsed)
                content = json.dumps(changed if isinstance(changed, list) else parsed).encode()
            if name not in drop:
                new.writestr(name, content)
        for name, content in add:
            new.writestr(name, content)
    return out.getvalue()


@pytest.fixture(scope="module")
def data() -> bytes:
    return dumps(made_trace(), [FINDING], {"train.py": "x = 1"}, {"graph": [1, 2]})


@given(st.integers(0, 50), st.integers(0, 3), st.lists(st.sampled_from(ODD_NAMES) | st.text(), min_size=1, max_size=5))
def test_round_trip(seed, steps, names):
    trace = made_trace(steps, 4, seed, names=tuple(names))
    back, _ = loads(dumps(trace))
    assert same(trace, back)


def test_everything_else_comes_back(tmp_path):
    path = tmp_path / "run.gradviz"
    save(made_trace(), path, [FINDING], {"train.py": "x = '\ud800'"}, {"graph": [1, 2]})
    trace, manifest = load(path)
    assert same(trace, made_trace())
    assert manifest["findings"] == [FINDING]
    assert manifest["sources"] == {"train.py": "x = '\ud800'"}
    assert manifest["view"] == {"graph": [1, 2]}
    assert manifest["format"] == "gradviz"
    assert manifest["version"] == 1


def test_an_empty_trace_comes_back():
    assert same(Trace(), loads(dumps(Trace()))[0])


def test_the_file_is_a_plain_zip_that_a_browser_can_inflate(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        manifest = json.loads(archive.read("manifest.json"))
        described = manifest["tables"]["events"]
        assert described["columns"]["start_ns"]["dtype"] == "<i8"
        assert len(archive.read("columns/events/start_ns")) == 8 * described["rows"]


def test_equal_traces_make_equal_files():
    assert dumps(made_trace()) == dumps(made_trace())


def test_numbers_that_json_lacks_become_null():
    trace = made_trace()
    trace.meta["share"] = math.nan
    _, manifest = loads(dumps(trace, [{"kind": "x", "share": math.inf, "count": np.int64(3)}]))
    assert manifest["meta"]["share"] is None
    assert manifest["findings"] == [{"kind": "x", "share": None, "count": 3}]


def test_a_failed_save_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "run.gradviz"
    path.write_bytes(b"old")
    broken = made_trace()
    del broken.tables["lanes"]["kind"]
    with pytest.raises(KeyError):
        save(broken, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.alone
def test_a_million_events_are_small_and_quick(tmp_path):
    trace = long_trace(1_000_000)
    rng = np.random.default_rng(0)
    events = trace.tables["events"]
    for column in ("nbytes", "site", "name_str"):  # repeats would flatter the size
        events[column] = rng.permutation(events[column])
    path = tmp_path / "million.gradviz"
    start = time.process_time()
    save(trace, path)
    written_s = time.process_time() - start
    assert path.stat().st_size <= 15e6
    assert written_s < 12  # 1.2 s on a quiet machine
    start = time.process_time()
    back, _ = load(path)
    assert time.process_time() - start < 6
    assert same(trace, back)


@given(st.data())
def test_damage_is_an_error_or_harmless(data):
    whole = _WHOLE
    if data.draw(st.booleans()):
        damaged = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        damaged = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 8))):
            damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        trace, _ = loads(bytes(damaged))
    except FileFormatError:
        return
    assert same(trace, loads(whole)[0])


_WHOLE = dumps(made_trace(1, 3))


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all" * 100, b"\x80\x04pickle"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "odd.gradviz"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"odd\.gradviz: not a whole \.gradviz file"):
        load(path)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.gradviz")


def test_a_newer_file_says_upgrade(data):
    newer = rewritten(data, lambda m: m.update(version=2, tables={}), add=[("columns/new/thing", b"")])
    with pytest.raises(FileVersionError, match=r"format version 2, this gradviz reads up to 1\. Upgrade: pip"):
        loads(newer)


def rows(table, count):
    return lambda manifest: manifest["tables"][table].update(rows=count)


def column(table, name, **values):
    return lambda manifest: manifest["tables"][table]["columns"][name].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format="other"), "does not say so"),
        (lambda m: [], "does not say so"),
        (lambda m: m.update(version="1"), "its version is '1'"),
        (lambda m: m.update(version=True), "its version is 'True'"),
        (lambda m: m.update(strings=["x"]), "strings must be texts"),
        (lambda m: m.update(strings=[""]), "_str"),
        (lambda m: m["strings"].append(3), "strings must be texts"),
        (lambda m: m.update(meta=None), "no 'meta' of type dict"),
        (lambda m: m.update(sources={"a": 1}), "sources must be texts"),
        (lambda m: m["tables"].pop("lanes"), "its tables are"),
        (lambda m: m["tables"].update(more={}), "its tables are"),
        (lambda m: m["tables"]["events"]["columns"].pop("kind"), r"columns of 'events' do not fit.*'kind'"),
        (lambda m: m["tables"].update(lanes=3), "does not describe table 'lanes'"),
        (rows("lanes", -1), "impossible number of rows"),
        (rows("lanes", 2.0), "impossible number of rows"),
        (rows("events", 1 << 40), "impossible number of rows"),
        (rows("events", 7), "7 rows of u1 take 7"),
        (column("events", "start_ns", dtype="<f8"), "not described as <i8"),
        (column("events", "start_ns", dtype="O"), "not described as <i8"),
        (column("events", "start_ns", encoding=["rot13"]), "unknown encoding"),
        (column("events", "start_ns", encoding=["shuffle", "delta"]), "unknown encoding"),
        (column("devices", "bandwidth_bytes_per_s", encoding=["delta"]), "unknown encoding"),
        (lambda m: m["findings"][0].update(events=[10**6]), "finding 0 names events that are not in the trace"),
        (lambda m: m["findings"][0].update(buffers=[-1]), "finding 0 names buffers"),
        (lambda m: m["findings"].append("text"), "finding 1 is not an object"),
    ],
)
def test_a_lying_manifest_is_refused(data, change, message):
    with pytest.raises(FileFormatError, match=message):
        loads(rewritten(data, change))


@pytest.mark.parametrize(
    "manifest",
    [b"[" * 100_000, b'{"a": NaN}', b"\xff\xfe", b"9" * 5000, b'{"format": "gradviz", "version": 1}'],
    ids=["deep", "nan", "not utf-8", "huge number", "little"],
)
def test_odd_json_is_refused(data, manifest):
    with pytest.raises(FileFormatError):
        loads(rewritten(data, **{"manifest.json": manifest}))


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "columns/events/../../x", "columns\\events\\kind", "x"]
)
def test_strange_members_are_refused(data, name):
    with pytest.raises(FileFormatError, match="no place in a"):
        loads(rewritten(data, add=[(name, b"x")]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_may_not_stand_twice(data):
    with pytest.raises(FileFormatError, match="stands in it twice"):
        loads(rewritten(data, add=[("columns/events/kind", b"")]))


def test_a_missing_column_is_named(data):
    with pytest.raises(FileFormatError, match="column 'events/kind' is missing"):
        loads(rewritten(data, drop=["columns/events/kind"]))


@pytest.mark.parametrize(
    ("table", "name", "value", "message"),
    [
        ("events", "name_str", 9999, r"events\.name_str, row 0, is 9999; it must lie in -1\.\."),
        ("events", "lane", -1, r"events\.lane"),
        ("events", "parent", 10**6, r"events\.parent"),
        ("events", "parent", 0, "runs in a circle"),
        ("events", "call", -2, r"events\.call"),
        ("events", "kind", 200, r"events\.kind"),
        ("events", "flags", 1 << 12, r"events\.flags"),
        ("events", "end_ns", -5, "end before they begin"),
        ("events", "nbytes", -5, r"events\.nbytes"),
        ("events", "start_ns", 2**62, r"events\.start_ns"),
        ("uses", "buffer", -1, r"uses\.buffer"),
        ("uses", "how", 77, r"uses\.how"),
        ("buffers", "role", 8, r"buffers\.role"),
    ],
)
def test_references_out_of_range_are_refused(table, name, value, message):
    trace = made_trace()
    trace.tables[table][name][0] = value
    with pytest.raises(FileFormatError, match=message):
        loads(dumps(trace))


def test_a_long_circle_of_parents_is_refused():
    trace = made_trace()
    trace.events["parent"][:] = np.roll(np.arange(len(trace)), 1)
    with pytest.raises(FileFormatError, match="circle"):
        loads(dumps(trace))


def bomb(declared_rows: int) -> bytes:
    """A file whose first column really inflates to ``8 * declared_rows`` bytes, from a thousandth of that."""
    zeros = b"\0" * (8 * declared_rows)
    return rewritten(_WHOLE, rows("events", declared_rows), columns__events__start_ns=zeros)


def peak_nbytes(action) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(data, error, message, **options):
    with pytest.raises(error, match=message):
        loads(data, **options)


def test_memory_is_asked_for_before_it_is_taken():
    data = bomb(4_000_000)
    peak = peak_nbytes(lambda: refused(data, FileTooLargeError, "allow more: load", max_nbytes=1 << 20))
    assert peak < 2 << 20


def test_a_member_that_lies_about_its_size_is_not_inflated():
    """The directory says what the manifest needs, the deflated stream holds 32 MB."""
    rows = len(loads(_WHOLE)[0])
    data = bytearray(rewritten(_WHOLE, columns__events__start_ns=bytes(32_000_000)))
    directory = data.rfind(b"PK\x01\x02", 0, data.rfind(b"columns/events/start_ns"))
    data[directory + 24 : directory + 28] = (8 * rows).to_bytes(4, "little")
    peak = peak_nbytes(lambda: refused(bytes(data), FileFormatError, "start_ns"))
    assert peak < 4 << 20


def test_a_claim_beyond_what_deflate_can_do_is_refused():
    data = bytearray(_WHOLE)
    directory = data.rfind(b"PK\x01\x02", 0, data.rfind(b"columns/events/start_ns"))
    data[directory + 24 : directory + 28] = (1 << 31).to_bytes(4, "little")
    refused(bytes(data), FileFormatError, "more than it can hold")


def test_a_huge_manifest_is_refused():
    zeros = b" " * (65 << 20)
    data = rewritten(_WHOLE, **{"manifest.json": zeros})
    peak = peak_nbytes(lambda: refused(data, FileTooLargeError, "its manifest claims"))
    assert peak < 4 << 20


def test_other_compressions_are_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("manifest.json", b"{}" * 100)
    refused(out.getvalue(), FileFormatError, "not plainly deflated")


def test_random_noise_inside_a_zip_is_refused():
    noise = random.Random(0).randbytes(1000)
    refused(rewritten(_WHOLE, **{"manifest.json": noise}), FileFormatError, "its manifest is not JSON")


def test_paths_may_be_texts_or_paths(tmp_path):
    save(made_trace(), str(tmp_path / "a.gradviz"))
    assert len(load(Path(tmp_path) / "a.gradviz")[0]) == len(made_trace())
