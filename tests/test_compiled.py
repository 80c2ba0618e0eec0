"""Are the compiled paths used where they are, and do they do what the Python beside them does?"""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz import compiled
from gradviz.engine import backward, watched
from gradviz.record import short

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
    from gradviz.record.reference import Ref
    from gradviz.record.scribe import Scribe

    with pytest.raises(ValueError, match=r"not those of rows\.py"):
        short.core.know(Ref, Scribe, *["iq"] * 4)


def many_kinds_of_call(x: Any, w: Any) -> Any:
    """Views, products, numbers, lists, options, operands without a gradient, and sums of several cotangents."""
    y = x.reshape(2, -1).T @ w + np.transpose(x, (1, 0))[:2, :3].sum()
    parts = np.split(np.tanh(y), [1], axis=0)
    z = np.concatenate([parts[0], np.where(y > 0, y, 0.1 * y), np.ones((1, 3))])
    n = np.linalg.norm(z, axis=1) * np.vdot(w, w) + np.einsum("ij,kj->i", z, w)
    with np.errstate(all="ignore"):
        return (
            np.mean(n)
            + np.max(z)
            + np.fft.fft(n).real.sum()
            + x[0, 0] * x[0, 0]
            + np.broadcast_to(n, (3, len(n))).sum()
        )


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@needs_them
@pytest.mark.usefixtures("without_collections")
def test_the_same_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.linspace(-1, 1, 12).reshape(4, 3), np.linspace(0.1, 2, 6).reshape(2, 3)[:, :3]

    def recorded() -> gv.Profile:
        with gv.profile() as profile:
            gv.grad(many_kinds_of_call, argnums=(0, 1))(x, w)
            gv.grad(lambda x: many_kinds_of_call(x, w))(x)
            with pytest.raises(ValueError, match="matmul"):
                gv.grad(lambda x: np.sum(x @ x))(x)
        return profile

    recorded()
    compiled_ = recorded()
    monkeypatch.setattr(short, "any_writer", lambda scribe: scribe.run)
    monkeypatch.setattr(short, "pull_writer", short.short_pull)
    monkeypatch.setattr(backward, "WATCHED_WALK", watched.watched_walk)
    python = recorded()
    assert compiled_.trace.strings == python.trace.strings
    assert len(python.trace) > 100
    for table, columns in python.trace.tables.items():
        for name, column in columns.items():
            if not name.endswith("_ns"):
                np.testing.assert_array_equal(compiled_.trace.tables[table][name], column, f"{table}.{name}")
