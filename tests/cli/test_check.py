"""Does ``gradviz check`` tell runs that keep their promises from those that do not?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gradviz as gv
from gradviz.cli.check import size
from gradviz.cli.main import main

WAITS = """
import numpy as np
import gradviz as gv

xp = gv.simulate("a100", fresh=True)

@gv.rule
def scaled(x):
    return x * 2.0

@scaled.pullback
def scaled_to_x(ct, x):
    return ct * (2.0 + 0.0 * float(np.sum(x)))

gv.grad(lambda x: np.sum(scaled(x)))(xp.ones(1000))
"""


@pytest.fixture
def saved(tmp_path: Path):
    """``saved(loss)``: the recording of its gradient at a million ones, as a file."""

    def save(loss) -> str:
        with gv.profile() as taken:
            gv.grad(loss)(np.ones(1_000_000))
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.gradviz"
        return str(taken.save(path))

    return save


def plain(x):
    return np.sum(np.exp(x))


def copying(x):
    return np.sum(np.exp(x).copy())


def test_peak_memory(saved, capsys) -> None:
    file = saved(plain)
    assert main(["check", "--peak-below", "1GiB", file]) == 0
    assert capsys.readouterr().out == "ok     peak memory below 1.00 GiB\n"
    assert main(["check", "--peak-below", "10 MB", file]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_new_copies(saved, capsys) -> None:
    base, more = saved(plain), saved(copying)
    assert main(["check", "--no-new-copies-against", base, base]) == 0
    assert main(["check", "--no-new-copies-against", more, base]) == 0
    capsys.readouterr()
    assert main(["check", "--no-new-copies-against", base, more]) == 1
    assert "1 copy more at" in capsys.readouterr().out


def test_findings_of_a_kind(saved) -> None:
    file = saved(copying)
    assert main(["check", "--fail-on", "defensive_copy,dense_zeros", file]) == 1
    assert main(["check", "--fail-on", "dense_zeros", file]) == 0


def test_several_checks_are_all_made(saved, capsys) -> None:
    file = saved(copying)
    assert main(["check", "--peak-below", "1kB", "--no-sync-in-pullback", "--fail-on", "defensive_copy", file]) == 1
    assert [line[:6] for line in capsys.readouterr().out.splitlines() if line[0] != " "] == [
        "ok    ",
        "FAILED",
        "FAILED",
    ]


def test_syncs_in_the_pullbacks_of_a_script(tmp_path: Path, capsys, monkeypatch) -> None:
    script = tmp_path / "waits.py"
    script.write_text(WAITS)
    for name in ("argv", "path"):
        monkeypatch.setattr(f"sys.{name}", ["", *__import__("sys").path])
    monkeypatch.setitem(__import__("sys").modules, "__main__", None)
    assert main(["check", "--no-sync-in-pullback", str(script)]) == 1
    assert "1 sync at" in capsys.readouterr().out


def test_a_script_that_fails_cannot_be_checked(tmp_path: Path, capsys, monkeypatch) -> None:
    script = tmp_path / "fails.py"
    script.write_text("raise SystemExit(3)\n")
    for name in ("argv", "path"):
        monkeypatch.setattr(f"sys.{name}", ["", *__import__("sys").path])
    monkeypatch.setitem(__import__("sys").modules, "__main__", None)
    assert main(["check", "--no-sync-in-pullback", str(script)]) == 2
    assert "ended with status 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1e6", 1_000_000), ("1.5k", 1500), ("7", 7), ("3mib", 3 << 20)],
)
def test_sizes(text: str, nbytes: int) -> None:
    assert size(text) == nbytes


@pytest.mark.parametrize("text", ["", "GiB", "-1", "2 bits", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        size(text)
