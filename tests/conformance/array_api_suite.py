"""array-api-tests for `gradviz.numpy`: as it is, and with every array on a tape.

The suite is not on PyPI. Get it once, with the standard it checks against, and name the folder:

    git clone --recurse-submodules https://github.com/data-apis/array-api-tests
    ARRAY_API_TESTS=$PWD/array-api-tests make conformance
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conformance.pytest_run import outcomes
from tests.conformance.report import Count, Suite

DLPACK = (
    "`Array` has no `__dlpack__`: a traced array handed over by DLPack would lose its gradient without a word, and on a device CuPy "
    "would take it for one of its own"
)
LEFT_OUT = {
    "test_dlpack::test_dlpack_device": DLPACK,
    "test_dlpack::test_dunder_dlpack": DLPACK,
    "test_dlpack::test_from_dlpack": DLPACK,
    "test_has_names::test_has_names[array_method-__dlpack__]": DLPACK,
    "test_has_names::test_has_names[array_method-__dlpack_device__]": DLPACK,
    "test_signatures::test_array_method_signature[__dlpack__]": DLPACK,
    "test_signatures::test_array_method_signature[__dlpack_device__]": DLPACK,
}


def run(checkout: Path, examples: int = 100) -> Suite:
    """Run the suite on NumPy and on both of ours. What NumPy fails by itself is NumPy's; the rest has to pass."""
    numpys = _results(checkout, "numpy", examples)
    counts, failed = [], []
    explained: set[str] = set()
    for title, module in (("untraced", "gradviz.numpy"), ("every array traced", "tests.conformance.traced_numpy")):
        found = _results(checkout, module, examples)
        ours = {name: o for name, o in found.items() if name not in LEFT_OUT and o[0] != "skipped"}
        wrong = {name: why for name, (outcome, why) in ours.items() if outcome == "failed"}
        numpy_too = {name for name in wrong if numpys.get(name, ("", ""))[0] == "failed"}
        explained |= numpy_too
        counts.append(Count(f"array-api-tests, {title}", len(ours) - len(numpy_too), len(ours) - len(wrong)))
        failed += [(f"{title}: {name}", why) for name, why in wrong.items() if name not in numpy_too]
        failed += [(name, "is left out, but passes") for name in LEFT_OUT if found[name][0] != "failed"]
    return Suite(
        "Array API standard",
        f"array-api-tests at {_commit(checkout)}, {examples} examples for each property, for the namespace `gradviz.numpy` on the host: "
        "with arrays that nothing differentiates, and with every array of floating numbers an input of a gradient that is being taken. "
        f"Of the properties, NumPy itself does not have {len(explained)} (in the same run); they are its own to mend.",
        counts,
        left_out=[(", ".join(LEFT_OUT), DLPACK)],
        explained=[(name, "NumPy fails it too") for name in sorted(explained)],
        failed=failed,
    )


def _results(checkout: Path, module: str, examples: int) -> dict[str, tuple[str, str]]:
    options = ["array_api_tests", "--max-examples", str(examples), "--derandomize", "--disable-warnings", "-n", "auto"]
    return outcomes(checkout, options, env={"ARRAY_API_TESTS_MODULE": module})


def _commit(checkout: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%h of %as"], check=True, capture_output=True, text=True
    ).stdout.strip()
