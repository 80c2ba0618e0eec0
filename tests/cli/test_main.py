"""Do the commands do what they say, with the exit status and the one sentence that they promise?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gradviz as gv
from gradviz.cli.main import main
from gradviz.record.events import Kind

LOSS = """
import sys
import numpy as np
import gradviz as gv

def loss(x):
    y = np.exp(x)
    z = y.copy()
    return np.sum(z * 2.0)

g = gv.grad(loss)(np.ones(200_000))
"""


def gradviz(*args: object, cwd: Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradviz", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str, name: str = "script.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture(scope="session")
def recorded(tmp_path_factory) -> Path:
    """A folder with ``run.gradviz``, the recording of ``LOSS``."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "loss.py").write_text(LOSS)
    done = gradviz("run", "--save", "run.gradviz", "loss.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def ended(args: list[str]) -> int:
    """The exit status of a command, run in this process."""
    try:
        return main(args)
    except SystemExit as end:
        return int(end.code or 0)


# ---- run


def test_a_script_runs_as_python_would_run_it(script, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 7\n")
    path = script(
        """
        import pickle, sys
        import beside
        class Own: pass
        print(__name__, sys.argv, beside.value, __file__)
        assert type(pickle.loads(pickle.dumps(Own()))) is Own
        """
    )
    done = gradviz("run", path.name, "--lr", "3", "--top", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("__main__ ['script.py', '--lr', '3', '--top', 'x'] 7 script.py\n")


def test_what_a_script_differentiates_is_recorded(recorded: Path) -> None:
    done = gradviz("run", "--html", "run.html", "--top", 3, "loss.py", cwd=recorded)
    assert done.returncode == 0, done.stderr
    assert "loss.py:8" in done.stdout
    assert "Findings" in done.stdout
    assert (recorded / "run.html").read_text().startswith("<!doctype html>")
    trace = gv.load(recorded / "run.gradviz").trace
    assert {trace.name(row) for row in trace.rows(Kind.CALL)} >= {"exp", "copy", "sum"}


def test_a_script_can_run_on_a_simulated_gpu(recorded: Path) -> None:
    done = gradviz("run", "--device", "sim:a100", "loss.py", cwd=recorded)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout


@pytest.mark.parametrize(
    ("ending", "status", "says"),
    [
        ("sys.exit(5)", 5, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('bad luck')", 1, "bad luck"),
        ("raise ValueError('no such luck')", 1, "ValueError: no such luck"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_the_end_of_a_script_is_kept_and_so_is_what_was_recorded(script, tmp_path: Path, ending, status, says) -> None:
    script(f"{LOSS}\n{ending}\n")
    done = gradviz("run", "--save", "kept.gradviz", "script.py", cwd=tmp_path)
    assert done.returncode == status
    assert says in done.stderr
    assert "cli/script.py" not in done.stderr
    assert len(gv.load(tmp_path / "kept.gradviz").trace) > 5


def test_an_interrupt_from_outside_keeps_what_was_recorded(script, tmp_path: Path) -> None:
    script(f"{LOSS}\nimport time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    running = subprocess.Popen(
        [sys.executable, "-m", "gradviz", "run", "--save", "kept.gradviz", "script.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert len(gv.load(tmp_path / "kept.gradviz").trace) > 5


def test_a_script_that_is_no_python_is_shown_as_python_shows_it(script, tmp_path: Path) -> None:
    script("x = = 1\n")
    done = gradviz("run", "script.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "script.py" in done.stderr


# ---- report, compare, export


def test_a_report_of_a_recording(recorded: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(recorded)
    assert main(["report", "run.gradviz", "--html", "again.html"]) == 0
    assert "loss.py:8" in capsys.readouterr().out
    assert (recorded / "again.html").stat().st_size > 10_000


def test_a_comparison_of_two_recordings(recorded: Path, script, tmp_path: Path, capsys) -> None:
    script(LOSS.replace("    z = y.copy()\n", "    z = y\n"), "loss.py")
    assert gradviz("run", "--save", "after.gradviz", "loss.py", cwd=tmp_path).returncode == 0
    assert main(["compare", str(recorded / "run.gradviz"), str(tmp_path / "after.gradviz")]) == 0
    shown = capsys.readouterr().out
    assert "Totals" in shown
    assert "call copy" in shown


def test_exports_for_other_viewers(recorded: Path, monkeypatch) -> None:
    monkeypatch.chdir(recorded)
    for to, out in (("chrome", "t.json"), ("speedscope", "s.json"), ("html", "r.html")):
        assert main(["export", "run.gradviz", "--to", to, out]) == 0
    assert json.loads((recorded / "t.json").read_text())["traceEvents"]
    assert json.loads((recorded / "s.json").read_text())["profiles"]
    assert (recorded / "r.html").stat().st_size > 10_000


# ---- errors


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "missing.py"], "missing.py"),
        (["run", "--colour", "x.py"], "--colour"),
        (["run", "--device", "sim:tpu", "loss.py"], "sim:tpu"),
        (["run", "--top", "0", "loss.py"], "--top"),
        (["report", "missing.gradviz"], "missing.gradviz"),
        (["report", "loss.py"], "loss.py"),
        (["compare", "run.gradviz"], "AFTER.gradviz"),
        (["export", "run.gradviz", "--to", "pdf", "out"], "pdf"),
        (["check", "run.gradviz"], "--peak-below"),
        (["check", "--peak-below", "lots", "run.gradviz"], "lots"),
        (["check", "--fail-on", "dense_zeroes", "run.gradviz"], "dense_zeros"),
        (["fly"], "fly"),
        ([], "command"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recorded: Path, args: list[str], says: str, capsys, monkeypatch) -> None:
    monkeypatch.chdir(recorded)
    assert ended(args) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert says in line


def test_no_traceback_is_shown_of_what_is_wrong(recorded: Path) -> None:
    done = gradviz("report", "missing.gradviz", cwd=recorded)
    assert done.returncode == 2
    assert done.stderr == "gradviz: missing.gradviz: No such file or directory\n"


@pytest.mark.parametrize("command", ["demo", "run", "report", "compare", "export", "check"])
def test_help(command: str, capsys) -> None:
    assert ended([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: gradviz {command}")


def test_version(capsys) -> None:
    assert ended(["--version"]) == 0
    assert capsys.readouterr().out == f"gradviz {gv.__version__}\n"


# ---- demo


def test_the_demo_shows_findings_and_writes_reports(tmp_path: Path) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "160"}  # wide enough for a title on one line
    done = gradviz("demo", "--quick", "--out", "reports", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    for kind in ("scalars back per call", "of zeros for 8 B", "that nobody needed", "SIMULATED sim:a100"):
        assert kind in done.stdout
    assert "as_written.html" in done.stdout
    assert len(list((tmp_path / "reports").glob("*.html"))) == len(list((tmp_path / "reports").glob("*.gradviz"))) == 10
    assert done.stderr.splitlines()[0] == "[1/10] contraction, as people wrote it"
