"""Which cases does an engine pass?

    python -m tests.cases.run                     all cases, gradviz
    python -m tests.cases.run --group A --only C07 --trace
    python -m tests.cases.run --adapter another.module

An adapter is a module with ``load()``, which gives an object with ``name``, ``np``, ``gv``, ``host(tree)``,
``device()`` and ``viz()``; `tests.cases.registry` says what these must be able to do. Ends with 1 if a case fails.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from typing import Any

from tests.cases.expect import Sweep
from tests.cases.registry import CASES, GROUPS, Case, load_all


def outcome(case: Case, adapter: Any) -> tuple[Any, Exception | None]:
    """What a case returned, on the host, or what it raised."""
    arguments = [adapter.np, adapter.gv]
    if case.group == "D":
        arguments.append(adapter.device())
    if case.group == "E":
        arguments.append(adapter.viz())
    try:
        got = case.run(*arguments)
        if isinstance(got, Sweep):
            return Sweep(got.make, got.sizes, adapter.host(got.small)), None
        return (got if case.group == "E" else adapter.host(got)), None
    except Exception as error:  # noqa: BLE001 (an engine's error is an outcome)
        return None, error


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", default="tests.cases.adapter", help="importable module with load()")
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this group (repeatable)")
    parser.add_argument("--only", action="append", help="only the case with this id (repeatable)")
    parser.add_argument("--trace", action="store_true", help="print tracebacks of failures")
    options = parser.parse_args(argv)
    load_all()
    chosen = [
        case
        for case in CASES.values()
        if case.id in (options.only or ()) or case.group in (options.group or ()) or not (options.only or options.group)
    ]
    adapter = importlib.import_module(options.adapter).load()
    failed = 0
    for case in chosen:
        got, raised = outcome(case, adapter)
        wrong = case.expect.judge(got, raised)
        print(f"{case.id} {'FAIL' if wrong else 'pass'}  {case.title}", flush=True)
        if wrong:
            failed += 1
            print(f"         {wrong}")
            if raised is not None and options.trace:
                traceback.print_exception(raised)
    print(f"{adapter.name}: {len(chosen) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
