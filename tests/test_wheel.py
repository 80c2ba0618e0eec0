"""Does the wheel carry the front end and the compiled paths, once, and no more than it should?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import gradviz as gv

ROOT = Path(__file__).resolve().parent.parent
DIST_INFO = f"gradviz-{gv.__version__}.dist-info"
LAB = "share/jupyter/labextensions/gradviz/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def sizes(wheel: zipfile.ZipFile) -> dict[str, int]:
    """File name, without the folder of shared data, and size."""
    return {info.filename.split(".data/data/")[-1]: info.file_size for info in wheel.infolist()}


def test_the_viewer_is_there_and_small(wheel: zipfile.ZipFile) -> None:
    for bundle in ("report.js", "widget.js"):
        assert 50_000 < sizes(wheel)[f"gradviz/static/{bundle}"] <= 150_000


def test_the_lab_extension_is_there_once(wheel: zipfile.ZipFile) -> None:
    names = sizes(wheel)
    assert {LAB + "package.json", LAB + "install.json"} <= names.keys()
    assert any(name.startswith(LAB + "static/remoteEntry") for name in names)
    assert not any(name.startswith("gradviz/labextension") for name in names)
    (package,) = (info for info in wheel.infolist() if info.filename.endswith(LAB + "package.json"))
    entry = json.loads(wheel.read(package))["jupyterlab"]["_build"]["load"]
    assert LAB + entry in names


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_compiled_paths_are_there(wheel: zipfile.ZipFile) -> None:
    sources = {path.relative_to(ROOT) for path in ROOT.glob("gradviz/*/*.c")}
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert len(sources) >= 3
    assert {str(path.with_name(f"_{path.stem}{suffix}")) for path in sources} <= sizes(wheel).keys()
    assert "Root-Is-Purelib: false" in wheel.read(f"{DIST_INFO}/WHEEL").decode()


def test_nothing_else_travels(wheel: zipfile.ZipFile) -> None:
    names = sizes(wheel)
    assert not [name for name in names if "node_modules" in name or name.endswith((".ts", ".map", ".pyc", ".c", ".h"))]
    assert "gradviz/py.typed" in names
    assert sum(names.values()) < 4_000_000
