"""Does a compiled function give what the function gives, at the first call and at later ones with other values?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.plan.compile import Compiled
from gradviz.plan.compile import compile as compiled_of
from gradviz.plan.program.program import Mismatch, evaluate
from gradviz.transforms.trees import flatten


def kept(x: Any) -> Any:
    """The same arguments in memory of their own, in the same layout."""
    if isinstance(x, np.ndarray):
        return x.copy(order="K")
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(kept(item) for item in x)
    return {key: kept(item) for key, item in x.items()} if isinstance(x, dict) else x


def differences(got: Any, want: Any, rtol: float = 1e-10) -> str | None:
    """None if two results are the same, in structure, kind and value."""
    (mine, made), (right, structure) = flatten(got), flatten(want)
    if made != structure:
        return f"structure {made} instead of {structure}"
    for k, (a, b) in enumerate(zip(mine, right, strict=True)):
        if (
            type(a) is not type(b)
            or getattr(a, "dtype", None) != getattr(b, "dtype", None)
            or np.shape(a) != np.shape(b)
        ):
            return f"leaf {k} is {a!r} instead of {b!r}"
        if isinstance(b, (np.ndarray, np.generic, float, complex)):
            loose = rtol if np.result_type(b).itemsize > 4 and np.result_type(b) != np.complex64 else 1e-4
            if not np.allclose(a, b, rtol=loose, atol=loose, equal_nan=True):
                return f"leaf {k} is {a!r} instead of {b!r}"
        elif a != b:
            return f"leaf {k} is {a!r} instead of {b!r}"
    arrays = [a for a in mine if isinstance(a, np.ndarray) and a.size]
    if any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k]):
        return "two results share memory"
    return None


def disagreement(f: Callable[..., Any], calls: Sequence[tuple[Any, ...]], rtol: float = 1e-10) -> str | None:
    """None if ``f`` compiled agrees with ``f`` for each tuple of arguments, as does what was captured before it became a plan."""
    mine = compiled_of(f)
    for k, args in enumerate(calls):
        theirs, given = kept(args), kept(args)
        try:
            want = f(*theirs)
        except (ValueError, IndexError):  # of other shapes than the first, where shapes depend on values
            continue
        got = mine(*given)
        wrong = (
            stage_differs(mine, "raw", args, want, rtol)
            or stage_differs(mine, "program", args, want, rtol)
            or differences(got, want, rtol)
            or differences(list(given), list(theirs), rtol)
            or shared(got, given)
        )
        if wrong:
            return f"call {k}: {wrong}"
    return None


def shared(got: Any, given: Any) -> str | None:
    """Whether a result shares memory with an argument."""
    arrays = [a for a in flatten(given)[0] if isinstance(a, np.ndarray)]
    results = [a for a in flatten(got)[0] if isinstance(a, np.ndarray)]
    if any(np.shares_memory(a, b) for a in arrays for b in results):
        return "a result shares memory with an argument"
    return None


def stage_differs(mine: Compiled, stage: str, args: Any, want: Any, rtol: float) -> str | None:
    """What is wrong with a program: ``raw``, as it was captured, or ``program``, with loops."""
    leaves = [x for x in flatten((args, {}))[0] if isinstance(x, (np.ndarray, np.generic, float, complex))]
    for path in mine.plans[next(reversed(mine.plans))]:
        try:
            outs = evaluate(getattr(path, stage), [*kept(leaves), *path.outside()])
        except Mismatch:
            continue
        wrong = differences(path.wrap(outs[: path.count]), want, rtol)
        return f"{stage}: {wrong}" if wrong else None
    return "no path fits"
