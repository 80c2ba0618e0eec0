"""Trading time for memory: `checkpoint` forgets what a function computed, and computes it again in the backward pass."""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.call import below, innermost, pick_all
from gradviz.engine.cotangent import zeros
from gradviz.engine.like import like
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.transforms.gradient import vjp
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

    @functools.wraps(f)
    def forgetful(*args: Any, **kwargs: Any) -> Any:
        cells = tuple(cell.cell_contents for cell in f.__closure__ or ()) if isinstance(f, types.FunctionType) else ()
        leaves, structure = flatten((args, kwargs, cells))
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
            return _rebuilt(f, *unflatten(structure, filled))

        outs, out_structure = flatten(again(*(plain[k] for k in traced)))
        likes = [like(out) for out in outs]

        def pull(cts: Any) -> list[Any]:
            here = _random_states(plain)
            _put_back(states)
            try:
                _, pull_again = vjp(again, *(plain[k] for k in traced))
            finally:
                _put_back(here)
            near = next(ct for ct in cts if ct is not None)
            filled = [zeros(shape, near) if ct is None else ct for ct, shape in zip(cts, likes, strict=True)]
            return list(pull_again(unflatten(out_structure, filled)))

        return unflatten(out_structure, opaque(top, outs, [leaves[k].index for k in traced], pull))

    return forgetful


def opaque(tape: Tape, outs: list[Any], parents: list[int], pull: Callable[[Any], list[Any]]) -> list[Any]:
    """Record a computation of which the tape knows only how to pull cotangents back."""
    tape.log.append((PULL, tuple(parents), pull))
    return list(pick_all(tape, len(tape.log) - 1, outs))


PULL = len(STEPS)
STEPS.append(Step(None, ("all",), lambda ct, record: record[2](ct), [], single=False))


def _rebuilt(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], cells: tuple[Any, ...]) -> Any:
    """Call ``f`` with other values in its closure."""
    if cells:
        f = types.FunctionType(
            f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(types.CellType(value) for value in cells)
        )
    return f(*args, **kwargs)


def _random_states(leaves: list[Any]) -> tuple[Any, ...]:
    generators = [leaf for leaf in leaves if isinstance(leaf, np.random.Generator)]
    return np.random.get_state(), random.getstate(), [(g, g.bit_generator.state) for g in generators]


def _put_back(states: tuple[Any, ...]) -> None:
    numpy_state, python_state, generators = states
    np.random.set_state(numpy_state)
    random.setstate(python_state)
    for generator, state in generators:
        generator.bit_generator.state = state
