"""Trading time for memory: `checkpoint` forgets what a function computed, and computes it again in the backward pass."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, overload

from gradviz.engine.array import Array
from gradviz.engine.call import below, innermost, pick_all
from gradviz.engine.constants import keep
from gradviz.engine.cotangent import zeros
from gradviz.engine.like import like
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.errors import NotDifferentiableError, WriteError
from gradviz.record.events import Flag
from gradviz.transforms.closure import spots_of, swapped
from gradviz.transforms.gradient import Run, name_of, vjp
from gradviz.transforms.online import Entry, Loop, run_once
from gradviz.transforms.random_states import put_back, random_states
from gradviz.transforms.trees import flatten, unflatten


@overload
def checkpoint(f: Callable[..., Any], *, budget_bytes: int | None = None) -> Callable[..., Any]: ...
@overload
def checkpoint(*, budget_bytes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def checkpoint(f: Any = None, *, budget_bytes: int | None = None) -> Any:
    """The same function, of whose intermediate values none is kept for the backward pass.

    It runs once more when its gradient is needed. Random numbers are the same in both runs: the states of NumPy's and Python's global
    generators, and of every `numpy.random.Generator` among the arguments and in the closure, are put back first.

    Parameters
    ----------
    f : any function of arrays and trees. Traced arrays that it finds in its closure are treated like arguments
    budget_bytes : for a function that a loop calls again and again with what it returned before. Of the arguments of all these calls
        only so many are kept that they, and what one call needs while it is reversed, fit into this many bytes; the others are
        computed anew from earlier ones. The number of calls need not be known. Which arguments go is decided by their recorded sizes and
        the times of the calls between them, so that no call runs more often than it has to (`gradviz.transforms.online`)

    Raises
    ------
    GradvizError : a single call needs more than ``budget_bytes``

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> block = gv.checkpoint(lambda x: np.sin(np.sin(x)))
    >>> float(gv.grad(block)(1.0)) == float(gv.grad(lambda x: np.sin(np.sin(x)))(1.0))
    True
    >>> @gv.checkpoint(budget_bytes=1 << 20)
    ... def step(x):
    ...     return x + 0.01 * np.sin(x)
    >>> def end(x):
    ...     while x[0] < 2.0:
    ...         x = step(x)
    ...     return np.sum(x)
    >>> gv.grad(end)(np.ones(2000)).shape
    (2000,)
    """
    if f is None:
        return functools.partial(checkpoint, budget_bytes=budget_bytes)
    if isinstance(f, functools.partial):
        inner = checkpoint(f.func, budget_bytes=budget_bytes)
        return lambda *args, **kwargs: inner(*f.args, *args, **{**f.keywords, **kwargs})
    loops: weakref.WeakKeyDictionary[Tape, Loop] = weakref.WeakKeyDictionary()

    @functools.wraps(f)
    def forgetful(*args: Any, **kwargs: Any) -> Any:
        spots = list(spots_of(f, {}).values())
        leaves, structure = flatten((args, kwargs, [getattr(*spot) for spot in spots]))
        top = innermost(leaves)
        if not isinstance(top, Tape):
            return f(*args, **kwargs)
        plain = [keep(top, leaf, below(leaf, top.level)) for leaf in leaves]
        traced = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Array) and leaf.tape is top]
        held = [plain[k] for k in traced]
        for k in traced:
            plain[k] = None

        def again(*changing: Any) -> Any:
            filled = list(plain)
            for k, value in zip(traced, changing, strict=True):
                filled[k] = value
            args, kwargs, contents = unflatten(structure, filled)
            with swapped(spots, contents):
                return f(*args, **kwargs)

        parents = [leaves[k].index for k in traced]
        entry = Entry(again, held, random_states(plain), parents)
        loop = None if budget_bytes is None else loops.setdefault(top, Loop(top, budget_bytes, name_of(f)))
        if loop is not None:
            loop.enter(entry)
        outs, out_structure = first_run(entry, top, name_of(f), loop)
        likes = [like(out) for out in outs]

        def pull(cts: Any, held: list[Any]) -> list[Any]:
            here = random_states(plain)
            try:
                with _recomputing(top.recorder):
                    values = held if loop is None else loop.restore(entry, held)
                    put_back(entry.states)
                    _, pull_again = vjp(again, *values)
            finally:
                put_back(here)
            near = next(ct for ct in cts if ct is not None)
            filled = [zeros(shape, near) if ct is None else ct for ct, shape in zip(cts, likes, strict=True)]
            made = list(pull_again(unflatten(out_structure, filled)))
            if loop is not None:
                loop.leave(entry)
            return made

        made = opaque(top, outs, parents, pull, held)
        if loop is not None:
            loop.entered(entry, [out.index if isinstance(out, Array) else -1 for out in made])
        return unflatten(out_structure, made)

    return forgetful


def first_run(entry: Entry, top: Tape, name: str, loop: Loop | None) -> tuple[list[Any], Any]:
    """The outputs as leaves and structure, if the function can be run again."""
    before, start_s = len(top.log), time.perf_counter()

    def look(run: Run, outs: list[Any]) -> None:
        if any(array.index >= run.tape.leaves for array in run.args):
            raise WriteError(
                f"{name}, which gv.checkpoint runs twice, writes to a traced array that it was given. Write to a copy: x = x.copy()."
            )
        if loop is not None:
            loop.measure(entry, run.tape, outs, time.perf_counter() - start_s)

    outs = run_once(entry.again, entry.held, look)
    if len(top.log) > before:
        raise NotDifferentiableError(
            f"gv.checkpoint cannot see all that {name} uses: a traced array reaches it through an object or a global. "
            f"Pass that array as an argument, or keep it in the function's closure."
        )
    return outs


def opaque(
    tape: Tape, outs: list[Any], parents: list[int], pull: Callable[[Any, list[Any]], list[Any]], held: list[Any]
) -> list[Any]:
    """Record a computation of which the tape knows only how to pull cotangents back, and the values that this needs."""
    tape.log.append((PULL, tuple(parents), pull, held))
    return list(pick_all(tape, len(tape.log) - 1, outs))


PULL = len(STEPS)
STEPS.append(Step(None, ("all",), lambda ct, record: record[2](ct, record[3]), [], single=False))


@contextmanager
def _recomputing(recorder: Any) -> Iterator[None]:
    """Let what is recorded meanwhile say that it ran before."""
    if recorder is None:
        yield
        return
    before, recorder.flags = recorder.flags, recorder.flags | Flag.RECOMPUTED
    try:
        yield
    finally:
        recorder.flags = before
