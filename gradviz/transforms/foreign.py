"""What is said when a function that cannot be traced was given a traced array, and failed in its own words.

CuPy's functions look at CuPy's arrays only. Its ufuncs ask the array, which says so itself (`gradviz.engine.protocols`); from the rest
comes whatever they happen to trip over. The error stays theirs, and gets a note.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from gradviz.engine.array import Array
from gradviz.engine.protocols import not_by_cupy
from gradviz.errors import GradvizError


def run(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """``f(*args, **kwargs)``; an error that a traced array caused in CuPy is explained."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        name = None if isinstance(error, GradvizError) else blamed(error)
        if name and not any("gradviz.numpy" in note for note in getattr(error, "__notes__", ())):
            error.add_note(not_by_cupy(name))
        raise


def blamed(error: Exception) -> str | None:
    """The function of CuPy that was given a traced array; "function" if all that is known is that one was."""
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("cupy"):
            values = frame.tb_frame.f_locals.values()
            if any(isinstance(v, Array) or (isinstance(v, (list, tuple)) and any(map(is_traced, v))) for v in values):
                return frame.tb_frame.f_code.co_name
        frame = frame.tb_next
    text = str(error)
    return "function" if "cupy" in text and ("got Array" in text or "got View" in text) else None


def is_traced(value: Any) -> bool:
    """Whether it is a traced array."""
    return isinstance(value, Array)
