"""`gv.compile`: a function that is captured at its first call and replayed from then on."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradviz.plan.answers  # noqa: F401 - gives captured values their operators
from gradviz.engine.array import Array, strip
from gradviz.errors import CaptureError, CompileWarning, DonationError
from gradviz.plan.capture import Capture
from gradviz.plan.captured import CAPTURED, Captured, CapturedArray
from gradviz.plan.overlap import overlapping
from gradviz.plan.plan import Plan
from gradviz.plan.program import Mismatch, Program
from gradviz.plan.randomness import Randomness
from gradviz.plan.references import References
from gradviz.plan.reroll import reroll
from gradviz.plan.signature import STATIC, check, is_input, kind_of
from gradviz.plan.views import layout_of
from gradviz.record.current import unrecorded
from gradviz.transforms.trees import flatten, paths, unflatten

ndarray = np.ndarray
MOST_PATHS = 16  # plans for one signature: for the answers that Python got where it looked at values


class Traced(Exception):  # noqa: N818 - not an error: the function is run as it is
    """A function refers to an array of a derivative that is being taken."""


class Path:
    """One plan of a signature: for some answers that Python got, and some values that the function referred to.

    Attributes
    ----------
    plan : what is run
    program : what was captured, before loops were found in it
    unchanged : whether what the function refers to is what it was
    outside : the arrays it refers to, as they are now
    structure : how the outputs make the result
    written : (position of an input, of the output that is written into it)
    constants : what each array in it is called
    """

    def __init__(self, f: Callable[..., Any], leaves: list[Any], structure: Any, donated: frozenset[int]) -> None:
        held = [leaf for leaf in leaves if not is_input(leaf) and not isinstance(leaf, STATIC)]
        references = References((f, *held))
        if references.traced:
            raise Traced
        run = Capture()
        traced = [run.input(leaf) if is_input(leaf) else leaf for leaf in leaves]
        for found in references.arrays:
            run.refer(found.value)
        args, kwargs = unflatten(structure, traced)
        randomness = Randomness(references)
        with unrecorded():
            result = f(*args, **kwargs)
            outs, self.structure = flatten(result)
            outs = [strip(out, 0) if type(out) is Array and out.tape is None else out for out in outs]
            count = len(outs)
            arguments = [x for x in traced if isinstance(x, CapturedArray)]
            written = [x for x in arguments if x.version]
            outs += written
            randomness.check(run)
            numbers = tuple([output_number(run, out) for out in outs])
        del result, args, kwargs
        self.written = tuple((position(x, run.inputs), count + k) for k, x in enumerate(written))
        self.count = count
        changed = run.constants.changed()
        if changed is not None:
            site = run.constants.sites[changed]
            raise CaptureError(
                f"the function writes into an array that it does not get as an argument{f', at {run.line(site)}' if site >= 0 else ''}: "
                f"a plan would not repeat that. Pass the array as an argument and return it."
            )
        self.raw, live = run.program(numbers)
        run.close()
        self.unchanged = references.unchanged()
        self.arrays = references.current()
        self.live = live
        self.names = [r.name for r in references.arrays]
        self.sites = [run.line(site) for site in run.constants.sites.values() if site >= 0]
        self.program = reroll(self.raw)
        given = [leaf for leaf in leaves if is_input(leaf)] + self.outside()
        self.plan = Plan(self.program, donated, self.written, [layout_of(value) for value in given])

    def outside(self) -> list[Any]:
        """The arrays that the function refers to, as they are now."""
        return self.arrays() + self.live

    def run(self, values: list[Any]) -> Any:
        """The result for some inputs."""
        return unflatten(self.structure, self.plan.run(values + self.outside()))


def position(one: Any, among: Sequence[Any]) -> int:
    """Where an object stands; captured arrays must not be compared."""
    return next(k for k, other in enumerate(among) if other is one)


def output_number(run: Capture, out: Any) -> int:
    """The number of one leaf of the result."""
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


class Compiled:
    """A function that is captured and replayed. See `compile`."""

    def __init__(self, f: Callable[..., Any], donate: Sequence[str | int]) -> None:
        functools.update_wrapper(self, f, updated=())
        self.__wrapped__ = f
        self.donate = donate
        self.plans: dict[Any, list[Path]] = {}
        self.warned: set[Any] = set()
        self.name = ""
        self.held: list[Any] = []  # arguments known by their identity

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: compiled for each object."""
        if instance is None:
            return self
        kept = vars(instance)
        key = f"_compiled_{self.name}"
        if key not in kept:
            kept[key] = Compiled(types.MethodType(self.__wrapped__, instance), self.donate)
        return kept[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if any(type(leaf) in TRACED for leaf in leaves):
            leaves = [strip(leaf, 0) if type(leaf) is Array and leaf.tape is None else leaf for leaf in leaves]
            if any(isinstance(leaf, (Array, Captured)) for leaf in leaves):
                return self.__wrapped__(*args, **kwargs)
        key = (structure, tuple([kind_of(leaf) for leaf in leaves]))
        values = [leaf for leaf in leaves if is_input(leaf)]
        found = self.plans.get(key)
        if found is None:
            self._check(leaves, args, kwargs)
            found = self.plans[key] = []
        for path in found:
            if path.unchanged():
                self._apart(path, leaves, args, kwargs)
                try:
                    return path.run(values)
                except Mismatch:
                    continue
        if len(found) >= MOST_PATHS:
            return self._uncompiled(key, found, args, kwargs)
        try:
            path = Path(self.__wrapped__, leaves, structure, self._donated(args, kwargs))
        except Traced:
            return self.__wrapped__(*args, **kwargs)
        self._apart(path, leaves, args, kwargs)
        found.insert(0, path)
        return path.run(values)

    def _check(self, leaves: list[Any], args: Any, kwargs: Any) -> None:
        for leaf, path in zip(leaves, paths((args, kwargs)), strict=True):
            check(leaf, f"argument{path} of {self.__wrapped__.__name__}")
            if not is_input(leaf) and not isinstance(leaf, STATIC):
                self.held.append(leaf)

    def _uncompiled(self, key: Any, found: list[Path], args: Any, kwargs: Any) -> Any:
        if key not in self.warned:
            self.warned.add(key)
            warnings.warn(
                f"{getattr(self, '__name__', 'a function')} has taken {MOST_PATHS} different ways for arguments of the same kinds, and runs "
                f"uncompiled from now on for those: {why(found)}",
                CompileWarning,
                stacklevel=3,
            )
        return self.__wrapped__(*args, **kwargs)

    # ---- donation

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
        """The positions, among the inputs, of those that may be overwritten."""
        if not self.donate:
            return frozenset()
        names = list(inspect.signature(self.__wrapped__).parameters)
        wanted = {names[d] if isinstance(d, int) else d for d in self.donate}
        if not wanted <= set(names):
            raise DonationError(f"donate names {sorted(wanted - set(names))}, which {self.__wrapped__.__name__} has not")
        bound = inspect.signature(self.__wrapped__).bind(*args, **kwargs).arguments
        donated: list[int] = []
        at = 0
        for name, value in [*zip(names, args, strict=False), *sorted(kwargs.items())]:
            count = sum(map(is_input, flatten(value)[0]))
            donated += range(at, at + count) if name in wanted and name in bound else ()
            at += count
        return frozenset(donated)

    def _apart(self, path: Path, leaves: list[Any], args: Any, kwargs: Any) -> None:
        """Nothing may share memory with what is going to be overwritten."""
        if not path.written and not path.plan.donated:
            return
        values = [leaf for leaf in leaves if is_input(leaf)] + path.outside()
        names = [p for leaf, p in zip(leaves, paths((args, kwargs)), strict=True) if is_input(leaf)] + path.names
        found = overlapping(values, {source for source, _ in path.written} | path.plan.donated)
        if found is not None:
            a, b = found
            raise DonationError(
                f"argument{names[a]} of {self.__wrapped__.__name__} is overwritten, and shares memory with {names[b]}. Pass a copy of one of them."
            )

    # ---- looking at it

    def path(self, *args: Any, **kwargs: Any) -> Path:
        """The plan that was run last for such arguments; made by a call if there is none yet."""
        leaves, structure = flatten((args, kwargs))
        key = (structure, tuple([kind_of(leaf) for leaf in leaves]))
        if not self.plans.get(key):
            self._check(leaves, args, kwargs)
            self.plans[key] = [Path(self.__wrapped__, leaves, structure, self._donated(args, kwargs))]
        return self.plans[key][0]

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """What is run for such arguments, as a program. It prints as a listing."""
        return self.path(*args, **kwargs).program

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """The steps of the plan for such arguments."""
        return self.path(*args, **kwargs).plan.explain()  # type: ignore[attr-defined]

    def memory(self, *args: Any, **kwargs: Any) -> Any:
        """What the plan for such arguments will hold in memory."""
        return self.path(*args, **kwargs).plan.memory()  # type: ignore[attr-defined]


TRACED = CAPTURED  # a live set: classes of captured numbers are made as they are met


def why(found: list[Path]) -> str:
    """What made a function go so many ways."""
    return ""


def compile(f: Any = None, *, donate: str | Sequence[str | int] = ()) -> Any:  # noqa: A001 - as torch and re say it
    """Make a function run as a plan.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gradient = gv.compile(gv.grad(lambda x: np.sum(x**2)))
    >>> gradient(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    names = (donate,) if isinstance(donate, (str, int)) else tuple(donate)
    if f is None:
        return lambda f: Compiled(f, names)
    return Compiled(f, names)
