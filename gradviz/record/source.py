"""Which line of the user's program a call came from.

While recording, a line is the pair (code object, instruction): finding it means stepping out of NumPy's and our own frames, 60 ns
each. File names, line numbers, notebook cells and source text are looked up once, at the end.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

OURS, NUMPY = (str(Path(path).parent) + "/" for path in (Path(__file__).parent, np.__file__))
LIBRARIES = (OURS, NUMPY, "<string>", "<frozen", "<__array_function__")
DEMO = str(Path(__file__).parent.parent / "demo") + "/"  # programs as a user writes them, though they come with us
SHELLS = ("/IPython/", "/ipykernel/")  # they lie between a magic and the cell; the user's line is never in them
MAX_SOURCE_NBYTES = 1 << 20


class Lines:
    """The distinct lines met in one recording."""

    def __init__(self) -> None:
        self.codes: dict[
            int, dict[int, int] | None
        ] = {}  # id of a code object -> instruction -> site; None for library code
        self.found: list[tuple[CodeType, int]] = []

    def site(self, frame: FrameType | None) -> int:
        """The site of the innermost frame that is the user's, -1 if there is none."""
        codes = self.codes
        while frame is not None:
            code = frame.f_code
            try:
                sites = codes[id(code)]
            except KeyError:
                sites = self._meet(code)
            if sites is not None:
                at = frame.f_lasti
                site = sites.get(at)
                if site is None:
                    site = sites[at] = len(self.found)
                    self.found.append((code, at))
                return site
            frame = frame.f_back
        return -1

    def known(self, code: CodeType, at: int) -> int:
        """The site of an instruction that was met elsewhere; -1 if it is not the user's."""
        sites = self.codes[id(code)] if id(code) in self.codes else self._meet(code)
        if sites is None:
            return -1
        if at not in sites:
            sites[at] = len(self.found)
            self.found.append((code, at))
        return sites[at]

    def _meet(self, code: CodeType) -> dict[int, int] | None:
        name = code.co_filename
        library = (name.startswith(LIBRARIES) and not name.startswith(DEMO)) or any(shell in name for shell in SHELLS)
        sites: dict[int, int] | None = None if library else {}
        self.codes[id(code)] = sites
        self.found_codes = (*getattr(self, "found_codes", ()), code)  # an id stays taken while its object lives
        return sites

    def table(self, text: Any) -> tuple[dict[str, list[int]], dict[int, int], dict[str, str]]:
        """Rows of the ``sites`` table, one per source line; which row each recorded site became; the sources by file."""
        rows: dict[str, list[int]] = {
            name: [] for name in ("file_str", "line", "function_str", "cell", "cell_hash_str", "text_str")
        }
        merged: dict[tuple[str, int, str], int] = {}
        became: dict[int, int] = {}
        sources: dict[str, str] = {}
        cells = notebook_cells()
        for site, (code, at) in enumerate(self.found):
            line, name = line_of(code, at), code.co_filename
            key = (name, line, code.co_qualname)
            if key not in merged:
                merged[key] = len(merged)
                cell = cells.get(name, -1)
                shown = f"Cell In[{cell}]" if cell >= 0 else short(name)
                source = "".join(linecache.getlines(name))
                sources[shown] = source if len(source) <= MAX_SOURCE_NBYTES else ""
                rows["file_str"].append(text(shown))
                rows["line"].append(line)
                rows["function_str"].append(text(code.co_qualname))
                rows["cell"].append(cell)
                rows["cell_hash_str"].append(text(digest(source) if cell >= 0 else ""))
                rows["text_str"].append(text(linecache.getline(name, line).strip()))
            became[site] = merged[key]
        return rows, became, sources


def line_of(code: CodeType, at: int) -> int:
    """The line of one instruction."""
    for start, end, line in code.co_lines():
        if start <= at < end and line is not None:
            return line
    return code.co_firstlineno


def short(name: str) -> str:
    """A file name relative to where the program runs, if it lies below; one of the demo's, to where gradviz is installed."""
    try:
        return str(Path(name).relative_to(Path(DEMO).parents[1] if name.startswith(DEMO) else Path.cwd()))
    except ValueError:
        return name


def digest(source: str) -> str:
    """What tells whether a cell is still the one that was profiled."""
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


def notebook_cells() -> dict[str, int]:
    """File names that IPython gave to cells, with the cells' execution counts."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if running is None:
        return {}
    known = getattr(running.compile, "_filename_map", {})
    return {name: int(count) for name, count in known.items() if count is not None}


def user_line() -> str:
    """``file:line`` of the user's frame that is running now, for messages."""
    lines = Lines()
    site = lines.site(sys._getframe(1))
    return "" if site < 0 else place_of(*lines.found[site])


def place_of(code: CodeType, at: int) -> str:
    """``file:line`` of one instruction, or ``Cell In[3], line 2``."""
    cell = notebook_cells().get(code.co_filename, -1)
    line = line_of(code, at)
    return f"Cell In[{cell}], line {line}" if cell >= 0 else f"{short(code.co_filename)}:{line}"
