"""Another project's tests in a process of their own, and the outcome of each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]


def outcomes(
    folder: Path, arguments: Sequence[str], *, before: Sequence[Path] = (), env: dict[str, str] | None = None
) -> dict[str, tuple[str, str]]:
    """``{"test_linalg::test_inv[3]": ("passed", "")}``; else ``failed`` or ``skipped``, and the first line of why.

    Parameters
    ----------
    before : folders that go to the front of the path, so that what is imported is found there
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        path = os.pathsep.join(map(str, [*before, ROOT]))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
        ran = subprocess.run(
            command,
            check=False,  # failed tests are a result
            cwd=folder,
            env={**os.environ, **(env or {}), "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        if not report.exists():
            raise RuntimeError(f"no tests were run in {folder}:\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}")
        cases = ET.parse(report).getroot().iter("testcase")
        return {f"{_module(case)}::{case.get('name')}": _outcome(case) for case in cases}


def _module(case: ET.Element) -> str:
    return (case.get("classname") or "").rpartition(".")[2]


def _outcome(case: ET.Element) -> tuple[str, str]:
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            message = (found.get("message") or "").split("\n", 1)[0]
            return ("skipped" if kind == "skipped" else "failed"), message[:300]
    return "passed", ""
