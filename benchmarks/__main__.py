"""Run the benchmarks and write ``benchmarks/results.md``.

    python -m benchmarks                       everything: about an hour on two quiet cores
    python -m benchmarks --only eager          the ratios that gradviz promises: about five minutes
    python -m benchmarks --only W2,W5          some of the workloads
    python -m benchmarks --only W5 --engine gradviz --trace     replaces those rows alone
    python -m benchmarks --report              results.md from what was measured before

Each part runs in a process of its own; inside it the engines take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.results import FOLDER, write

PARTS = {"eager": "eager", "first": "first_calls"} | {
    path.stem.split("_")[0].upper(): path.stem for path in sorted(Path(__file__).parent.glob("w[0-9]_*.py"))
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"parts, with commas between: {', '.join(PARTS)}")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one part")
    options, passed_on = parser.parse_known_args()
    chosen = [] if options.report else options.only.split(",") if options.only else list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    FOLDER.mkdir(exist_ok=True)
    # Caches of compiled code must be cold, or first calls say nothing.
    environment = {"TORCHINDUCTOR_CACHE_DIR": tempfile.mkdtemp(), "GRADVIZ_CACHE_DIR": tempfile.mkdtemp(), **os.environ}
    failed = 0
    for part in chosen:
        print(f"# {part}", flush=True)
        command = [
            sys.executable,
            "-m",
            f"benchmarks.{PARTS[part]}",
            "--json",
            str(FOLDER / f"{part}.json"),
            *passed_on,
        ]
        try:
            failed |= subprocess.run(command, env=environment, timeout=options.timeout, check=False).returncode
        except subprocess.TimeoutExpired:
            print(f"{part}: stopped after {options.timeout:.0f} s; its finished rows are kept", flush=True)
            failed = 1
    print(f"written: {write()}")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
