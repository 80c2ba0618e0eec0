"""How long does a first call take, in which tracing and compiling fall, in a process that has done nothing before?

    python -m benchmarks.first_calls --json first.json

Each is measured in processes of its own: with an empty folder for programs and kernels, then again with what the first one left there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.goals import FIRST_CALLS, OURS, FirstCall

REPEATS = 3
LIMIT_S = 300.0


def here(workload: str, case_name: str, engine_name: str) -> float:
    """Seconds of the first call, in this process."""
    (path,) = Path(__file__).parent.glob(f"{workload.lower()}_*.py")
    W = importlib.import_module(f"benchmarks.{path.stem}").W
    (case,) = [case for case in W.cases if case.name == case_name]
    (engine,) = [engine for engine in W.engines if engine.name == engine_name]
    call, _ = engine.make(case)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def elsewhere(goal: FirstCall, engine: str, folder: str) -> float | None:
    """Seconds of the first call in a new process, which keeps its kernels in a folder; None if it failed."""
    command = [sys.executable, "-m", "benchmarks.first_calls", "--one", goal.workload, goal.case, engine]
    environment = {**os.environ, "GRADVIZ_CACHE_DIR": folder}
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"  {engine}: {error}", flush=True)
        return None
    return float(ran.stdout.splitlines()[-1])


def measure(goal: FirstCall) -> dict[str, Any] | None:
    """The fastest of some first calls with nothing on disk, with the kernels there, and of the rival."""
    cold, kept, rival = [], [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(elsewhere(goal, OURS, folder))
            if cold[-1] is None:
                return None
            kept.append(elsewhere(goal, OURS, folder))
            if goal.rival:
                rival.append(elsewhere(goal, goal.rival, folder))
        if cold[-1] > 10:
            break
    found = [seconds for seconds in rival if seconds is not None]
    return {
        "workload": goal.workload,
        "case": goal.case,
        "cold_s": min(cold),
        "kept_s": min(kept),
        "rival_s": min(found) if found else None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the seconds here")
    parser.add_argument(
        "--one", nargs=3, metavar=("WORKLOAD", "CASE", "ENGINE"), help="print the seconds of one first call"
    )
    options, _ = parser.parse_known_args()  # what chooses engines is for the workloads
    if options.one:
        print(here(*options.one))
        return 0
    measured = []
    for goal in FIRST_CALLS:
        found = measure(goal)
        print(f"{goal.workload} {goal.case}: {found}", flush=True)
        if found is not None:
            measured.append(found)
        if options.json:
            options.json.write_text(json.dumps({"first_calls": measured}, indent=1))
    return int(len(measured) < len(FIRST_CALLS))


if __name__ == "__main__":
    raise SystemExit(main())
