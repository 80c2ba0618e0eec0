"""Where the first NaN, infinity or denormal comes from: ``gv.profile(check=...)`` looks at each result, and stops at the first.

A result is to blame if it is bad and nothing that it was made from was. Of what a few events are made from the recorder is not told (of
additions of cotangents, of pullbacks that give several): they are blamed only while nothing bad has been seen at all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.errors import DenormalError, NotFiniteError
from gradviz.record.source import place_of

if TYPE_CHECKING:
    from gradviz.record.scribe import Scribe


class Births:
    """Stands between the engine and a scribe, and looks at what passes."""

    def __init__(self, scribe: Scribe, check: str) -> None:
        self.scribe, self.check = scribe, check
        self.seen = False  # something bad has been met, so that more may follow from it
        self.sites: dict[int, int] = {}  # forward call -> its line
        self.call_, self.leave_, self.accumulated_ = scribe.call, scribe.leave_pullback, scribe.accumulated
        self.wrote_, self.quick_ = scribe.wrote, scribe.quick
        scribe.call, scribe.leave_pullback, scribe.accumulated = self.call, self.leave, self.accumulated
        scribe.wrote, scribe.quick = self.wrote, self.quick
        self.between()

    def between(self) -> None:
        """Step between the engine and the scribe's writer of pullbacks, which is a new one when the clock changes."""
        self.pull_, self.scribe.pull = self.scribe.pull, self.pull

    # ---- what the engine calls

    def call(self, name: str, run: Any, values: Any, flags: int = 0, saves: int = 0) -> Any:
        out = self.call_(name, run, values, flags, saves)
        self.met(self.scribe.last, sys._getframe(1))
        of, arrow, _ = name.partition(" › tangent")
        self.look(f"the tangent of {of}" if arrow else name, self.scribe.last, values, out)
        return out

    def quick(
        self, tape: Any, variable: int, name: str, start_ns: int, end_ns: int, x: Any, y: Any, out: Any, how: int
    ) -> None:
        self.quick_(tape, variable, name, start_ns, end_ns, x, y, out, how)
        self.met(self.scribe.last, sys._getframe(1))
        self.look(name, self.scribe.last, (x, y), out)

    def wrote(
        self, tape: Any, variable: int, name: str, memory: Any, value: Any, nbytes: int, start_ns: int, end_ns: int
    ) -> None:
        self.wrote_(tape, variable, name, memory, value, nbytes, start_ns, end_ns)
        self.met(self.scribe.last, sys._getframe(1))
        if name == "setitem":
            self.seen = self.seen or self.is_bad(value)
        else:
            self.look_alone(name, self.scribe.last, memory)

    def pull(self, back: Any, ct: Any, record: Any, call: int, title: str, variable: int) -> Any:
        new = self.pull_(back, ct, record, call, title, variable)
        self.look(f"the pullback of {title.replace(' › ', ' with respect to ')}", call, (ct, record[2:]), new)
        return new

    def leave(self, entered: Any, name: str, new: Any) -> None:
        call = self.scribe.call_number
        self.leave_(entered, name, new)
        self.look_alone(
            f"the pullback of {name.replace(' › ', ' with respect to ')}", call, [value for _, value, *_ in new]
        )

    def accumulated(self, call: int, start_ns: int, target: Any, fresh: Any) -> None:
        self.accumulated_(call, start_ns, target, fresh)
        self.look_alone("adding up the cotangents of the result", call, target)

    # ---- looking

    def met(self, number: int, frame: Any) -> None:
        if self.scribe.call_number < 0:
            self.sites[number] = self.scribe.recording.lines.site(frame)

    def look(self, name: str, call: int, inputs: Any, out: Any) -> None:
        """Stop if ``out`` is bad and nothing among ``inputs`` is."""
        if not self.is_bad(out):
            return
        if self.is_bad(inputs):
            self.seen = True
            return
        self.blame(name, call, out)

    def look_alone(self, name: str, call: int, out: Any) -> None:
        """Stop if ``out`` is the first bad thing of all."""
        if not self.seen and self.is_bad(out):
            self.blame(name, call, out)

    def is_bad(self, value: Any) -> bool:
        return any(map(denormal if self.check == "denormals" else not_finite, numbers_in(value)))

    def blame(self, name: str, call: int, out: Any) -> None:
        self.seen = True
        backward = self.scribe.call_number >= 0 or "cotangents" in name or name.startswith("the pullback")
        where = self.place(call)
        place = (f" at {where}" if where else "") + (", in the backward pass" if backward else "")
        if self.check == "denormals":
            raise DenormalError(
                f"The first denormal number came from {name}{place}. Such numbers have lost digits, and many processors are slow on them: "
                f"scale the computation, or stop the gradient where it has vanished."
            )
        kind = "NaN" if any(np.isnan(part).any() for part in numbers_in(out)) else "infinity"
        made_of = "a finite cotangent and finite values" if backward else "finite numbers"
        raise NotFiniteError(
            f"The first {kind} came from {name}{place}: it was given {made_of}. Keep its argument where the function, and here its "
            f"slope, is finite: np.sqrt(np.where(x > 0, x, 1.0)) before the np.where that chooses, or a small constant added."
        )

    def place(self, call: int) -> str:
        site = self.sites.get(call, -1)
        if site < 0:
            return ""
        return place_of(*self.scribe.recording.lines.found[site])


def numbers_in(value: Any) -> Iterator[Any]:
    """The floating and complex numbers and host arrays of them in a value, in lists, and in the parts of an indexed cotangent."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "fc":
            yield value
    elif isinstance(value, (float, complex)):
        yield np.asarray(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, dict):
        yield from numbers_in(list(value.values()))
    elif hasattr(value, "parts"):
        yield from numbers_in([part for _, part in value.parts])


def not_finite(numbers: Any) -> bool:
    return not np.isfinite(numbers).all()


def denormal(numbers: Any) -> bool:
    if numbers.dtype.kind == "c":
        return denormal(np.real(numbers)) or denormal(np.imag(numbers))
    size = np.abs(numbers)
    return bool(np.any((size > 0) & (size < np.finfo(numbers.dtype).tiny)))
