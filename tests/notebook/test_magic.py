"""Do the magics record, show, write, compare, and leave errors as they are?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from gradviz.report.profile import Comparison, Profile, load

SETUP = """
import numpy as np, gradviz as gv
def f(x):
    h = np.exp(x)
    return np.sum(h * np.tanh(x))
x = np.ones((8, 8))
"""


@pytest.fixture(scope="module")
def started() -> Iterator[InteractiveShell]:
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "gradviz")
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(started: InteractiveShell) -> InteractiveShell:
    started.reset(new_session=False)
    started.run_cell(SETUP, store_history=True)
    return started


def run(shell: InteractiveShell, code: str) -> tuple[Any, Any]:
    """The result of a cell, and what it showed."""
    with capture_output() as shown:
        result = shell.run_cell(code, store_history=True)
    return result, shown


def test_a_cell_is_shown_and_kept(shell: InteractiveShell) -> None:
    result, shown = run(shell, "%%gradprofile -o p\ng = gv.grad(f)(x)\ng.shape")
    assert result.success
    assert result.result == (8, 8)
    assert isinstance(shell.user_ns["p"], Profile)
    assert any("text/html" in output.data for output in shown.outputs)


def test_lines_are_those_of_the_cell(shell: InteractiveShell) -> None:
    run(shell, "%%gradprofile -o p -q\n# a comment\ng = gv.grad(f)(x)")
    p = shell.user_ns["p"]
    wheres = {p.trace.where(event) for event in range(len(p.trace))}
    number = len(shell.user_ns["In"]) - 1
    assert f"Cell In[{number}], line 3" in wheres
    assert f"Cell In[{number - 1}], line 4" in wheres
    assert set(p.sources) == {f"Cell In[{number}]", f"Cell In[{number - 1}]"}


def test_a_statement_is_taken_word_for_word(shell: InteractiveShell) -> None:
    result, _ = run(shell, "%gradprofile -q -o p gv.grad(lambda x, *a: np.sum(x) * -1.0)(x, 'two words', {'-q': -1})")
    assert result.success
    assert len(shell.user_ns["p"].trace) > 0


def test_steps_are_spans(shell: InteractiveShell) -> None:
    run(shell, "%%gradprofile -n 3 -q -o p\ngv.grad(f)(x)")
    p = shell.user_ns["p"]
    names = [p.trace.name(event) for event in range(len(p.trace))]
    assert [name for name in names if name.startswith("step")] == ["step 1", "step 2", "step 3"]


def test_on_a_simulated_device(shell: InteractiveShell) -> None:
    run(shell, "%%gradprofile --device sim:a100 -q -o p\ng = gv.grad(f)(x)\nfloat(g[0, 0])")
    p = shell.user_ns["p"]
    assert p.trace.meta["simulated"]
    assert len(p.trace.syncs["event"]) > 0


def test_return_top_and_quiet(shell: InteractiveShell) -> None:
    result, shown = run(shell, "%gradprofile -r gv.grad(f)(x)")
    assert isinstance(result.result, Profile)
    _, shown = run(shell, "%gradprofile -t 2 gv.grad(f)(x)")
    assert "Time by line" in shown.stdout
    _, shown = run(shell, "%%gradprofile -q\ng = gv.grad(f)(x)")
    assert not shown.outputs
    assert not shown.stdout


@pytest.mark.parametrize("name", ["r.html", "a b.gradviz"])
def test_write(shell: InteractiveShell, tmp_path: Path, name: str) -> None:
    result, _ = run(shell, f"%gradprofile -q -w '{tmp_path / name}' gv.grad(f)(x)")
    assert result.success
    if name.endswith(".gradviz"):
        assert len(load(tmp_path / name).trace) > 0
    else:
        assert "<!doctype html>" in (tmp_path / name).read_text()[:40]


def test_compare(shell: InteractiveShell) -> None:
    run(shell, "%gradprofile -q -o p gv.grad(f)(x)")
    with capture_output() as shown:
        shell.run_cell("%gradprofile -c p gv.grad(f)(np.ones((300, 300)))", store_history=True)
    assert "Totals" in shown.outputs[-1].data["text/plain"]
    assert isinstance(shell.user_ns["p"].compare(shell.user_ns["p"]), Comparison)


def test_forbid_stops_at_the_line(shell: InteractiveShell) -> None:
    result, _ = run(shell, "%%gradprofile --forbid host_sync --device sim:a100 -q\ng = gv.grad(f)(x)\nfloat(g[0, 0])")
    assert type(result.error_in_exec).__name__ == "ForbiddenError"
    assert "line 3" in str(result.error_in_exec)


def test_an_error_stops_the_cell_and_what_was_recorded_is_shown(shell: InteractiveShell) -> None:
    result, shown = run(shell, "%%gradprofile -o p\ng = gv.grad(f)(x)\n1 / 0\nafter = 1")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "after" not in shell.user_ns
    assert len(shell.user_ns["p"].trace) > 0
    assert any("text/html" in output.data for output in shown.outputs)
    assert shown.stdout.count("ZeroDivisionError") <= 2  # head and foot of one traceback


def test_a_syntax_error_is_one(shell: InteractiveShell) -> None:
    result, _ = run(shell, "%%gradprofile -q\nx = (1,")
    assert isinstance(result.error_in_exec or result.error_before_exec, SyntaxError)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("%gradprofile -z x", "no option -z"),
        ("%gradprofile", "needs a statement"),
        ("%%gradprofile\n ", "needs a statement"),
        ("%%gradprofile f(x)\ng = 1", "cannot also run"),
        ("%gradprofile -n 0 f(x)", "at least 1"),
        ("%gradprofile -n x f(x)", "invalid int"),
        ("%gradprofile -o 1a f(x)", "variable name"),
        ("%gradprofile -w r.txt f(x)", ".html or .gradviz"),
        ("%gradprofile --compare nothing f(x)", "holds a profile"),
        ("%gradprofile --device moon f(x)", "moon"),
        ("%gradprofile --forbid rain f(x)", "invalid choice"),
        ("%gradprofile -o", "needs a value"),
        ("%%gradprofile\nawait thing", "top-level await"),
    ],
)
def test_bad_options_are_usage_errors(shell: InteractiveShell, code: str, message: str) -> None:
    result, _ = run(shell, code)
    assert isinstance(result.error_in_exec, UsageError)
    assert message in str(result.error_in_exec)


def test_help_lists_every_option(shell: InteractiveShell) -> None:
    documentation = shell.find_line_magic("gradprofile").__doc__ or ""
    for option in ("-o", "-q", "-r", "-w", "-n", "--device", "--top", "--compare", "--forbid"):
        assert option in documentation
