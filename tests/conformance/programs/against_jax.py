"""The programs by gradviz and by JAX, run from the same source with the namespace of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradviz as gv
from tests.conformance.programs import PROGRAMS
from tests.conformance.programs.nested import MODES, particle, saddle
from tests.conformance.programs.program import Program
from tests.conformance.report import Count, Suite


def weighted(program: Program, xp: Any) -> Callable[..., Any]:
    """The sum of the results with weights, so that one gradient sees all of them."""

    def total(*args: Any) -> Any:
        out = program.function(xp, *args)
        return xp.sum(np.random.default_rng(0).normal(size=np.shape(out)) * out)

    return total


def difference(program: Program) -> str:
    """What is not the same by both engines; empty if nothing is."""
    import jax
    import jax.numpy as jnp

    args = program.make()
    places = tuple(range(len(args)))
    value, gradients = gv.value_and_grad(weighted(program, np), places)(*args)
    want, theirs = jax.value_and_grad(weighted(program, jnp), places)(*args)  # compiling ht as a whole takes minutes
    if not np.isclose(value, want, rtol=1e-10):
        return f"value {value}, but {want}"
    for k, (ours, other) in enumerate(zip(gradients, theirs, strict=True)):
        apart = float(np.max(np.abs(ours - other)) / np.max(np.abs(other)))
        if apart > 1e-9:
            return f"gradient in argument {k}: {apart:.1e} apart"
    return ""


def suite() -> Suite:
    """All programs; particle and saddle, which take derivatives themselves, by all combinations of modes."""
    found = [(program.name, difference(program)) for program in PROGRAMS]
    modes = [inner + outer for inner in MODES for outer in MODES]
    offset = particle("r", "r")
    found += [(f"particle, {pair}", "" if np.isclose(particle(*pair), offset) else "differs from rr") for pair in modes]
    found += [
        (f"saddle, {pair}", "" if np.allclose(saddle(*pair), 0, atol=1e-4) else "is not at the origin")
        for pair in modes
    ]
    failed = [(name, why) for name, why in found if why]
    return Suite(
        "GradBench's problems",
        "The problems of GradBench's evals ("
        + ", ".join(f"`{program.name}`" for program in PROGRAMS)
        + ", `particle`, `saddle`), written in plain NumPy from their descriptions: values and gradients against JAX, which runs the same "
        "source; in `make test` against finite differences, and Jacobians by both modes. `particle` and `saddle` take derivatives "
        "within derivatives, by forward and reverse mode in all combinations.",
        [Count("problems of GradBench", len(found), len(found) - len(failed))],
        failed=failed,
    )
