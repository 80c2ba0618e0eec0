"""Does the simulated GPU know which arguments CuPy's functions take, and which functions there are?"""

from __future__ import annotations

import inspect

import cupy
import numpy as np
import pytest

from gradviz.devices.sim import functions, special, ufuncs
from gradviz.devices.sim.signatures import PARAMETERS

MAJOR = int(cupy.__version__.partition(".")[0])
# The table is CuPy 14's; these are 13's.
IN_13 = {
    "asanyarray": "a dtype order blocking", "asarray": "a dtype order blocking", "histogram": "x bins range weights density",
    "reshape": "a newshape order",
}  # fmt: skip
NOT_IN_13 = {"astype", "concat", "linalg.matrix_transpose"}


def found(key):
    """The function of CuPy, None if there is none."""
    place = cupy
    for part in key.split("."):
        place = getattr(place, part, None)
    return place


@pytest.mark.parametrize("key", PARAMETERS)
def test_parameters(key):
    want = IN_13.get(key, PARAMETERS[key]) if MAJOR == 13 else PARAMETERS[key]
    if MAJOR == 13 and key in NOT_IN_13:
        assert found(key) is None
    else:
        assert " ".join(inspect.signature(found(key)).parameters) == want


def test_all_that_differ_are_listed():
    for module in ("", "linalg", "fft"):
        theirs, ours = (cupy, np) if not module else (getattr(cupy, module), getattr(np, module))
        for name in dir(ours):
            function, other = getattr(ours, name), getattr(theirs, name, None)
            if (
                name.startswith("_")
                or isinstance(function, (np.ufunc, type))
                or other is function
                or not callable(other)
            ):
                continue
            key = f"{module}.{name}" if module else name
            try:
                takes, gives = inspect.signature(function).parameters, inspect.signature(other).parameters
            except (TypeError, ValueError):
                continue
            if key not in PARAMETERS and not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in gives.values()):
                assert list(takes) == list(gives), key


@pytest.mark.parametrize("name", sorted(functions.MISSING - {"piecewise", "apply_along_axis", "apply_over_axes"}))
def test_functions_that_are_not_there(name):
    there = getattr(cupy, name, None)
    assert there is None or name in {"save", "savetxt", "savez", "savez_compressed"}


@pytest.mark.parametrize("name", sorted(functions.MISSING_LINALG))
def test_linear_algebra_that_is_not_there(name):
    assert getattr(cupy.linalg, name, None) is None


@pytest.mark.parametrize("name", sorted(ufuncs.MISSING))
def test_ufuncs_that_are_not_there(name):
    assert not hasattr(cupy, name) or MAJOR > 14


def test_special_functions():
    import cupyx.scipy.special as theirs
    from scipy import special as scipys

    there = {name for name in dir(theirs) if isinstance(getattr(scipys, name, None), np.ufunc)}
    only_14 = {"ellipeinc", "ellipkinc", "shichi", "sici", "wright_bessel"}
    assert there == special.UFUNCS - (only_14 if MAJOR == 13 else set())
    takes_complex = {name for name in there if any("D" in loop for loop in getattr(getattr(theirs, name), "types", ()))}
    only_14 = {"digamma", "psi", "shichi", "sici"}
    assert takes_complex == special.COMPLEX - (only_14 if MAJOR == 13 else set())
