"""What must not happen here, and what is done when it does: `forbid` makes a finding enforceable.

Whoever sees something happen (the recorder, a device's listener) calls `check`, which looks whether a guard of this
context forbids it. Where nobody records, `forbid` listens to devices itself; what only the engine knows of (copies,
dense zeros) needs a recorder, which `recorder_wanted` asks for.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from gradviz.devices.protocol import LISTENER
from gradviz.errors import ForbiddenError, GradvizError
from gradviz.record.source import user_line

What = Literal["host_sync", "transfer", "copy", "dense_zeros"]
Inside = Literal["pullback", "forward"]
Level = Literal["raise", "warn", "log"]

# what can be forbidden -> (what happened, what to do about it)
FORBIDDEN: dict[str, tuple[str, str]] = {
    "host_sync": (
        "the host waited for the device",
        "Keep the value on the device, where a 0-d array does all that a number does; read it after the gradient.",
    ),
    "transfer": (
        "data moved between host and device",
        "Upload what stays the same once, before the loop, and leave results on the device until the end.",
    ),
    "copy": (
        "an array was copied",
        "Write into memory that nobody else needs, or hand the old value over; the reason says who still needed it.",
    ),
    "dense_zeros": (
        "a pullback made a whole array of zeros to hold the cotangent of a part",
        "Read the part with x[index], whose cotangent gradviz adds in place, instead of a rule that fills zeros.",
    ),
}
_BY_RECORDER = {"copy", "dense_zeros"}


@dataclass(frozen=True)
class Guard:
    """One ``forbid`` that is in force."""

    what: What
    inside: Inside | None
    level: Level


ACTIVE: ContextVar[tuple[Guard, ...]] = ContextVar("ACTIVE", default=())


@contextmanager
def forbid(what: What, *, inside: Inside | None = None, level: Level = "raise") -> Iterator[None]:
    """Let nothing of one kind happen in this block; also a decorator.

    Parameters
    ----------
    what : ``"host_sync"``, ``"transfer"``, ``"copy"`` or ``"dense_zeros"``
    inside : ``"pullback"`` looks only at what pullbacks do, ``"forward"`` only at everything else; None at all
    level : ``"raise"`` an error at the line, ``"warn"`` there, or ``"log"`` to the logger ``gradviz``

    Raises
    ------
    ForbiddenError
        it happened, and ``level`` is ``"raise"``

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> xp = gv.simulate("a100", fresh=True)
    >>> with gv.forbid("host_sync"):
    ...     float(np.sum(xp.ones(3)))
    Traceback (most recent call last):
    gradviz.errors.ForbiddenError: host_sync (float) is forbidden here, but the host waited for the device at ...
    """
    for name, value, known in (("what", what, FORBIDDEN), ("inside", inside, (None, "pullback", "forward")),
                               ("level", level, ("raise", "warn", "log"))):  # fmt: skip
        if value not in known:
            raise GradvizError(f"forbid({name}={value!r}) is not known; {name} is one of {', '.join(map(repr, known))}")
    active = ACTIVE.set((*ACTIVE.get(), Guard(what, inside, level)))
    listening = LISTENER.set(_Watch()) if LISTENER.get() is None else None
    try:
        yield
    finally:
        if listening is not None:
            LISTENER.reset(listening)
        ACTIVE.reset(active)


def recorder_wanted() -> bool:
    """Whether a guard forbids something that only a recorder sees."""
    return any(guard.what in _BY_RECORDER for guard in ACTIVE.get())


def check(what: str, detail: str = "", in_pullback: bool | None = None) -> None:
    """Tell the guards of this context that something is about to happen, or just did.

    Parameters
    ----------
    what : one of `FORBIDDEN`
    detail : which trigger, direction or reason
    in_pullback : whether a pullback runs; None to find out
    """
    if detail == "allocation":  # the driver's own wait, not the program's
        return
    for guard in ACTIVE.get():
        if guard.what == what and (guard.inside is None or _inside(in_pullback) == guard.inside):
            _speak(guard, detail, _inside(in_pullback))


def _inside(in_pullback: bool | None) -> str:
    return "pullback" if (_reversing() if in_pullback is None else in_pullback) else "forward"


def _reversing() -> bool:
    """Whether the reverse walk is among the calling frames; asked only when something happens that a guard is about."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "gradviz.engine.backward" and frame.f_code.co_name == "walk":
            return True
        frame = frame.f_back
    return False


def _speak(guard: Guard, detail: str, inside: str) -> None:
    happened, remedy = FORBIDDEN[guard.what]
    where = user_line()
    subject = f"{guard.what} ({detail.replace('_', ' ')})" if detail else guard.what
    place = (f" at {where}" if where else "") + (", in a pullback" if inside == "pullback" else "")
    text = f"{subject} is forbidden here, but {happened}{place}. {remedy}"
    if guard.level == "raise":
        raise ForbiddenError(text)
    if guard.level == "warn":
        file, _, line = where.rpartition(":")
        warnings.warn_explicit(text, RuntimeWarning, file or where, int(line) if file else 0)
    else:
        logging.getLogger("gradviz").warning(text)


class _Watch:
    """Listens to devices only for the guards' sake, where nobody records."""

    def kernel(self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None: ...

    def sync(self, trigger: str, stream: str, start_ns: int, end_ns: int, nbytes: int, value: object) -> None:
        check("host_sync", trigger)

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        check("transfer", direction)

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None: ...
