"""`gv.compile`: a function that is captured at its first call and replayed from then on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.plan.capture import Capture
from gradviz.plan.captured import Captured
from gradviz.plan.operation import meta_of
from gradviz.plan.program import Program, as_rows, evaluate
from gradviz.plan.reroll import reroll
from gradviz.transforms.trees import flatten, unflatten

ndarray = np.ndarray


def compile(f: Callable[..., Any], donate: Sequence[str] = ()) -> Callable[..., Any]:  # noqa: A001 - as torch and re say it
    plans: dict[Any, Any] = {}

    @functools.wraps(f)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if any(isinstance(leaf, (Array, Captured)) for leaf in leaves):
            return f(*args, **kwargs)
        key = (structure, tuple(kind_of(leaf) for leaf in leaves))
        if key not in plans:
            plans[key] = capture(f, leaves, structure)
        program, shape = plans[key]
        values = [leaf for leaf in leaves if is_input(leaf)]
        return unflatten(shape, evaluate(program, values))

    compiled.plans = plans  # type: ignore[attr-defined]
    return compiled


def is_input(leaf: Any) -> bool:
    return isinstance(leaf, (ndarray, np.generic, float, complex))


def kind_of(leaf: Any) -> Any:
    if type(leaf) is ndarray:
        return leaf.shape, leaf.dtype, leaf.flags.c_contiguous, leaf.flags.f_contiguous
    if is_input(leaf):
        return type(leaf)
    return leaf


def capture(f: Callable[..., Any], leaves: list[Any], structure: Any) -> tuple[Program, Any]:
    run = Capture()
    traced = [run.input(leaf) if is_input(leaf) else leaf for leaf in leaves]
    args, kwargs = unflatten(structure, traced)
    outs, shape = flatten(f(*args, **kwargs))
    numbers = tuple(out.number if isinstance(out, Captured) else run.constant(out) for out in outs)
    metas = tuple(meta_of(x.value) for x in run.inputs)
    program = Program(run.operations, as_rows(run.rows), run.constants, metas, numbers)
    return reroll(program), shape
