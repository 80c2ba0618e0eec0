"""Which of our hot paths run compiled.

A few modules stand here twice: ``engine/straight.py`` says what its paths do, and ``engine/straight.c`` beside it does the same in
C. Where the build finds a C compiler it makes ``engine/_straight`` of it (hatch_build.py); elsewhere Python does the work, and small
calls take half again as long, recorded ones twice as long. Both give the same gradients and the same traces: the tests of the
engine and of the recorder run over both. Set ``GRADVIZ_COMPILED=0`` to use Python where the other is there.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
WANTED = os.environ.get("GRADVIZ_COMPILED", "1") != "0"


def compiled(name: str) -> ModuleType | None:
    """The compiled module beside one of ours (``gradviz.engine._straight`` beside ``gradviz.engine.straight``), if there is one to use."""
    package, _, short = name.rpartition(".")
    if not WANTED:
        return None
    try:
        found = importlib.import_module(f"{package}._{short}")
    except ImportError:
        return None
    return None if stale(Path(str(found.__file__)), short) else found


def stale(binary: Path, short: str) -> bool:
    """Whether the source has changed since; only a checkout has the source."""
    sources = (binary.with_name(f"{short}.c"), *HERE.rglob("*.h"))
    return any(source.is_file() and source.stat().st_mtime > binary.stat().st_mtime for source in sources)
