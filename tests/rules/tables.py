"""All entries of all tables."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.rules.check import Entry

TABLES = sorted(path.stem for path in Path(__file__).parent.glob("table_*.py"))
ENTRIES: list[Entry] = [entry for name in TABLES for entry in importlib.import_module(f"tests.rules.{name}").ENTRIES]
