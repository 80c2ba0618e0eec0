"""What must not happen here, and what is done when it does: `forbid` makes a finding enforceable.

Whoever sees something happen (the recorder, a device's listener) calls `check`, which looks whether a guard of this
context forbids it. Where nobody records, `forbid` listens to devices itself; what only the engine knows of (copies,
dense zeros) needs a recorder, which `recorder_wanted` asks for.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from gradviz.devices.protocol import LISTENER, listen
from gradviz.devices.strict import strictly
from gradviz.errors import ForbiddenError, GradvizError
from gradviz.record.source import user_line

What = Literal["host_sync", "transfer", "copy", "dense_zeros"]
Inside = Literal["pullback", "forward"]
Level = Literal["allow", "log", "disallow", "log_explicit", "disallow_explicit"]
Direction = Literal["host_to_device", "device_to_host", "device_to_device"]

EXPLICIT_WAITS = {"get", "explicit"}  # what a line asks for in so many words: x.get(), stream.synchronize()

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
_KNOWN: dict[str, tuple[object, ...]] = {
    "what": tuple(FORBIDDEN),
    "inside": (None, "pullback", "forward"),
    "level": ("allow", "log", "disallow", "log_explicit", "disallow_explicit"),
    "direction": (None, "host_to_device", "device_to_host", "device_to_device"),
}


@dataclass(frozen=True)
class Guard:
    """One ``forbid`` that is in force."""

    what: What
    inside: Inside | None
    level: Level
    direction: Direction | None

    def is_about(self, what: str, inside: str, detail: str) -> bool:
        """Whether it decides what is done about this."""
        return (
            self.what == what
            and self.inside in {None, inside}
            and (self.direction is None or what != "transfer" or self.direction == detail)
        )


ACTIVE: ContextVar[tuple[Guard, ...]] = ContextVar("ACTIVE", default=())


@contextmanager
def forbid(
    what: What,
    *,
    inside: Inside | None = None,
    level: Level = "disallow_explicit",
    direction: Direction | None = None,
    strict: bool = False,
) -> Iterator[None]:
    """Let nothing of one kind happen in this block, in this thread; also a decorator. The levels are those of JAX's transfer guard.

    Parameters
    ----------
    what : ``"host_sync"``, ``"transfer"``, ``"copy"`` or ``"dense_zeros"``
    inside : ``"pullback"`` looks only at what pullbacks do, ``"forward"`` only at everything else; None at all
    level : ``"disallow_explicit"`` stops all of it. ``"disallow"`` lets pass what a line asks for in so many words (``x.get()``,
        ``xp.asarray(host)``, ``stream.synchronize()``, ``x.copy()``) and stops the rest (``float(x)``, ``x[mask]``). ``"log_explicit"``
        and ``"log"`` write to the logger ``gradviz`` instead. ``"allow"`` lifts a guard around it: the innermost one decides
    direction : of transfers, only ``"host_to_device"``, ``"device_to_host"`` or ``"device_to_device"``; None for all
    strict : stop also the waits that libraries make by themselves. On a GPU the block is captured into a CUDA graph, in which none can
        be made, and run as one at its end; what CuPy cannot capture (cuBLAS, cuSOLVER) is refused as well

    Raises
    ------
    ForbiddenError
        it happened, and ``level`` disallows it

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> xp = gv.simulate("a100", fresh=True)
    >>> with gv.forbid("host_sync"):
    ...     float(np.sum(xp.ones(3)))
    Traceback (most recent call last):
    gradviz.errors.ForbiddenError: host_sync (float) is forbidden here, but the host waited for the device at ...
    """
    for name, value in (("what", what), ("inside", inside), ("level", level), ("direction", direction)):
        if value not in _KNOWN[name]:
            known = ", ".join(map(repr, _KNOWN[name]))
            raise GradvizError(f"forbid({name}={value!r}) is not known; {name} is one of {known}")
    if strict and what != "host_sync":
        raise GradvizError(f"forbid({what!r}, strict=True) means nothing: strict is about waits, what='host_sync'")
    active = ACTIVE.set((*ACTIVE.get(), Guard(what, inside, level, direction)))
    try:
        with ExitStack() as stack:
            if LISTENER.get() is None:
                stack.enter_context(listen(_Watch()))
            if strict:
                stack.enter_context(strictly(_stopped))
            yield
    finally:
        ACTIVE.reset(active)


def recorder_wanted() -> bool:
    """Whether a guard forbids something that only a recorder sees."""
    return any(guard.what in _BY_RECORDER for guard in ACTIVE.get())


def check(what: str, detail: str = "", explicit: bool = False, *, in_pullback: bool | None = None) -> None:
    """Tell the guards of this context that something is about to happen, or just did.

    Parameters
    ----------
    what : one of `FORBIDDEN`
    detail : which trigger, direction or reason
    explicit : a line asked for it in so many words
    in_pullback : whether a pullback runs; None to find out
    """
    active = ACTIVE.get()
    if not active or detail == "allocation":  # the driver's own wait, not the program's
        return
    inside = _inside(in_pullback)
    for guard in reversed(active):
        if guard.is_about(what, inside, detail):
            if guard.level != "allow" and (not explicit or guard.level.endswith("_explicit")):
                _speak(guard, detail, inside)
            return


def _inside(in_pullback: bool | None) -> str:
    return "pullback" if (_reversing() if in_pullback is None else in_pullback) else "forward"


def _reversing() -> bool:
    """Whether the reverse walk is among the calling frames; asked only when something happens that a guard is about."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "gradviz.engine.backward" and frame.f_code.co_name == "backward":
            return True
        frame = frame.f_back
    return False


def _speak(guard: Guard, detail: str, inside: str) -> None:
    happened, remedy = FORBIDDEN[guard.what]
    where = user_line()
    subject = f"{guard.what} ({detail.replace('_', ' ')})" if detail else guard.what
    place = (f" at {where}" if where else "") + (", in a pullback" if inside == "pullback" else "")
    text = f"{subject} is forbidden here, but {happened}{place}. {remedy}"
    if guard.level.startswith("disallow"):
        raise ForbiddenError(text)
    logging.getLogger("gradviz").warning(text)


def _stopped(why: str) -> ForbiddenError:
    """The error for what a captured stream refused."""
    where = user_line()
    happened, remedy = FORBIDDEN["host_sync"]
    return ForbiddenError(
        f"host_sync (strict) is forbidden here, but something{f' at {where}' if where else ''} cannot be captured: {why}. Either "
        f"{happened}, or a library was called that CuPy captures nothing of. {remedy}"
    )


class _Watch:
    """Listens to devices only for the guards' sake, where nobody records."""

    def place(self) -> int:
        return -1

    def kernel(
        self, name: str, stream: str, start_ns: int, end_ns: int, nbytes: int, place: int | None = None
    ) -> None: ...

    def sync(
        self,
        trigger: str,
        stream: str,
        start_ns: int,
        end_ns: int,
        nbytes: int,
        value: object,
        place: int | None = None,
    ) -> None:
        check("host_sync", trigger, trigger in EXPLICIT_WAITS)

    def compiled(self, name: str, start_ns: int, end_ns: int) -> None: ...

    def transfer(self, direction: str, reason: str, stream: str, start_ns: int, end_ns: int, nbytes: int) -> None:
        check("transfer", direction, reason == "explicit")

    def alloc(self, owner: object, nbytes: int, reserved_nbytes: int, from_pool: bool, time_ns: int) -> None: ...
