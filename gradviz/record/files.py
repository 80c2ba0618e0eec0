"""What stands in a ``.gradviz`` file.

A zip with a ``manifest.json`` (texts, facts about the run, sources, findings, the shape of each table) and one deflated
member ``columns/<table>/<column>`` for each column; see `gradviz.record.columns` for the bytes in it. Nothing in a file
is ever run, nothing is written where a file says, and every size is checked before memory is taken.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from gradviz.errors import FileFormatError, FileTooLargeError, FileVersionError
from gradviz.record.atomic import whole_file
from gradviz.record.check import check_trace
from gradviz.record.columns import ENCODINGS, best_encoding, decode, encode
from gradviz.record.events import SCHEMA_VERSION, TABLES
from gradviz.record.jsonable import jsonable
from gradviz.record.trace import Table, Trace

MANIFEST_LIMIT_NBYTES = 64 << 20
MAX_NBYTES = 4 << 30

_MANIFEST = "manifest.json"
_DEFLATE_LEVEL = 6
_DEFLATE_MOST = 1032  # no deflated byte can stand for more: https://zlib.net/zlib_tech.html


def save(
    trace: Trace,
    path: str | os.PathLike[str],
    findings: Iterable[Mapping[str, Any]] = (),
    sources: Mapping[str, str] | None = None,
    view: Mapping[str, Any] | None = None,
) -> None:
    """Write ``trace`` to ``path``; the file appears whole or not at all.

    Parameters
    ----------
    trace : what was recorded
    path : usually ends in ``.gradviz``
    findings : findings as JSON-ready dicts
    sources : file name or cell key -> source text
    view : small things worked out beforehand for the viewer

    Examples
    --------
    >>> save(trace, "run.gradviz")  # doctest: +SKIP
    >>> trace, manifest = load("run.gradviz")  # doctest: +SKIP
    """
    with whole_file(path) as file:
        _write(file, trace, findings, sources or {}, view or {})


def dumps(
    trace: Trace,
    findings: Iterable[Mapping[str, Any]] = (),
    sources: Mapping[str, str] | None = None,
    view: Mapping[str, Any] | None = None,
) -> bytes:
    """The bytes that `save` would write."""
    file = io.BytesIO()
    _write(file, trace, findings, sources or {}, view or {})
    return file.getvalue()


def load(path: str | os.PathLike[str], max_nbytes: int = MAX_NBYTES) -> tuple[Trace, dict[str, Any]]:
    """Read a ``.gradviz`` file.

    Parameters
    ----------
    path : the file
    max_nbytes : the most memory that its tables may take

    Returns
    -------
    trace : the recording
    manifest : the rest: ``findings``, ``sources``, ``view``, ``meta``, ``version``

    Raises
    ------
    FileFormatError
        Not a ``.gradviz`` file, or damaged. Its kinds: `FileVersionError`, from a newer gradviz; `FileTooLargeError`,
        needs more than ``max_nbytes``.
    """
    with Path(path).open("rb") as file:
        return _read(file, os.fspath(path), max_nbytes)


def loads(data: bytes, max_nbytes: int = MAX_NBYTES) -> tuple[Trace, dict[str, Any]]:
    """Read what `dumps` made; as `load`."""
    return _read(io.BytesIO(data), "data", max_nbytes)


def _write(
    file: IO[bytes],
    trace: Trace,
    findings: Iterable[Mapping[str, Any]],
    sources: Mapping[str, str],
    view: Mapping[str, Any],
) -> None:
    manifest: dict[str, Any] = {
        "format": "gradviz",
        "version": SCHEMA_VERSION,
        "meta": jsonable(trace.meta),
        "strings": trace.strings,
        "sources": jsonable(sources),
        "tables": {},
        "findings": jsonable(list(findings)),
        "view": jsonable(view),
    }
    with zipfile.ZipFile(file, "w") as archive:
        for table, columns in TABLES.items():
            described: dict[str, Any] = {}
            for name, dtype in columns.items():
                column = np.asarray(trace.tables[table][name]).astype(dtype, copy=False)
                encoding = best_encoding(column)
                _put(archive, f"columns/{table}/{name}", encode(column, encoding))
                described[name] = {"dtype": dtype, "encoding": encoding}
            rows = len(trace.tables[table][next(iter(columns))])
            manifest["tables"][table] = {"rows": rows, "columns": described}
        text = json.dumps(manifest, allow_nan=False, separators=(",", ":")).encode("ascii")
        if len(text) > MANIFEST_LIMIT_NBYTES:
            raise FileTooLargeError(
                f"names, sources and findings take {len(text)} bytes; a .gradviz file holds at most "
                f"{MANIFEST_LIMIT_NBYTES}. Save without sources, or record a shorter run"
            )
        _put(archive, _MANIFEST, text)


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name)  # fixed date: equal traces make equal files
    member.external_attr = 0o644 << 16
    archive.writestr(member, data, zipfile.ZIP_DEFLATED, _DEFLATE_LEVEL)


def _read(file: IO[bytes], source: str, max_nbytes: int) -> tuple[Trace, dict[str, Any]]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive)
            manifest = _manifest(archive, members)
            tables = _tables(archive, members, manifest, max_nbytes)
        trace = Trace(tables, manifest["strings"], manifest["meta"])
        check_trace(trace)
        _check_findings(manifest["findings"], trace)
    except FileFormatError as error:
        raise type(error)(f"{source}: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise FileFormatError(f"{source}: not a whole .gradviz file ({error}). Save or copy it again") from error
    return trace, manifest


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by name, none of them read yet."""
    expected = {_MANIFEST} | {f"columns/{table}/{name}" for table, columns in TABLES.items() for name in columns}
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename
        if name in members:
            raise FileFormatError(f"member {name[:80]!r} stands in it twice")
        if member.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED) or member.flag_bits & 1:
            raise FileFormatError(f"member {name[:80]!r} is not plainly deflated")
        if member.file_size > _DEFLATE_MOST * member.compress_size + 64:
            raise FileFormatError(f"member {name[:80]!r} claims {member.file_size} bytes, more than it can hold")
        members[name] = member
    if _MANIFEST not in members:
        raise FileFormatError("not a .gradviz file: it has no manifest.json")
    if strange := members.keys() - expected:
        # A newer file may well hold more members: its version number is the better message.
        members = {name: member for name, member in members.items() if name in expected} | {"": members[min(strange)]}
    return members


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, nbytes: int) -> bytes:
    """Exactly ``nbytes`` from a member; never more are inflated."""
    with archive.open(member) as stream:
        data = stream.read(nbytes + 1)
    if len(data) != nbytes:
        raise FileFormatError(f"member {member.filename!r} holds {len(data)} bytes instead of {nbytes}")
    return data


