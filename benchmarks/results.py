"""How do the measurements become ``results.md``?"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import goals

FOLDER = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "results.md"

HOW_TO_READ = """\
Every gradient was held against a float64 reference before it was timed. *median* is over quiet samples: those in which
the engine's threads waited for a core for less than 5 % of the time, or other processes used under a quarter of a core;
a `~` marks a row with fewer than three of them, whose median is over all samples and says more about the machine's
other load than about the engine: read *min* there. *First call* holds tracing and compiling. *Growth* is by how much
one warm call raised the resident memory at its peak. A *limit* is written by hand, as fast as it gets.
"""

GOALS_TOLD = """\
Ratios of engines that took turns in one run: of the fastest samples, in brackets of the medians. *a / b* is the time of a by
that of b.
"""

FIRST_CALLS_TOLD = """\
Seconds of the first call in a process that has done nothing before but import: tracing, compiling and running once. The
fastest of three, with an empty folder for programs and kernels, and with those in it.
"""


def write() -> Path:
    """Write ``results.md`` from what lies in ``results/``."""
    parts = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
    eager, first = parts.pop("eager", None), parts.pop("first", None)
    lines = ["# Benchmarks", ""]
    for part in ([eager] if eager else list(parts.values()))[:1]:
        versions = ", ".join(f"{name} {version}" for name, version in part["versions"].items())
        lines += [f"{day()}. {part['machine']}. {versions}. `make bench` measures again.", ""]
    if eager:
        lines += ["## What gradviz promises", "", *promises(eager["figures"])]
    if parts:
        lines += ["", "## Compiled gradients", "", GOALS_TOLD, *goals.table(parts)]
    if first:
        lines += ["", "## First calls", "", FIRST_CALLS_TOLD, *goals.first_calls(first["first_calls"])]
    if parts:
        lines += ["", "## Beside the rivals", "", HOW_TO_READ, *best(parts.values())]
        for part in parts.values():
            lines += workload(part)
    PAGE.write_text("\n".join(lines) + "\n")
    return PAGE


def day() -> str:
    """When the last part was measured."""
    return time.strftime("%d %B %Y", time.localtime(max(path.stat().st_mtime for path in FOLDER.glob("*.json"))))


def promises(figures: list[dict[str, Any]]) -> Iterable[str]:
    """Each ratio with its goal."""
    yield "Ratios of programs that took turns in one run: of the fastest rounds, in brackets the quartiles over all rounds."
    yield ""
    yield "| | measured | goal | |"
    yield "|---|---|---|---|"
    for figure in figures:
        unit = figure["unit"] if figure["unit"] == "×" else f" {figure['unit']}"
        spread = "" if figure["low"] == figure["high"] else f" ({figure['low']:.3g} to {figure['high']:.3g})"
        goal = f"{'≤' if figure['at_most'] else '≥'} {figure['goal']:g}{unit}"
        outcome = "met" if figure["met"] else "missed"
        yield f"| {figure['what']} | {figure['value']:.3g}{unit}{spread} | {goal} | {outcome} |"


def best(parts: Iterable[dict[str, Any]]) -> Iterable[str]:
    """gradviz, the fastest rival and the limit, case by case."""
    yield "| | case | gradviz | fastest rival | | limit by hand | rival / gradviz |"
    yield "|---|---|---|---|---|---|---|"
    for part in parts:
        for case, rows in by_case(part):
            timed = sorted((row for row in rows if "min_s" in row), key=lambda row: row["min_s"])
            engines = [row for row in timed if row["kind"] == "engine" and "hand-written" not in row["engine"]]
            ours = next((row["min_s"] for row in engines if row["engine"].startswith("gradviz")), None)
            rival = next((row for row in engines if not row["engine"].startswith("gradviz")), None)
            limit = next((row["min_s"] for row in timed if row["kind"] == "limit"), None)
            ratio = f"{rival['min_s'] / ours:.2g}×" if rival and ours else ""
            name, rival_s = (rival["engine"], rival["min_s"]) if rival else ("", None)
            cells = [part["workload"], case, seconds(ours), name, seconds(rival_s), seconds(limit), ratio]
            yield f"| {' | '.join(cells)} |"


def workload(part: dict[str, Any]) -> Iterable[str]:
    """All rows of one workload."""
    yield from ("", f"### {part['workload']}: {part['title']}", "")
    per_unit = f"per {part['unit']} | " if part["unit"] else ""
    yield f"| case | engine | median | min | samples (quiet) | first call | growth | {per_unit}note |"
    yield "|---|---|---|---|---|---|---|" + "---|" * (1 + bool(per_unit))
    for case, rows in by_case(part):
        for row in sorted(rows, key=lambda row: (row["kind"] == "limit", row.get("min_s", float("inf")))):
            name = f"*{row['engine']}* (limit)" if row["kind"] == "limit" else row["engine"]
            if "min_s" not in row:
                yield f"| {case} | {name} | | | | | | {'| ' * bool(per_unit)}{row['note'].replace('|', '/')} |"
                continue
            tilde = "" if row["n_quiet"] >= 3 else "~"
            unit = f"{row['ns_per_unit']:.4g} ns | " if row["ns_per_unit"] else "| " * bool(per_unit)
            yield (
                f"| {case} | {name} | {tilde}{seconds(row['median_s'])} | {seconds(row['min_s'])} "
                f"| {row['n']} ({row['n_quiet']}) | {seconds(row['first_call_s'])} "
                f"| {row['growth_nbytes'] / 2**20:.1f} MiB | {unit}|"
            )


def by_case(part: dict[str, Any]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    for case in dict.fromkeys(row["case"] for row in part["rows"]):
        yield case, [row for row in part["rows"] if row["case"] == case]


def seconds(value: float | None) -> str:
    if value is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
