"""Are the compiled paths used where they are, and do they do what the Python beside them does?"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradviz import compiled

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted(ROOT.glob("gradviz/**/*.c"))
NAMES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SOURCES]
USED = {name: compiled.compiled(name) for name in NAMES}
needs_them = pytest.mark.skipif(None in USED.values(), reason="nothing is compiled here")

# What goes through them: each operator, ufunc, walk, row and plan. These run over the compiled paths as they stand in `make test`.
BOTH = [
    "tests/engine", "tests/record", "tests/transforms/test_gradient.py", "tests/stories", "tests/plan/test_compile.py",
    "tests/plan/test_guards.py", "tests/plan/test_plan.py", "tests/plan/kernels/test_calls.py",
]  # fmt: skip


def test_each_stands_beside_the_python_that_says_what_it_does() -> None:
    assert len(SOURCES) >= 3
    for path in SOURCES:
        assert path.with_suffix(".py").is_file()
        assert path.name.replace(".c", ".py") in path.read_text().partition("*/")[0]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.skipif(not compiled.WANTED, reason="Python is asked for")
def test_a_compiler_is_made_use_of() -> None:
    assert None not in USED.values(), "run make again, or python -m hatchling build --target wheel"


@needs_them
def test_the_same_tests_pass_over_python() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not alone", *BOTH]
    environment = {**os.environ, "GRADVIZ_COMPILED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@needs_them
def test_a_stale_one_is_not_used(tmp_path: Path) -> None:
    module = importlib.import_module("gradviz.record._short")
    binary = shutil.copy(str(module.__file__), tmp_path)
    source = tmp_path / "short.c"
    assert not compiled.stale(Path(binary), "short")
    source.write_text("")
    os.utime(source, (2e9, 2e9))
    assert compiled.stale(Path(binary), "short")


@needs_them
@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_errors(name: str) -> None:
    module = USED[name]
    for function in (getattr(module, found) for found in dir(module) if not found.startswith("__")):
        with pytest.raises(TypeError):
            function()


@needs_them
def test_rows_that_are_laid_out_otherwise_are_refused() -> None:
    from gradviz.record import short
    from gradviz.record.reference import Ref
    from gradviz.record.scribe import Scribe

    with pytest.raises(ValueError, match=r"not those of rows\.py"):
        short.core.know(Ref, Scribe, *["iq"] * 4)
