"""One way through a function: its plan, and the conditions under which it holds."""

from __future__ import annotations

import gc
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter_ns
from types import CodeType
from typing import Any

import numpy as np

import gradviz.plan.capture.answers  # noqa: F401 - gives captured values their operators
from gradviz.engine.array import Array, strip
from gradviz.engine.constants import LISTENERS
from gradviz.errors import CaptureError
from gradviz.plan.capture.by_shape import ByShape, is_large
from gradviz.plan.capture.capture import Capture
from gradviz.plan.capture.captured import Captured, CapturedArray
from gradviz.plan.capture.constants import memory, part_of, same
from gradviz.plan.capture.devices import on_device, one_device, stand_in
from gradviz.plan.capture.overlap import address
from gradviz.plan.capture.randomness import Randomness
from gradviz.plan.capture.references import References
from gradviz.plan.capture.signature import STATIC, is_input
from gradviz.plan.disk.names import Damaged, Unnamed
from gradviz.plan.disk.shelf import Shelf
from gradviz.plan.disk.text import Kept
from gradviz.plan.disk.tree import structure_of, told_structure
from gradviz.plan.fuse.views import layout_of
from gradviz.plan.plan import Plan
from gradviz.plan.program.operation import guard, meta_of
from gradviz.plan.reroll.reroll import reroll
from gradviz.record.current import unrecorded
from gradviz.record.source import Lines, place_of
from gradviz.transforms.trees import flatten, unflatten

ndarray = np.ndarray


class Traced(Exception):  # noqa: N818 - not an error: the function is run as it is
    """A function refers to an array of a derivative that is being taken."""


