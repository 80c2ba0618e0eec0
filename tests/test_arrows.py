"""Do imports inside gradviz point down, and does every file have a name that says what it is about?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A file may import from its own part and from the parts before it. Above the public names (__init__) stand the
# programs of the demo, written as a user would, and the command line that runs them.
PARTS = (
    "version", "errors", "words", "compiled", "devices", "record", "engine", "rules", "transforms", "numpy", "scipy", "optim", "plan",
    "solvers", "graph", "findings", "report", "notebook", "__init__", "demo", "cli", "__main__",
)  # fmt: skip

# These read recordings, which may come from another machine: they know nothing of how one is made.
ONLY = {
    "graph": {"version", "errors", "words", "record", "graph"},
    "findings": {"version", "errors", "words", "record", "graph", "findings"},
}

# The same within `gradviz.plan`; on top of all stand its own files, `compile` first.
PLAN_PARTS = ("kernels", "cuda", "program", "capture", "disk", "reroll", "simplify", "fuse", "run", "device")

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core"}

FILES = sorted((ROOT / "gradviz").rglob("*.py"))


def part_of(module: str) -> str:
    """The part of the house a dotted module stands in: ``gradviz.record.events`` stands in ``record``."""
    names = module.split(".")
    return names[1] if len(names) > 1 else "__init__"


def module_of(path: Path) -> str:
    names = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and dotted name of every import from gradviz, wherever in the file it stands."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module="gradviz", names=names):
                found = [f"gradviz.{alias.name}" if alias.name in PARTS else "gradviz" for alias in names]
            case ast.ImportFrom(module=module, level=0):
                found = [module or ""]
            case ast.ImportFrom():
                found = ["gradviz"]  # a relative import: forbidden by ruff, upward here
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(to)), *_]):
                found = [to] if name in {"import_module", "__import__"} else []
            case _:
                found = []
        yield from ((node.lineno, name) for name in found if name.split(".")[0] == "gradviz")


def upward(module: str, source: str) -> list[str]:
    """The imports of one file that its part may not make, each as a sentence."""
    part = part_of(module)
    allowed = ONLY.get(part, set(PARTS[: PARTS.index(part) + 1]))
    return [
        f"line {line} imports {name}, but {part} may import only from {', '.join(p for p in PARTS if p in allowed)}"
        for line, name in imported(source)
        if part_of(name) not in allowed
    ]


def test_there_are_files_to_read() -> None:
    assert len(FILES) > 5


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_down(path: Path) -> None:
    assert part_of(module_of(path)) in PARTS, "a new part of the house: give it its place in PARTS"
    assert not upward(module_of(path), path.read_text())


@pytest.mark.parametrize("part", PLAN_PARTS)
def test_imports_inside_plans_point_down(part: str) -> None:
    above = PLAN_PARTS[PLAN_PARTS.index(part) + 1 :]
    for path in (ROOT / "gradviz" / "plan" / part).glob("*.py"):
        for line, name in imported(path.read_text()):
            assert not name.startswith(tuple(f"gradviz.plan.{other}" for other in above)), (
                f"{path.name}, line {line}: {name}"
            )
    assert {path.name for path in (ROOT / "gradviz" / "plan").iterdir() if path.is_dir()} - {"__pycache__"} == set(
        PLAN_PARTS
    )


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gradviz.record.trace", "from gradviz.engine.tape import Tape"),
        ("gradviz.record.trace", "def f():\n    import gradviz.engine"),
        ("gradviz.record.trace", "from gradviz import engine"),
        ("gradviz.notebook.magic", "from gradviz import grad"),
        ("gradviz.notebook.magic", "import gradviz as gv"),
        ("gradviz.notebook.magic", "from importlib import import_module\nimport_module('gradviz')"),
        ("gradviz", "from gradviz.cli import main"),
        ("gradviz.rules.linalg", "from . import products"),
        ("gradviz.graph.memory", "from gradviz.engine import tape"),
        ("gradviz.findings.syncs", "from gradviz.devices import protocol"),
        ("gradviz.errors", "if TYPE_CHECKING:\n    from gradviz.record.trace import Trace"),
    ],
)
def test_an_upward_import_is_seen(module: str, source: str) -> None:
    assert len(upward(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "gradviz.record.trace",
            "import numpy as np\nfrom gradviz.record.events import TABLES\nfrom gradviz import errors",
        ),
        ("gradviz.findings.syncs", "from gradviz.graph import lines"),
        ("gradviz", "from gradviz.notebook import widget\nimport gradviz.engine.tape"),
        ("gradviz.cli", "import gradviz as gv\nfrom gradviz.demo import ising"),
        ("gradviz.numpy", "import numpy"),
    ],
)
def test_a_downward_import_is_let_through(module: str, source: str) -> None:
    assert not upward(module, source)


def test_no_file_is_a_drawer_for_everything() -> None:
    folders = [ROOT / name for name in ("gradviz", "tests", "benchmarks", "labextension/src", "notebooks")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".ts")]
    ours = [path for path in files if "shim" not in path.parts]  # a shim has the names of the library it stands for
    vague = [path for path in ours if {path.stem.lower(), path.parent.name.lower()} & VAGUE_NAMES]
    assert not vague, "a helper lives with its only caller; with two, it moves down and gets a name of its own"
