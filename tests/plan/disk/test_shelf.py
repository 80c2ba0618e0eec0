"""Does another process get the program that was captured, and never one of another function?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from tests.plan.disk.module import HELPER, MODEL, Module

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    (tmp_path / "code").mkdir()
    monkeypatch.setenv("GRADVIZ_CACHE_DIR", str(tmp_path / "cache"))
    return Module(tmp_path / "code", monkeypatch)


def origin(f: Any, *args: Any) -> str:
    """Call a function that is compiled anew, hold the result against the function, and say where the plan came from."""
    compiled = gv.compile(f)
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-12)
    found = str(compiled.explain(*args).origin)
    assert str(compiled.explain(*args)).endswith(f"program: {found}")
    return found


def kept(found: str) -> bool:
    return found.startswith("captured") and found.endswith(", kept on disk")


def test_the_same_function_is_read_from_disk(module: Module) -> None:
    assert kept(origin(module.load().f, 0.5))
    assert origin(module.load().f, 0.7).startswith("read from disk")
    assert kept(origin(gv.grad(module.load().f), 0.7))
    assert origin(gv.grad(module.load().f), 0.7).startswith("read from disk")


CHANGES = {
    "the body of a function in another module": ("return x * 0.5", "return x * 0.625"),
    "a constant in it": ("x * 0.01", "x * 0.02"),
    "a function it calls": ("np.sin(x", "np.cos(x"),
    "a global": ("RATE = 2.0", "RATE = 2.5"),
    "a global of another type": ("RATE = 2.0", "RATE = np.float32(2.0)"),
    "a default": ("by=3.0, *", "by=3.5, *"),
    "a default of a keyword": ("offset=0.25", "offset=0.5"),
    "a closure cell": ("timed = multiplied(1.25)", "timed = multiplied(1.5)"),
    "an argument of a partial": ("by=1.75", "by=1.875"),
    "a class attribute": ("power = 2.0", "power = 3.0"),
    "a class attribute of a base": ("bias = 0.75", "bias = 0.5"),
    "a method of a base": ("return x + self.bias", "return x - self.bias"),
    "a property": ("return 2.0 * self.slope", "return 3.0 * self.slope"),
    "a static method": ("return 0.5 * x", "return 0.25 * x"),
    "an attribute of an object": ("Law(0.3)", "Law(0.4)"),
    "a default of a dataclass": ("level: float = 0.375", "level: float = 0.5"),
    "a method of a dataclass": ("return x * self.level", "return x / self.level"),
    "a member of an enum": ("SOFT = 1.5", "SOFT = 1.75"),
    "a cached function": ("n * 0.0625", "n * 0.125"),
    "an item of a dict": ('"gain": 0.25', '"gain": 0.5'),
    "an item deep inside": ('"x": 0.125', '"x": 0.25'),
    "an entry of an array": ("[1.0, 2.0, 3.0]", "[1.0, 2.0, 4.0]"),
    "a dtype": ("KIND = np.dtype('f8')", "KIND = np.dtype('f4')"),
    "the length of an array": ("[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0, 4.0]"),
    "the dtype of an array": ("[1.0, 2.0, 3.0]", "[1, 2, 3]"),
    "how often a loop runs": ("range(100)", "range(101)"),
    "a decorator": ("def f(x)", "@helper.multiplied(1.0).__class__.__call__ if False else (lambda f: lambda x: 2.0 * f(x))\ndef f(x)"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_anything_is_seen(module: Module, what: str) -> None:
    assert kept(origin(module.load().f, 0.5))
    module.change(*CHANGES[what])
    assert kept(origin(module.load().f, 0.5))
    assert origin(module.load().f, 0.5).startswith("read from disk")


def test_lines_that_moved_are_no_change(module: Module) -> None:
    origin(module.load().f, 0.5)
    module.change("def f(x):", "\n\n# a remark\ndef f(x):")
    f = module.load().f
    assert origin(f, 0.5).startswith("read from disk")
    compiled = gv.compile(f)
    compiled(0.5)
    lines = [int(line.site.rpartition(":")[2]) for line in compiled.explain(0.5).lines if "model.py" in line.site]
    first = MODEL.splitlines().index("def f(x):") + 4
    assert lines
    assert min(lines) > first
    assert max(lines) <= len(MODEL.splitlines()) + 3


def test_other_arguments_are_another_program(module: Module) -> None:
    f = module.load().f
    assert kept(origin(f, 0.5))
    assert kept(origin(f, np.ones(3)))
    assert kept(origin(f, np.ones(3, np.float32)))
    assert kept(origin(f, np.ones((2, 3))))
    assert kept(origin(f, np.asfortranarray(np.ones((2, 3)))))
    assert origin(f, np.zeros(3)).startswith("read from disk")


UNTOLD = {
    "a file": ('x = np.sin(x * 0.01)', 'x = np.sin(x * 0.01); open(__file__).close()', "open()"),
    "time": ("return innermost(x)", "import time; time.monotonic(); return innermost(x)", "imports 'time'"),
    "the environment": ("return innermost(x)", "from os import environ; return innermost(x)", "imports 'os'"),
    "getattr": ("return innermost(x)", "getattr(np, 'pi'); return innermost(x)", "getattr()"),
    "a module in a variable": ("total = 0.0", "total = 0.0; m = helper; m.scale(x)", "module helper as a whole"),
    "a global that is set": ("total = 0.0", "global seen; seen = 1; total = 0.0", "sets the global"),
    "a global that changes": ("total = 0.0", "total = 0.0; CONFIG['n'] = CONFIG.get('n', 0) + 1", "was changed while it ran"),
    "another package": ("law, setting", "import pytest\nraises = pytest.raises\nlaw, setting", None),
    "a function of another package": ("total = 0.0", "import pytest; total = 0.0", "imports 'pytest'"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNTOLD)
def test_what_cannot_be_told_is_not_kept_and_said(module: Module, what: str) -> None:
    old, new, reason = UNTOLD[what]
    module.change(old, new)
    found = origin(module.load().f, 0.5)
    assert kept(found) if reason is None else ("not kept on disk: " in found and reason in found), found


def test_a_value_that_python_reads_chooses_among_the_programs_on_disk(module: Module) -> None:
    module.sources["model"] = """