class Path:
    """A plan for some answers that Python got, and for some values that the function refers to.

    Attributes
    ----------
    raw, program : what was captured, before and after loops were found in it; both the latter if it comes from disk
    plan : what is run
    read : gives the arrays that the function refers to by name, as they are now; None if it refers to anything else that has changed
    live : arrays it met that outlive the call: views of those, and some that no name was found for
    held : copies of what the former held, where something may have been computed of it that is kept
    structure, count : how the first ``count`` outputs make the result
    written : (position of an input, of the output that is to be written into it)
    overwritten : positions of the inputs that are written into or donated
    looks : (site, kind, answer) for each look that Python took at a value
    met : (site, number of a constant) for each array that was met and is kept
    inputs : picks those of the leaves of the arguments that are no fixed ones
    plain, steady : nothing is overwritten; nothing is referred to that could change
    calls : how many calls were captured
    origin : where the program comes from, and what that took
    """

    def __init__(
        self,
        f: Callable[..., Any],
        leaves: list[Any],
        structure: Any,
        donated: frozenset[int],
        kept: Kept | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        start_ns = perf_counter_ns()
        held = [leaf for leaf in leaves if not is_input(leaf) and not isinstance(leaf, STATIC)]
        self.references = References((f, *held))
        if self.references.traced:
            raise Traced
        if kept is None or shelf is None:
            with collecting_later(), unrecorded():
                self._capture(f, leaves, structure)
                self.program = reroll(self.raw)
            self.origin = "captured"
        else:
            self._take(kept, shelf)
            self.origin = "read from disk"
        self.read = self.references.reader()
        self.names = [f"{r.name}, which it refers to" for r in self.references.arrays]
        self.overwritten = {source for source, _ in self.written} | donated
        self.plain = not self.overwritten
        self.steady = not (self.references.numbers or self.references.arrays or self.live)
        positions = [k for k, leaf in enumerate(leaves) if is_input(leaf)]
        self.inputs = (
            (lambda values: values)
            if len(positions) == len(leaves)
            else (lambda values: [values[k] for k in positions])
        )
        self.wrap = wrapper(self.structure)
        self.donated = donated
        given = [leaves[k] for k in positions] + self.outside_at_first()
        if kept is not None and [meta_of(value) for value in given] != list(self.program.inputs):
            raise Damaged("it is a program for other arguments")
        names = [*["an argument"] * len(positions), *self.names, *["an array that outlives the call"] * len(self.live)]
        arrays = [(name, value) for name, value in zip(names, given, strict=False) if hasattr(value, "strides")]
        device = one_device([(name, value) for name, value in arrays if not isinstance(value, np.generic)])
        layouts = [layout_of(value) for value in given]
        compared = [r.name for r in self.references.arrays] if self.held else []
        self.origin += f" in {(perf_counter_ns() - start_ns) / 1e6:.3g} ms"
        start_ns = perf_counter_ns()
        with collecting_later():
            self.plan = Plan(
                self.program, donated, self.written, layouts, self.calls, self.lines.found, device, compared
            )
        self.origin += f", made ready in {(perf_counter_ns() - start_ns) / 1e6:.3g} ms"

    def _capture(self, f: Callable[..., Any], leaves: list[Any], structure: Any) -> None:
        large = any(map(is_large, (*leaves, *(r.value for r in self.references.arrays))))
        run = ByShape() if large else Capture()
        traced = [run.input(leaf) if is_input(leaf) else leaf for leaf in leaves]
        for found in self.references.arrays:
            run.refer(found.value)
        sums = {r.name: checksum(r.value) for r in self.references.arrays}
        randomness = Randomness(self.references)
        self.callers = set(codes_on_the_stack())
        args, kwargs = unflatten(structure, list(traced))
        LISTENERS.append(run.copied)
        try:
            with np.errstate(all="ignore") if large else nullcontext():
                result = f(*args, **kwargs)
        finally:
            LISTENERS.remove(run.copied)
        outs, self.structure = flatten(result)
        self.count = len(outs)
        written = [(k, x) for k, x in enumerate(run.inputs) if isinstance(x, CapturedArray) and x.version]
        numbers = tuple([output_number(run, out) for out in (*outs, *(x for _, x in written))])
        randomness.check()
        self.written = tuple((source, self.count + k) for k, (source, _) in enumerate(written))
        del result, outs, args, kwargs
        run.copies.clear()
        if any(sums.get(r.name) != checksum(r.value) for r in self.references.arrays) or run.constants.changed() >= 0:
            names = [r.name for r in self.references.arrays if sums.get(r.name) != checksum(r.value)]
            site = run.constants.changed()
            which = ", ".join(names) or f"an array, met at {run.line(site)}"
            raise CaptureError(
                f"the function writes into {which}, which it does not get as an argument: a plan would not repeat that. Pass it as an "
                f"argument and return it."
            )
        arrays = [r.value for r in self.references.arrays]
        self.raw, alive = run.program(numbers)
        self.calls = len(self.raw.rows)
        self.live = [Live(a.array, a.owner, arrays) for a in alive]
        self.held = [a.copy(order="K") for a in arrays] if run.constants.derived() else []
        self.looks = tuple(
            (made.site, made.args[1], made.args[2])
            for made in (self.raw.operations[code] for code in self.raw.rows.codes.tolist())
            if made.function is guard
        ) if any(made.function is guard for made in self.raw.operations) else ()  # fmt: skip
        self.met = tuple(
            (met.site, number)
            for number, met in run.constants.met.items()
            if self.raw.constants[-1 - number] is not None
        )
        self.lines = run.lines
        run.close()

    def _take(self, kept: Kept, shelf: Shelf) -> None:
        """What a run in another process has left, in the place of a capture."""
        self.raw = self.program = kept.program
        self.structure, self.count = structure_of(kept.result, shelf.classes), kept.count
        if self.structure is not None and self.structure.num_leaves != kept.count:
            raise Damaged("it has another number of results")
        self.written, self.calls = kept.written, kept.calls
        self.live, self.looks, self.met = [], kept.reads, kept.arrays
        self.held = [r.value.copy(order="K") for r in self.references.arrays] if kept.derived else []
        self.lines = Lines()
        self.lines.found = [(shelf.codes[place[0]], place[1]) if place else NOWHERE for place in kept.sites]

    def to_keep(self, shelf: Shelf) -> Kept:
        """What another process needs to know of the run. Raises `Unnamed` where it would not be enough."""
        if self.live:
            raise Unnamed("it reads an array that no name leads to")
        numbers = {id(code): n for n, code in enumerate(shelf.codes)}
        for code, _ in self.lines.found:
            if id(code) not in numbers and code not in self.callers:
                raise Unnamed(f"it runs {code.co_qualname}, which no name leads to")
        sites = tuple((numbers[id(code)], at) if id(code) in numbers else None for code, at in self.lines.found)
        result = told_structure(self.structure, self.count, shelf.classes)
        return Kept(
            self.program, result, self.count, self.written, self.looks, self.met, sites, self.calls, bool(self.held)
        )  # fmt: skip

    def line(self, site: int) -> str:
        """``file:line`` of a site."""
        return place_of(*self.lines.found[site])

    @property
    def reads(self) -> tuple[tuple[str, str, Any], ...]:
        """(line, kind, answer) for each look that Python took at a value."""
        return tuple(
            (self.line(site) if site >= 0 else "a line that is not yours", kind, answer)
            for site, kind, answer in self.looks
        )

    def outside(self) -> list[Any] | None:
        """The arrays that the plan reads besides the arguments, as they are now; None if it does not hold any more."""
        arrays = self.read()
        if arrays is None or (self.held and not all(map(same, self.held, arrays))):
            return None
        if not self.live:
            return arrays
        views = [live.now(arrays) for live in self.live]
        return None if any(view is None for view in views) else [*arrays, *views]

    def outside_at_first(self) -> list[Any]:
        """The same as they were during the capture, also for a function that changes what it refers to."""
        return [*(r.value for r in self.references.arrays), *(live.array for live in self.live)]

    def run(self, values: Sequence[Any]) -> Any:
        """The result for some inputs, those from outside included."""
        return self.wrap(self.plan.run(values))

    def changed(self) -> list[str]:
        """What the function refers to that is not what it was."""
        changed = [r.name for r in self.references.changed()]
        arrays = self.read()
        if arrays is not None and self.held:
            pairs = zip(self.references.arrays, self.held, arrays, strict=True)
            changed += [r.name for r, held, now in pairs if not same(held, now)]
        return changed

    def constants(self) -> list[str]:
        """The arrays that are no arguments, a line for each: what they are called, and how they are kept."""
        lines = [f"{r.name}: {kind(r.value)}, read anew at each call" for r in self.references.arrays]
        lines += [f"an array that outlives the call: {kind(a.array)}, read anew at each call" for a in self.live]
        for site, number in self.met:
            where = self.line(site) if site >= 0 else "a line that is not yours"
            lines.append(f"made at {where}: {kind(self.program.constants[-1 - number])}, kept")
        return lines


NOWHERE: Any = None  # the line of a call that the caller's line is behind, which is another in each process


def codes_on_the_stack() -> Iterator[CodeType]:
    """The code of all functions that are being called."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


class Live:
    """An array that outlives the call. If it is a view of one that the function refers to, it is taken anew when that is another."""

    def __init__(self, array: ndarray, owner: ndarray, arrays: list[ndarray]) -> None:
        self.array = array
        self.source = next((k for k, a in enumerate(arrays) if memory(a) is owner), -1)
        self.seen = arrays[self.source] if self.source >= 0 else owner
        self.offset = address(array) - address(self.seen) if type(array) is ndarray else 0

    def now(self, arrays: list[ndarray]) -> ndarray | None:
        """The array as it is now; None for a view on a device of one that is another by now."""
        if self.source >= 0 and arrays[self.source] is not self.seen:
            if type(self.array) is not ndarray:
                return None
            self.seen = arrays[self.source]
            self.array = part_of(self.seen, address(self.seen) + self.offset, self.array, self.array.strides)
        return self.array


def checksum(array: ndarray) -> int:
    """Tells whether an array was written into."""
    array = stand_in(array) if on_device(array) else array
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0


def kind(array: ndarray) -> str:
    return f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"


def wrapper(structure: Any) -> Callable[[list[Any]], Any]:
    """What makes the result of the outputs; the shortest way for the commonest structures."""
    if structure is None or structure.is_leaf():
        return lambda outs: outs[0]
    if structure.type is tuple and all(child.is_leaf() for child in structure.children()):
        return tuple
    return lambda outs: unflatten(structure, outs)


def output_number(run: Capture, out: Any) -> int:
    """The number of one leaf of the result."""
    if isinstance(out, Array) and out.tape is None:
        out = strip(out, 0)
    if isinstance(out, Captured):
        return out.number
    if isinstance(out, (ndarray, np.generic, float, complex, *STATIC)):
        return run.constant(out)
    if on_device(out):
        return run.of_device(out).number
    if isinstance(out, Array):
        raise Traced
    raise CaptureError(
        f"the function returned a {type(out).__name__}, in which a plan cannot tell values from facts. Return arrays and numbers, in "
        f"dicts, lists, tuples or dataclasses."
    )


@contextmanager
def collecting_later() -> Iterator[None]:
    """Captured values are many and make no cycles: Python need not look for them again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
