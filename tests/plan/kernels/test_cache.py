"""Compiled kernels on disk: found again, never trusted when damaged, shared by processes, bounded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gradviz.plan.kernels import cache, run_llvm
from gradviz.plan.kernels.kernel import Compute, Kernel, Load, Parameter, Store

DOUBLE = Kernel(
    (10,),
    (Parameter("f8", (8,)), Parameter("f8", (8,))),
    (),
    (Load(0, 0), Compute(1, "add", (0, 0), "f8"), Store(1, 1)),
)
PROGRAM = """
import numpy as np
from gradviz.plan.kernels.kernel import Compute, Kernel, Load, Parameter, Store
from gradviz.plan.kernels.run_llvm import compile_kernel
x, y = np.arange(50.0), np.empty(50)
for k in range(1, 21):
    steps = tuple(Compute(i + 1, "add", (i, 0), "f8") for i in range(k))
    kernel = Kernel((10,), (Parameter("f8", (8,)), Parameter("f8", (8,))), (), (Load(0, 0), *steps, Store(1, k)))
    compile_kernel(kernel).run([x.ctypes.data, y.ctypes.data], 50)
    assert np.array_equal(y, x * (k + 1))
print("right")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GRADVIZ_CACHE_DIR", str(tmp_path))
    forget()
    yield tmp_path / "kernels"
    forget()


def forget() -> None:
    """Compiled kernels that are still in memory are found before the disk is asked."""
    run_llvm._machine().compiled.clear()


def compiled() -> run_llvm.Compiled:
    forget()
    found = run_llvm.compile_kernel(DOUBLE)
    x, y = np.arange(50.0), np.empty(50)
    found.run([x.ctypes.data, y.ctypes.data], 50)
    np.testing.assert_array_equal(y, 2 * x)
    return found


def test_the_second_time_it_is_on_disk(folder: Path) -> None:
    first = compiled()
    assert not first.from_cache
    assert len(list(folder.iterdir())) == 1
    second = compiled()
    assert second.from_cache


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_a_damaged_file_is_made_again(folder: Path, damage: str) -> None:
    compiled()
    (path,) = folder.iterdir()
    data = path.read_bytes()
    changed = {
        "cut": data[:-9],
        "flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        "empty": b"",
        "other": b"hello",
    }[damage]
    path.write_bytes(changed)
    assert not compiled().from_cache
    assert path.read_bytes() == data
    assert compiled().from_cache


def test_another_version_is_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr(run_llvm, "EMITTER", "another")
    assert not compiled().from_cache
    assert len(list(folder.iterdir())) == 2


def test_an_empty_folder_name_turns_it_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADVIZ_CACHE_DIR", "")
    assert cache.folder() is None
    compiled()
    assert not compiled().from_cache
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("GRADVIZ_CACHE_DIR", str(tmp_path / "file"))
    assert not compiled().from_cache


def test_what_was_not_used_for_longest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 1000)
    for i in range(3):
        cache.store(f"k{i}", bytes(250))
        os.utime(folder / f"k{i}", ns=(i, i))
    assert cache.load("k0") == bytes(250)  # used now: the youngest
    cache.store("k3", bytes(250))
    assert sorted(p.name for p in folder.iterdir()) == ["k0", "k3"]


def test_processes_share_it(folder: Path) -> None:
    """Two at once write the same files; a third reads them."""
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=120)[0].strip() for p in running] == ["right", "right"]
    names = sorted(p.name for p in folder.iterdir())
    assert len(names) == 20
    assert not any(n.startswith(".") for n in names)
    again = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    assert again.stdout.strip() == "right"
