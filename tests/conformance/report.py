"""What a suite found, and the page that is made of it."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"


@dataclass
class Count:
    """One line of figures: how many ran, how many of them passed, and how large a part must."""

    what: str
    ran: int
    passed: int
    required: float = 1.0

    @property
    def enough(self) -> bool:
        return self.ran > 0 and self.passed >= self.required * self.ran


@dataclass
class Suite:
    """
    Parameters
    ----------
    left_out : what was not run or not counted, each with its reason
    explained : differences that are the other side's, each with its reason
    failed : what is wrong or not explained
    """

    title: str
    about: str
    counts: list[Count]
    left_out: list[tuple[str, str]] = field(default_factory=list)
    explained: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return all(count.enough for count in self.counts)


def versions(*packages: str) -> str:
    """``numpy 2.4.6, torch 2.13.0``."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


def written(suites: list[Suite]) -> str:
    """The page."""
    lines = [
        "# Conformance",
        "",
        "What other projects test their engines with, run on gradviz by `make conformance`, which writes this page.",
        "A fast part of it runs in `make test`.",
        "",
        f"Python {platform.python_version()}, {versions('numpy', 'scipy')}.",
        "",
        "| suite | ran | passed | share | asked for |",
        "|---|---:|---:|---:|---:|",
    ]
    for suite in suites:
        for count in suite.counts:
            share = f"{100 * count.passed / max(count.ran, 1):.2f} %"
            lines.append(
                f"| {count.what} | {count.ran:,} | {count.passed:,} | {share} | {100 * count.required:.0f} % |"
            )
    for suite in suites:
        lines += ["", f"## {suite.title}", "", suite.about]
        for heading, rows in (
            ("Left out", suite.left_out),
            ("Differences that are not ours", suite.explained),
            ("Not passed", suite.failed),
        ):
            if rows:
                lines += ["", f"{heading}:", "", "| what | reason |", "|---|---|"]
                lines += [f"| {_cell(what)} | {_cell(reason)} |" for what, reason in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
