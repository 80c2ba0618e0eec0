"""A trace as plain tables: words instead of numbers, one CSV file each."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from gradviz.record.check import WORDS
from gradviz.record.events import TABLES
from gradviz.record.trace import Trace
from gradviz.report.plain import plain


def readable(trace: Trace, table: str) -> dict[str, list[Any]]:
    """One table with texts for ``*_str`` columns, words for enumerations, and a ``where`` beside each ``site``.

    Examples
    --------
    >>> readable(trace, "copies")["reason"]  # doctest: +SKIP
    ['contiguous', 'dtype']
    """
    columns: dict[str, list[Any]] = {}
    for name, values in trace.tables[table].items():
        if name.endswith("_str"):
            columns[name.removesuffix("_str")] = [plain(trace.text(index), 10_000) for index in values.tolist()]
        elif words := WORDS.get((table, name)):
            columns[name] = [words(value).name.lower() for value in values.tolist()]
        else:
            columns[name] = values.tolist()
        if name == "site":
            columns["where"] = [plain(trace.place(site)) for site in values.tolist()]
    return columns


def save_tables(trace: Trace, folder: str | os.PathLike[str]) -> None:
    """Write each table to ``folder/<table>.csv``, with the row number first; the folder is made if need be."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        columns = readable(trace, table)
        with (Path(folder) / f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["row", *columns])
            writer.writerows([row, *values] for row, values in enumerate(zip(*columns.values(), strict=True)))