import numpy as np
def f(x):
    for k in range(150):
        x = np.sin(x) * 1.01
    y = x * 2.0 if x > 0 else x * 3.0
    for k in range(150):
        y = np.cos(y) * 0.99
    return y
"""
    assert kept(origin(module.load().f, 0.5))
    assert kept(origin(module.load().f, -0.5))
    compiled = gv.compile(module.load().f)
    for x in (-0.25, 0.25, -0.75, 0.75):
        np.testing.assert_allclose(compiled(x), compiled.__wrapped__(x), rtol=1e-12)
        assert compiled.explain(x).origin.startswith("read from disk")
    assert repr(compiled) == "<compiled f, 2 plans>"


def test_what_it_refers_to_is_checked_for_a_loaded_plan_too(module: Module) -> None:
    origin(module.load().f, 0.5)
    loaded = module.load()
    compiled = gv.compile(loaded.f)
    compiled(0.5)
    assert compiled.explain(0.5).origin.startswith("read from disk")
    loaded.helper.TABLE[1] = 7.0  # read anew
    np.testing.assert_allclose(compiled(0.5), loaded.f(0.5), rtol=1e-12)
    loaded.helper.RATE = 5.0  # another plan
    np.testing.assert_allclose(compiled(0.5), loaded.f(0.5), rtol=1e-12)
    loaded.law.slope = 0.9
    np.testing.assert_allclose(compiled(0.5), loaded.f(0.5), rtol=1e-12)


def test_results_in_classes_of_the_users(module: Module) -> None:
    module.sources["model"] = """
import dataclasses
from typing import NamedTuple
import numpy as np
class Pair(NamedTuple):
    b: float
    a: float
@dataclasses.dataclass
class Both:
    pair: Pair
    rest: dict
def f(pair):
    x = pair.a
    for k in range(150):
        x = np.sin(x) + pair.b
    return Both(Pair(x, x * 2), {"z": [x, None], "a": (x,)})
"""
    for turn in range(2):
        loaded = module.load()
        compiled = gv.compile(loaded.f)
        got, want = compiled(loaded.Pair(0.5, 0.25)), loaded.f(loaded.Pair(0.5, 0.25))
        assert compiled.explain(loaded.Pair(0.5, 0.25)).origin.startswith("captured" if turn == 0 else "read from disk")
        assert type(got) is loaded.Both
        assert type(got.pair) is loaded.Pair
        assert list(got.rest) == ["z", "a"]
        assert got.rest["z"][1] is None
        assert type(got.rest["a"]) is tuple
        np.testing.assert_allclose(got.pair, want.pair, rtol=1e-12)


def test_donated_arrays_and_those_that_are_written_into(module: Module) -> None:
    adam = gv.optim.adam(0.1)
    params = {f"w{k}": np.ones(3) for k in range(40)}
    for turn in range(2):
        mine, grads = {k: v.copy() for k, v in params.items()}, {k: v * 0.5 for k, v in params.items()}
        step = gv.compile(adam.step, donate=("params", "state"))
        state = adam.init(mine)
        made, state = step(mine, grads, state)
        assert step.explain(mine, grads, state).origin.startswith("captured" if turn == 0 else "read from disk")
        assert all(made[k] is mine[k] for k in mine)
        want, _ = adam.step({k: v.copy() for k, v in params.items()}, grads, adam.init(params))
        np.testing.assert_allclose(made["w7"], want["w7"], rtol=1e-12)


def test_other_processes_find_it(module: Module, tmp_path: Path) -> None:
    module.load()
    script = (
        "import gradviz as gv, numpy as np, model\n"
        "c = gv.compile(gv.value_and_grad(model.f))\n"
        "print(repr(c(0.5))); print(c.explain(0.5).origin)"
    )
    said = []
    for seed in ("1", "2"):
        environment = {
            **os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}{os.pathsep}{module.folder}", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        said.append(ran.stdout.splitlines())
    assert kept(said[0][1])
    assert said[1][1].startswith("read from disk")
    assert said[0][0] == said[1][0]


def test_a_damaged_file_is_made_again(module: Module, tmp_path: Path) -> None:
    f = module.load().f
    assert kept(origin(f, 0.5))
    (path,) = (tmp_path / "cache" / "plans").iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], whole[:-1] + b"x", os.urandom(1000)):
        path.write_bytes(damaged)
        assert kept(origin(f, 0.5))
        assert origin(f, 0.5).startswith("read from disk")


def test_the_folder_is_turned_off(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADVIZ_CACHE_DIR", "")
    assert "GRADVIZ_CACHE_DIR is empty" in origin(module.load().f, 0.5)


def test_sources_are_whole() -> None:
    for old, *_ in CHANGES.values():
        assert (HELPER + MODEL).count(old) == 1, old
