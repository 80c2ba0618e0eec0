"""Does every part of a release carry the same version?"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

from gradviz.version import __version__

ROOT = Path(__file__).resolve().parent.parent


def test_package_and_front_end_agree() -> None:
    front_end = json.loads((ROOT / "labextension/package.json").read_text())
    assert version("gradviz") == front_end["version"] == __version__
