"""One way through a function: its plan, and the conditions under which it holds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradviz.plan.answers  # noqa: F401 - gives captured values their operators
from gradviz.engine.array import Array, strip
from gradviz.errors import CaptureError
from gradviz.plan.capture import Capture
from gradviz.plan.captured import Captured, CapturedArray
from gradviz.plan.operation import guard
from gradviz.plan.plan import Plan
from gradviz.plan.randomness import Randomness
from gradviz.plan.references import Reference, References
from gradviz.plan.reroll import reroll
from gradviz.plan.signature import STATIC, is_input
from gradviz.plan.views import layout_of
from gradviz.record.current import unrecorded
from gradviz.transforms.trees import flatten, unflatten

ndarray = np.ndarray


class Traced(Exception):  # noqa: N818 - not an error: the function is run as it is
    """A function refers to an array of a derivative that is being taken."""


class Path:
    """A plan for some answers that Python got, and for some values that the function refers to.

    Attributes
    ----------
    raw, program : what was captured, before and after loops were found in it
    plan : what is run
    unchanged : says whether what the function refers to is what it was
    arrays : gives the arrays it refers to by name, as they are now
    live : arrays it met that outlive the call, though no name for them was found
    structure, count : how the first ``count`` outputs make the result
    written : (position of an input, of the output that is to be written into it)
    overwritten : positions of the inputs that are written into or donated
    reads : (line, kind, answer) for each look that Python took at a value
    everything, positions : whether all arguments of a call without containers are inputs, and which are
    plain, steady : nothing is overwritten; nothing is referred to that could change
    """

    def __init__(self, f: Callable[..., Any], leaves: list[Any], structure: Any, donated: frozenset[int]) -> None:
        held = [leaf for leaf in leaves if not is_input(leaf) and not isinstance(leaf, STATIC)]
        self.references = References((f, *held))
        if self.references.traced:
            raise Traced
        with collecting_later(), unrecorded():
            self._capture(f, leaves, structure)
            self.program = reroll(self.raw)
        self.unchanged, self.arrays = self.references.unchanged(), self.references.current()
        self.names = [f"{r.name}, which it refers to" for r in self.references.arrays]
        self.overwritten = {source for source, _ in self.written} | donated
        self.plain = not self.overwritten
        self.steady = not self.references.numbers and not self.references.arrays
        self.positions = [k for k, leaf in enumerate(leaves) if is_input(leaf)]
        self.everything = len(self.positions) == len(leaves)
        self.wrap = wrapper(self.structure)
        given = [leaves[k] for k in self.positions] + self.outside()
        self.plan = Plan(self.program, donated, self.written, [layout_of(value) for value in given])

    def _capture(self, f: Callable[..., Any], leaves: list[Any], structure: Any) -> None:
        run = Capture()
        traced = [run.input(leaf) if is_input(leaf) else leaf for leaf in leaves]
        for found in self.references.arrays:
            run.refer(found.value)
        randomness = Randomness(self.references)
        args, kwargs = unflatten(structure, list(traced))
        result = f(*args, **kwargs)
        outs, self.structure = flatten(result)
        self.count = len(outs)
        written = [x for x in traced if isinstance(x, CapturedArray) and x.version]
        numbers = tuple([output_number(run, out) for out in (*outs, *written)])
        randomness.check()
        self.written = tuple((position(x, run.inputs), self.count + k) for k, x in enumerate(written))
        del result, outs, args, kwargs
        changed = run.constants.changed()
        if changed is not None:
            site = run.constants.sites[changed]
            raise CaptureError(
                f"the function writes into an array that it does not get as an argument{f', at {run.line(site)}' if site >= 0 else ''}: "
                f"a plan would not repeat that. Pass the array as an argument and return it."
            )
        self.raw, self.live = run.program(numbers)
        self.reads = tuple(
            (run.line(made.site) if made.site >= 0 else "a line that is not yours", *made.args[1:])
            for made in (self.raw.operations[code] for code in self.raw.rows.codes.tolist())
            if made.function is guard
        ) if any(made.function is guard for made in self.raw.operations) else ()  # fmt: skip
        self.held = [
            (run.line(site) if site >= 0 else "", self.raw.constants[-1 - number])
            for number, site in run.constants.sites.items()
            if self.raw.constants[-1 - number] is not None
        ]
        self.lines = run
        run.close()

    def outside(self) -> list[Any]:
        """The arrays that the function refers to, as they are now."""
        return self.arrays() + self.live

    def run(self, values: Sequence[Any]) -> Any:
        """The result for some inputs."""
        return self.wrap(self.plan.run(values if self.steady and not self.live else [*values, *self.arrays(), *self.live]))

    def changed(self) -> list[Reference]:
        """What the function refers to that is not what it was."""
        return self.references.changed()

    def constants(self) -> list[str]:
        """The arrays that are no arguments, a line for each: what they are called, and how they are kept."""
        lines = [f"{r.name}: {kind(r.value)}, read anew at each call" for r in self.references.arrays]
        lines += [f"an array that outlives the call: {kind(a)}, read anew at each call" for a in self.live]
        return lines + [f"made at {line or 'a line that is not yours'}: {kind(a)}, kept" for line, a in self.held]


def position(one: Any, among: Sequence[Any]) -> int:
    """Where an object stands; captured arrays must not be compared."""
    return next(k for k, other in enumerate(among) if other is one)


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
    if isinstance(out, (ndarray, np.generic, float, complex)) or isinstance(out, STATIC):
        return run.constant(out)
    if isinstance(out, Array):
        raise Traced
    raise CaptureError(
        f"the function returned a {type(out).__name__}, in which a plan cannot tell values from facts. Return arrays and numbers, in dicts, "
        f"lists, tuples or dataclasses."
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