def _manifest(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    member = members[_MANIFEST]
    if member.file_size > MANIFEST_LIMIT_NBYTES:
        raise FileTooLargeError(
            f"its manifest claims {member.file_size} bytes; at most {MANIFEST_LIMIT_NBYTES} are read"
        )
    try:
        manifest = json.loads(_inflate(archive, member, member.file_size), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"its manifest is not JSON ({type(error).__name__}: {str(error)[:80]})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != "gradviz":
        raise FileFormatError("not a .gradviz file: its manifest does not say so")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise FileFormatError(f"its version is {str(version)[:40]!r}, which is none")
    if version > SCHEMA_VERSION:
        raise FileVersionError(
            f"it has format version {version}, this gradviz reads up to {SCHEMA_VERSION}. "
            "Upgrade: pip install -U gradviz"
        )
    if "" in members:
        raise FileFormatError(f"it holds {members[''].filename[:80]!r}, which has no place in a .gradviz file")
    shapes = {"meta": dict, "strings": list, "sources": dict, "tables": dict, "findings": list, "view": dict}
    for key, shape in shapes.items():
        if not isinstance(manifest.get(key), shape):
            raise FileFormatError(f"its manifest has no {key!r} of type {shape.__name__}")
    strings, sources = manifest["strings"], manifest["sources"]
    if not strings or strings[0] != "" or not all(type(text) is str for text in strings):
        raise FileFormatError("its strings must be texts, the first one empty")
    if not all(type(text) is str for text in sources.values()):
        raise FileFormatError("its sources must be texts")
    return manifest


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _tables(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], manifest: dict[str, Any], max_nbytes: int
) -> dict[str, Table]:
    described: dict[str, Any] = manifest["tables"]
    if described.keys() != TABLES.keys():
        raise FileFormatError(f"its tables are {sorted(map(str, described))[:20]} instead of {sorted(TABLES)}")
    rows = {table: _rows(table, described[table]) for table in TABLES}
    total_nbytes = sum(rows[table] * np.dtype(t).itemsize for table in TABLES for t in TABLES[table].values())
    if total_nbytes > max_nbytes:
        raise FileTooLargeError(
            f"its tables need {total_nbytes} bytes, {max_nbytes} are allowed. "
            "If you trust the file, allow more: load(path, max_nbytes=...)"
        )
    return {
        table: {
            name: _column(archive, members, f"{table}/{name}", described[table]["columns"][name], rows[table], dtype)
            for name, dtype in columns.items()
        }
        for table, columns in TABLES.items()
    }


def _rows(table: str, described: Any) -> int:
    if not isinstance(described, dict) or not isinstance(described.get("columns"), dict):
        raise FileFormatError(f"its manifest does not describe table {table!r}")
    if described["columns"].keys() != TABLES[table].keys():
        odd = sorted(map(str, described["columns"].keys() ^ TABLES[table].keys()))
        raise FileFormatError(f"the columns of {table!r} do not fit format version {SCHEMA_VERSION}: {odd[:20]}")
    rows = described.get("rows")
    if type(rows) is not int or not 0 <= rows < 1 << 31:
        raise FileFormatError(f"table {table!r} has an impossible number of rows: {str(rows)[:40]}")
    return rows


def _column(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, described: Any, rows: int, dtype: str
) -> np.ndarray:
    if not isinstance(described, dict) or described.get("dtype") != dtype:
        raise FileFormatError(f"column {name!r} is not described as {dtype}")
    encoding = described.get("encoding")
    if encoding not in ([], ["delta"], ["shuffle"], list(ENCODINGS)) or ("delta" in encoding and "f" in dtype):
        raise FileFormatError(f"column {name!r} has an unknown encoding: {str(encoding)[:80]}")
    member = members.get(f"columns/{name}")
    if member is None:
        raise FileFormatError(f"column {name!r} is missing")
    nbytes = rows * np.dtype(dtype).itemsize
    if member.file_size != nbytes:
        raise FileFormatError(f"column {name!r} holds {member.file_size} bytes; {rows} rows of {dtype} take {nbytes}")
    return decode(_inflate(archive, member, nbytes), np.dtype(dtype), encoding)


def _check_findings(findings: list[Any], trace: Trace) -> None:
    limits = {"events": len(trace), "buffers": len(trace.buffers["nbytes"])}
    for number, finding in enumerate(findings):
        if not isinstance(finding, dict):
            raise FileFormatError(f"finding {number} is not an object")
        for key, limit in limits.items():
            rows = finding.get(key, [])
            if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < limit for row in rows):
                raise FileFormatError(f"finding {number} names {key} that are not in the trace")
