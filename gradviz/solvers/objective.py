"""What does a solver call? A function of the vector of unknowns, compiled or not, with its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradviz.errors import CaptureError
from gradviz.plan.compile import compile as compiled_version


def ready(f: Callable[..., Any], compiled: bool) -> Any:
    """``f`` as it is called again and again by a solver."""
    if not compiled:
        return f
    fast = compiled_version(f)

    def call(*args: Any) -> Any:
        try:
            return fast(*args)
        except CaptureError as error:
            error.add_note("With compiled=False the solver calls the function as it is.")
            raise

    return call
