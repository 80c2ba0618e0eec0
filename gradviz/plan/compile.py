"""`gv.compile`: a function that is captured at its first call and replayed from then on."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from gradviz.engine.array import Array, strip
from gradviz.errors import CompileWarning, DonationError
from gradviz.plan.capture.captured import Captured
from gradviz.plan.capture.overlap import overlapping
from gradviz.plan.capture.signature import STATIC, check, is_input, kind_of
from gradviz.plan.disk.names import Damaged
from gradviz.plan.disk.shelf import Shelf
from gradviz.plan.explain import Explanation, Memory
from gradviz.plan.path import Path, Traced
from gradviz.plan.program.program import Mismatch, Program
from gradviz.plan.run.entry import Entrance
from gradviz.transforms.trees import flatten, paths

ndarray = np.ndarray
MOST_PATHS = 16  # plans for one signature: for the answers that Python got where it looked at values


@overload
def compile(f: Callable[..., Any], *, donate: str | int | Sequence[str | int] = ()) -> Compiled: ...  # noqa: A001
@overload
def compile(*, donate: str | int | Sequence[str | int] = ()) -> Callable[[Callable[..., Any]], Compiled]: ...  # noqa: A001
def compile(f: Any = None, *, donate: str | int | Sequence[str | int] = ()) -> Any:  # noqa: A001 - as torch and re say it
    """A function that runs as a plan: captured at its first call, replayed from then on.

    What it computes with NumPy is captured, gradients inside it included, loops of Python's are found again, and the plan is run
    instead. ``gv.compile(gv.grad(loss))`` gives the gradient that ``gv.grad(loss)`` gives.

    Parameters
    ----------
    f : the function. Arrays, floats and complex numbers among its arguments, in dicts, lists, tuples and dataclasses too, are inputs of the
        plan. Integers, bools, strings and None are fixed: another value makes another plan, as do other shapes, dtypes and layouts.
        Where Python looks at a value (``if x > 0``, ``int(x)``, ``range(n)``), another answer makes another plan, up to 16 for one
        kind of arguments. What it refers to, such as globals, is noticed when it changes.
    donate : names or positions of parameters whose arrays may be overwritten, so that results need no memory of their own

    Returns
    -------
    A function of the same arguments and results, which also has ``explain(*args)``, ``memory(*args)`` and ``program(*args)``. Results
    share memory neither with arguments nor with each other, except with donated arguments. Arguments that ``f`` writes into are written
    into. Called with traced arrays, inside another derivative or compiled function, it runs as it is.

    Raises
    ------
    CaptureError : the function reads a number (``float(x)``, ``x.item()``), draws random ones, or returns what is no array
    DonationError : a donated argument shares memory with another

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gradient = gv.compile(gv.grad(lambda x: np.sum(x**2)))
    >>> gradient(np.array([1.0, 2.0]))
    array([2., 4.])

    >>> @gv.compile(donate="x")
    ... def step(x, slope, rate):
    ...     return x - rate * slope
    >>> step(np.array([1.0, 2.0]), np.array([8.0, 8.0]), 0.125)
    array([0., 1.])
    """
    names = (donate,) if isinstance(donate, (str, int)) else tuple(donate)
    if f is None:
        return lambda f: Compiled(f, names)
    return Compiled(f, names)


class Compiled(Entrance):
    """A function that is captured and replayed. See `compile`.

    Attributes
    ----------
    plans : for each signature (structure and kinds of the arguments) the paths that were taken, the latest first
    """

    def __init__(self, f: Callable[..., Any], donate: tuple[str | int, ...]) -> None:
        super().__init__()
        functools.update_wrapper(self, f, updated=())
        self.__wrapped__ = f
        self.donate = donate
        self.plans: dict[Any, list[Path]] = {}
        self._held: list[Any] = []  # arguments known by their identity, which must not be given away
        self._warned: set[Any] = set()
        self._taken: set[str] = set()  # names of the programs on disk that are among the plans, or were of no use
        self._name = getattr(f, "__name__", "a function")

    def __repr__(self) -> str:
        return f"<compiled {self._name}, {sum(map(len, self.plans.values()))} plans>"

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: compiled for each object."""
        if instance is None:
            return self
        key = f"_compiled_{self._name}"
        if key not in vars(instance):
            vars(instance)[key] = Compiled(types.MethodType(self.__wrapped__, instance), self.donate)
        return vars(instance)[key]

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call whatever its arguments."""
        leaves, structure = flatten((args, kwargs))
        leaves = [strip(leaf, 0) if type(leaf) is Array and leaf.tape is None else leaf for leaf in leaves]
        if any(isinstance(leaf, (Array, Captured)) for leaf in leaves):
            return self.__wrapped__(*args, **kwargs)
        key = self._key(leaves, structure)
        if key not in self.plans:
            self._check(leaves, args, kwargs)
        found = self.plans.setdefault(key, [])
        values = [leaf for leaf in leaves if is_input(leaf)]
        for path in list(found):
            outside = path.outside()
            if outside is None:
                continue
            everything = [*values, *outside]
            self._apart(path, everything, leaves, args, kwargs)
            try:
                result = path.run(everything)
            except Mismatch:
                continue
            found.remove(path)
            found.insert(0, path)
            self.remember(path, args, kwargs, leaves, structure)
            return result
        self._count(structure, leaves, args, kwargs)
        if len(found) >= MOST_PATHS:
            return self._uncompiled(key, found, args, kwargs)
        try:
            for path in self._made(leaves, structure, args, kwargs):
                everything = [*values, *path.outside_at_first()]
                self._apart(path, everything, leaves, args, kwargs)
                found.insert(0, path)
                try:
                    result = path.run(everything)
                except Mismatch:  # from disk, and for other answers
                    continue
                self.remember(path, args, kwargs, leaves, structure)
                return result
        except Traced:
            pass
        return self.__wrapped__(*args, **kwargs)

    def _key(self, leaves: list[Any], structure: Any) -> Any:
        return structure, tuple([kind_of(leaf) for leaf in leaves])

    def _check(self, leaves: list[Any], args: Any, kwargs: Any) -> None:
        """Refuse arguments that can be neither inputs nor fixed, and hold on to those that are known by identity."""
        for k, leaf in enumerate(leaves):
            check(leaf, lambda k=k: self._names(args, kwargs)[k])
            if not is_input(leaf) and not isinstance(leaf, STATIC):
                self._held.append(leaf)

    def _names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """What messages call the leaves of the arguments: ``argument 'params'['w'] of step``."""
        try:
            parameters = list(inspect.signature(self.__wrapped__).parameters)
        except (TypeError, ValueError):
            parameters = []
        names = []
        for k, arg in enumerate(args):
            name = repr(parameters[k]) if k < len(parameters) else str(k)
            names += [f"argument {name}{path} of {self._name}" for path in paths(arg)]
        for key, arg in sorted(kwargs.items()):
            names += [f"argument {key!r}{path} of {self._name}" for path in paths(arg)]
        return names

    def _uncompiled(self, key: Any, found: list[Path], args: Any, kwargs: Any) -> Any:
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(
                f"{self._name} has taken {MOST_PATHS} different ways for arguments of the same kinds and runs uncompiled for those from "
                f"now on: {why(found)}",
                CompileWarning,
                stacklevel=4,
            )
        return self.__wrapped__(*args, **kwargs)

    def _count(self, structure: Any, leaves: list[Any], args: Any, kwargs: Any) -> None:
        """Warn if an argument that is fixed is another at each call."""
        alike = [kinds for other, kinds in self.plans if other == structure]
        if len(alike) <= MOST_PATHS or structure in self._warned:
            return
        values = [{kinds[k] for kinds in alike} for k in range(len(leaves))]
        k = max(range(len(leaves)), key=lambda k: len(values[k]))
        if len(values[k]) > MOST_PATHS:
            self._warned.add(structure)
            say = "Pass it as a float" if isinstance(leaves[k], int) else "Pass arguments of fewer kinds"
            warnings.warn(
                f"{self._names(args, kwargs)[k]} was of {len(values[k])} kinds or values, and each takes a plan of its own. {say}, or "
                f"leave the function uncompiled.",
                CompileWarning,
                stacklevel=4,
            )

    # ---- what is overwritten

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
        """The positions, among the inputs, of those that may be overwritten."""
        if not self.donate:
            return frozenset()
        names = list(inspect.signature(self.__wrapped__).parameters)
        wanted = {names[d] if isinstance(d, int) and -len(names) <= d < len(names) else d for d in self.donate}
        if not wanted <= set(names):
            unknown = ", ".join(repr(d) for d in sorted(map(str, wanted - set(names))))
            raise DonationError(f"donate= names {unknown}, and {self._name} has the parameters {', '.join(names)}")
        donated: list[int] = []
        at = 0
        for name, value in [*zip(names, args, strict=False), *sorted(kwargs.items())]:
            count = sum(map(is_input, flatten(value)[0]))
            if name in wanted:
                donated += range(at, at + count)
            at += count
        return frozenset(donated)

    def _made(self, leaves: list[Any], structure: Any, args: Any, kwargs: Any) -> Iterator[Path]:
        """Plans for such arguments: those that are on disk and not known yet, then one that is captured."""
        about = self.__wrapped__, leaves, structure, self._donated(args, kwargs)
        shelf = Shelf(*about)
        for kept in shelf.programs(self._taken):
            try:
                yield self._used(Path(*about, kept, shelf), leaves, args, kwargs)
            except Damaged:
                continue
        path = self._used(Path(*about), leaves, args, kwargs)
        path.origin += f", {shelf.keep(path.calls, path.to_keep, self._taken)}"
        yield path

    def _used(self, path: Path, leaves: list[Any], args: Any, kwargs: Any) -> Path:
        """A plan that has a use for all memory that is given to it."""
        for n in sorted(path.plan.donated):
            reason = path.plan.placement.unused(n)
            if reason is not None:
                names = [name for leaf, name in zip(leaves, self._names(args, kwargs), strict=True) if is_input(leaf)]
                raise DonationError(
                    f"{names[n]} is donated, and its memory is of no use: {reason}. Leave it out of donate=."
                )
        return path

    def _apart(self, path: Path, values: list[Any], leaves: list[Any], args: Any, kwargs: Any) -> None:
        """What is going to be overwritten may be, and shares memory with nothing else."""
        if path.plain:
            return
        for n in path.overwritten:
            if type(values[n]) is ndarray and not values[n].flags.writeable:
                raise ValueError("assignment destination is read-only")  # as NumPy says it
        found = overlapping(values, path.overwritten)
        if found is not None:
            names = [name for leaf, name in zip(leaves, self._names(args, kwargs), strict=True) if is_input(leaf)]
            names += [*path.names, *["an array that outlives the call"] * len(path.live)]
            raise DonationError(
                f"{names[found[0]]} is overwritten, and shares memory with {names[found[1]]}. Pass a copy of one of them."
            )

    # ---- looking at it

    def path(self, *args: Any, **kwargs: Any) -> Path:
        """The plan that was run last for such arguments; made, not run, if there is none yet."""
        leaves, structure = flatten((args, kwargs))
        key = self._key(leaves, structure)
        if not self.plans.get(key):
            self._check(leaves, args, kwargs)
            self.plans[key] = [next(self._made(leaves, structure, args, kwargs))]
        return self.plans[key][0]

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """What is run for such arguments, as a program. It prints as a listing."""
        return self.path(*args, **kwargs).program

    def constants(self, *args: Any, **kwargs: Any) -> list[str]:
        """The arrays that the plan for such arguments holds or reads besides them, a line for each."""
        return self.path(*args, **kwargs).constants()

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """The steps of the plan for such arguments."""
        path = self.path(*args, **kwargs)
        return path.plan.explain(path.line)._replace(origin=path.origin)

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """What the plan for such arguments will hold in memory."""
        return self.path(*args, **kwargs).plan.memory()


def why(found: list[Path]) -> str:
    """What made a function go so many ways: the reads that differ, or what it refers to."""
    reads = [path.reads for path in found]
    if len({path.reads for path in found}) > 1:
        depth = next(
            (k for k, answers in enumerate(zip(*reads, strict=False)) if len(set(answers)) > 1), min(map(len, reads))
        )
        place, kind, _ = max(reads, key=len)[min(depth, max(map(len, reads)) - 1)]
        return (
            f"Python looked at a value ({kind}) at {place}, and each answer takes a plan of its own, as does each number of turns after "
            f"which a loop ends there. Compute with NumPy, such as np.where; let a loop run a fixed number of turns, in which np.where "
            f"keeps what is done."
        )
    names = sorted({name for path in found for name in path.changed()})
    return f"what it refers to changes: {', '.join(names) or 'unknown'}. Pass it as an argument."
