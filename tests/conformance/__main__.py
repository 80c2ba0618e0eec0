"""Run the suites and write `docs/conformance.md`: ``python -m tests.conformance``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.update(JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1")  # before JAX is imported

from tests.conformance.report import PAGE, Suite, written

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gradviz-conformance"


def suites(options: argparse.Namespace) -> dict[str, Callable[[], Suite]]:
    """What there is to run; imported when it runs, since torch and JAX take seconds."""

    def autograd() -> Suite:
        from tests.conformance import autograd_suite

        return autograd_suite.run(options.cache)

    def torch() -> Suite:
        from tests.conformance import opinfo

        return opinfo.suite()

    def oracle() -> Suite:
        from tests.conformance import jax_oracle

        return jax_oracle.suite()

    def programs() -> Suite:
        from tests.conformance.programs import against_jax

        return against_jax.suite()

    def array_api() -> Suite:
        from tests.conformance import array_api_suite

        if options.array_api_tests is None:
            raise SystemExit(array_api_suite.__doc__)
        return array_api_suite.run(Path(options.array_api_tests), options.examples)

    return {"autograd": autograd, "torch": torch, "jax": oracle, "array-api": array_api, "gradbench": programs}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--only", default="", help="names of suites, separated by commas; the page is then not written")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where downloaded tests are kept")
    parser.add_argument(
        "--array-api-tests", default=os.environ.get("ARRAY_API_TESTS"), help="a checkout of array-api-tests"
    )
    parser.add_argument("--examples", type=int, default=100, help="examples for each property of array-api-tests")
    options = parser.parse_args()
    known = suites(options)
    chosen = [name for name in options.only.split(",") if name] or list(known)
    done = [known[name]() for name in chosen]
    page = written(done)
    if not options.only:
        PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0 if all(suite.right for suite in done) else 1


if __name__ == "__main__":
    sys.exit(main())
