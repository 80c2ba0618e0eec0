"""What ``gradviz demo`` shows: each program as people wrote it, and as gradviz does it, with reports of both."""

from __future__ import annotations

import importlib.util
import inspect
import textwrap
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from gradviz.cli.progress import Progress
from gradviz.demo import PROGRAMS
from gradviz.errors import MissingPackageError
from gradviz.report.profile import Profile, compare
from gradviz.report.recording import profile
from gradviz.report.terminal import Paper
from gradviz.words import count_text, duration_text

VERSIONS = ("as_written", "by_gradviz")


def demo(options: Any) -> int:
    """Run all programs, print what was found, and write a report and a ``.gradviz`` file of each run."""
    with one_blas_thread():
        return _demo(Path(options.out), options.quick)


def _demo(folder: Path, quick: bool) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    progress, paper = Progress(len(VERSIONS) * len(PROGRAMS)), Paper.like_stdout()
    start = time.monotonic()
    written: list[Path] = []
    for name in PROGRAMS:
        program = load_program(name)
        try:
            inputs = program.prepare(quick)
        except MissingPackageError as error:
            progress.clear()
            print(f"\n{name} is left out: {error}")
            continue
        taken = {}
        for version in VERSIONS:
            progress.step(f"{name}, {_words(version)}")
            taken[version] = record(getattr(program, version), inputs, f"{name}, {_words(version)}")
            written += _write(taken[version], folder / f"{name}-{version}")
        progress.clear()
        print(_shown(paper, program, *taken.values()), flush=True)
    print(paper.heading("Reports", f"{len(written)} files in {duration_text((time.monotonic() - start) * 1e9)}"))
    print("\n".join(str(path) for path in written if path.suffix == ".html"))
    print(f"The .gradviz files beside them open in JupyterLab, and with: gradviz report {folder}/<name>.gradviz")
    return 0


def one_blas_thread() -> AbstractContextManager[Any]:
    """Matrices this small make threads wait for each other: 16 s against 0.4 s for the digits, on two busy cores."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with scikit-learn
        return nullcontext()
    return threadpool_limits(1, "blas")


def load_program(name: str) -> ModuleType:
    """A program of `gradviz.demo`, read as a script of the user's, so that its rules and lines count as the user's."""
    path = Path(__file__).parent.parent / "demo" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def record(run: Callable[..., Any], inputs: tuple[Any, ...], label: str = "") -> Profile:
    """The profile of one run."""
    with profile(label=label) as taken:
        run(*inputs)
    return taken


def _words(version: str) -> str:
    return {"as_written": "as people wrote it", "by_gradviz": "as gradviz does it"}[version]


def _write(taken: Profile, base: Path) -> list[Path]:
    return [taken.to_html(base.with_suffix(".html")), taken.save(base.with_suffix(".gradviz"))]  # type: ignore[list-item]


def _shown(paper: Paper, program: ModuleType, before: Profile, after: Profile) -> str:
    title, _, story = inspect.cleandoc(program.__doc__ or "").partition("\n\n")
    found = [finding for finding in after.findings if not finding.harmless]
    parts = [
        "\n" + paper.styled(title, "bold"),
        "\n\n".join(textwrap.fill(paragraph, paper.width) for paragraph in story.split("\n\n")),
        str(before.summary(top=3)),
        "\n".join([paper.heading("As gradviz does it", count_text(len(found), "finding")), *map(str, found)]),
        str(compare(before, after).summary(top=3)),
    ]
    return "\n\n".join(parts) + "\n"
