"""Trading time for memory: `checkpoint` forgets what a function computed, and computes it again in the backward pass."""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.call import below, innermost, pick_all
from gradviz.engine.cotangent import zeros
from gradviz.engine.like import like
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.errors import NotDifferentiableError, WriteError
from gradviz.record.events import Flag
from gradviz.transforms.gradient import Run, name_of, vjp
from gradviz.transforms.trees import flatten, unflatten


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, of whose intermediate values none is kept for the backward pass.

    It runs once more when its gradient is needed. Random numbers are the same in both runs: the states of NumPy's and Python's global
    generators, and of every `numpy.random.Generator` among the arguments and in the closure, are put back first.

    Parameters
    ----------
    f : any function of arrays and trees. Traced arrays that it finds in its closure are treated like arguments

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> block = gv.checkpoint(lambda x: np.sin(np.sin(x)))
    >>> float(gv.grad(block)(1.0)) == float(gv.grad(lambda x: np.sin(np.sin(x)))(1.0))
    True
    """
    if isinstance(f, functools.partial):
        inner = checkpoint(f.func)
        return lambda *args, **kwargs: inner(*f.args, *args, **{**f.keywords, **kwargs})

    @functools.wraps(f)
    def forgetful(*args: Any, **kwargs: Any) -> Any:
        spots = list(spots_of(f, {}).values())
        leaves, structure = flatten((args, kwargs, [getattr(*spot) for spot in spots]))
        top = innermost(leaves)
        if not isinstance(top, Tape):
            return f(*args, **kwargs)
        plain = [below(leaf, top.level) for leaf in leaves]
        traced = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Array) and leaf.tape is top]
        states = _random_states(plain)

        def again(*changing: Any) -> Any:
            filled = list(plain)
            for k, value in zip(traced, changing, strict=True):
                filled[k] = value
            args, kwargs, contents = unflatten(structure, filled)
            with _swapped(spots, contents):
                return f(*args, **kwargs)

        before = len(top.log)
        outs, out_structure = _first_run(again, [plain[k] for k in traced], name_of(f))
        if len(top.log) > before:
            raise NotDifferentiableError(
                f"gv.checkpoint cannot see all that {name_of(f)} uses: a traced array reaches it through an object or a global. "
                f"Pass that array as an argument, or keep it in the function's closure."
            )
        likes = [like(out) for out in outs]

        def pull(cts: Any) -> list[Any]:
            here = _random_states(plain)
            _put_back(states)
            try:
                with _recomputing(top.recorder):
                    _, pull_again = vjp(again, *(plain[k] for k in traced))
            finally:
                _put_back(here)
            near = next(ct for ct in cts if ct is not None)
            filled = [zeros(shape, near) if ct is None else ct for ct, shape in zip(cts, likes, strict=True)]
            return list(pull_again(unflatten(out_structure, filled)))

        return unflatten(out_structure, opaque(top, outs, [leaves[k].index for k in traced], pull))

    return forgetful


def _first_run(f: Callable[..., Any], values: list[Any], name: str) -> tuple[list[Any], Any]:
    """The outputs as leaves and structure. The tape that makes writes safe is dropped at once."""
    run = Run(f, tuple(values), tuple(range(len(values))))
    try:
        outs, structure = flatten(f(*run.args))
        if any(array.index >= run.tape.leaves for array in run.args):
            raise WriteError(
                f"{name}, which gv.checkpoint runs twice, writes to a traced array that it was given. Write to a copy: x = x.copy()."
            )
        return [run.lower(out) for out in outs], structure
    finally:
        run.tape.close()


def opaque(tape: Tape, outs: list[Any], parents: list[int], pull: Callable[[Any], list[Any]]) -> list[Any]:
    """Record a computation of which the tape knows only how to pull cotangents back."""
    tape.log.append((PULL, tuple(parents), pull))
    return list(pick_all(tape, len(tape.log) - 1, outs))


PULL = len(STEPS)
STEPS.append(Step(None, ("all",), lambda ct, record: record[2](ct), [], single=False))


def spots_of(f: Any, found: dict[int, tuple[Any, str]]) -> dict[int, tuple[Any, str]]:
    """Where a function, and those it refers to, keep traced arrays and generators outside their arguments: (object, attribute)."""
    if not isinstance(f, types.FunctionType):
        return found
    spots = [(cell, "cell_contents") for cell in f.__closure__ or ()] + [(f, "__defaults__"), (f, "__kwdefaults__")]
    for spot in spots:
        key = id(spot[0]) if spot[1] == "cell_contents" else id(spot[0]) ^ hash(spot[1])
        try:
            inside = flatten(getattr(*spot))[0]
        except ValueError:  # a variable that has no value yet
            continue
        if key in found or not inside:
            continue
        if any(isinstance(leaf, (Array, np.random.Generator)) for leaf in inside):
            found[key] = spot
        for leaf in inside:
            if isinstance(leaf, types.FunctionType) and leaf is not f:
                spots_of(leaf, found)
    return found


@contextmanager
def _swapped(spots: list[tuple[Any, str]], contents: list[Any]) -> Iterator[None]:
    """Let functions find other values there for a while."""
    before = [getattr(*spot) for spot in spots]
    try:
        for spot, value in zip(spots, contents, strict=True):
            setattr(*spot, value)
        yield
    finally:
        for spot, value in zip(spots, before, strict=True):
            setattr(*spot, value)


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


def _random_states(leaves: list[Any]) -> tuple[Any, ...]:
    generators = [leaf for leaf in leaves if isinstance(leaf, np.random.Generator)]
    return np.random.get_state(), random.getstate(), [(g, g.bit_generator.state) for g in generators]


def _put_back(states: tuple[Any, ...]) -> None:
    numpy_state, python_state, generators = states
    np.random.set_state(numpy_state)
    random.setstate(python_state)
    for generator, state in generators:
        generator.bit_generator.state = state
