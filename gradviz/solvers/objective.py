"""What a solver calls: a function of the vector of unknowns, or its derivatives, compiled once for a function and not for each solution."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from gradviz.errors import CaptureError
from gradviz.plan.compile import compile as compiled_version
from gradviz.solvers.unknowns import Unknowns

KEPT = "__gradviz_solvers__"  # on the user's function, so that both go together


class Kept(dict[Any, Any]):
    """What was compiled for a function. A copy of the function in another process begins without."""

    def __reduce__(self) -> Any:
        return Kept, ()


def ready(fun: Callable[..., Any], unknowns: Unknowns, derive: Callable[..., Any], compiled: bool) -> Any:
    """``derive`` of ``fun`` as a function of the vector, as it is called again and again by a solver."""
    if not compiled:
        return derive(unknowns.of_vector(fun))
    kept = vars(fun).setdefault(KEPT, Kept()) if type(fun) is FunctionType else Kept()
    key = derive, unknowns.structure, tuple(unknowns.parts)
    if key not in kept:
        kept[key] = compiled_version(derive(unknowns.of_vector(fun)))
    fast = kept[key]

    def call(*args: Any) -> Any:
        try:
            return fast(*args)
        except CaptureError as error:
            error.add_note("With compiled=False the solver calls the function as it is.")
            raise

    return call


def itself(f: Callable[..., Any]) -> Callable[..., Any]:
    """No derivative."""
    return f
