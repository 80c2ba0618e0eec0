"""autograd's own tests, with the package ``autograd`` replaced by `tests/conformance/shim`, which is gradviz under its names."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tests.conformance.pytest_run import outcomes
from tests.conformance.report import Count, Suite

VERSION = "1.9.1"
SHIM = Path(__file__).parent / "shim"

INTERNALS = "is about autograd's vector spaces, which gradviz does not have"
GRAPHS = "is about autograd's record of a graph; that of gradviz is a plan"
DEPRECATED = "is about a deprecated way to write rules for autograd"
WHERE = "autograd's `where` gives Python numbers and takes keywords; gradviz leaves NumPy's as it is"
TRIANGLE = (
    "differentiates `eigh` of a matrix that is not Hermitian, by the triangle NumPy reads; in gradviz, as in JAX and PyTorch, the "
    "cotangent is that of the Hermitian matrix"
)
GAP = "expects an error where gradviz has a derivative"

LEFT_OUT = {
    **{f"test_vspaces::test_{kind}_vspace": INTERNALS for kind in ("array", "list", "tuple", "dict", "mixed")},
    "test_vspaces::test_array_vspace_0_dim": INTERNALS,
    "test_vspaces::test_array_vspace_complex": INTERNALS,
    "test_misc::test_const_graph": GRAPHS,
    "test_misc::test_const_graph_args": GRAPHS,
    "test_wrappers::test_deprecated_defgrad_wrapper": DEPRECATED,
    "test_wrappers::test_deprecated_defvjp_wrapper": DEPRECATED,
    "test_wrappers::test_deprecated_defvjp_is_zero_wrapper": DEPRECATED,
    "test_wrappers::test_wrapped_name_and_docs": "is about the wording of autograd's docstrings",
    "test_wrappers::test_custom_where": WHERE,
    "test_wrappers::test_custom_where_dtypes[int-True-1-2]": WHERE,
    "test_wrappers::test_custom_where_dtypes[float-True-3.0-4.0]": WHERE,
    "test_wrappers::test_custom_where_dtypes[float-False-1-2.0]": WHERE,
    "test_wrappers::test_custom_where_dtypes[list-True-x3-y3]": WHERE,
    "test_graphs::test_assignment_raises_error": GAP + ": assignment",
    "test_fft::test_rfftn_odd_not_implemented": GAP + ": `rfftn` of odd length",
    "test_numpy::test_cast_to_int": "`np.int64(x)` is a conversion that no array can take part in; `x.astype(int)` works",
    **{
        f"test_linalg::test_eigvalh_{half}{form}": TRIANGLE
        for half in ("lower", "upper")
        for form in ("", "_broadcasting", "_complex")
    },
}


def tests(cache: Path) -> Path:
    """The folder of the tests in autograd's source distribution, which pip fetches from PyPI once."""
    folder = cache / f"autograd-{VERSION}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        options = ["--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--quiet", "--dest", str(cache)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, f"autograd=={VERSION}"], check=True)
        with tarfile.open(cache / f"autograd-{VERSION}.tar.gz") as archive:
            archive.extractall(cache, filter="data")
    return folder / "tests"


def run(cache: Path) -> Suite:
    """Run them all; those left out must still fail, else they need not be left out."""
    found = outcomes(tests(cache), ["-c", "/dev/null", "--rootdir", ".", "-W", "ignore", "-n", "auto"], before=[SHIM])
    counted = {name: outcome for name, outcome in found.items() if name not in LEFT_OUT and outcome[0] != "skipped"}
    failed = [(name, why) for name, (outcome, why) in counted.items() if outcome == "failed"]
    stale = [(name, "is left out, but passes") for name in LEFT_OUT if found.get(name, ("gone", ""))[0] != "failed"]
    skipped = [(name, f"skipped by autograd: {why}") for name, (outcome, why) in found.items() if outcome == "skipped"]
    return Suite(
        f"autograd {VERSION}",
        "Its own test suite, derivatives to second order against finite differences, by forward and reverse mode, run with the package "
        "`autograd` replaced by a shim of gradviz's functions under its names.",
        [Count(f"tests of autograd {VERSION}", len(counted) + len(stale), len(counted) - len(failed), 0.98)],
        left_out=[*_grouped(), *skipped],
        failed=[*failed, *stale],
    )


def _grouped() -> list[tuple[str, str]]:
    """Tests of one reason on one line."""
    reasons: dict[str, list[str]] = {}
    for name, reason in LEFT_OUT.items():
        reasons.setdefault(reason, []).append(name)
    return [(", ".join(names), reason) for reason, names in reasons.items()]
