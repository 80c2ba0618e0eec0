"""Derivatives of numbers that are known only by an equation they solve.

If F(x, θ) = 0, then dx = -(∂F/∂x)⁻¹ ∂F/∂θ dθ (implicit function theorem), however x was found. What that asks for, a linear system, is an
equation of the same kind: its solution gets its own derivatives in the same way, so that derivatives of any order and of both modes
nest. Nothing of the search for x is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom
from gradviz.engine.call import below, escaped, innermost
from gradviz.engine.tape import Tape
from gradviz.errors import ConvergenceError, NotDifferentiableError
from gradviz.transforms.checkpoint import opaque
from gradviz.transforms.gradient import vjp
from gradviz.transforms.tangent import jvp

Leaves = Sequence[Any]
Residual = Callable[[Leaves, Leaves], Leaves]  # (xs, thetas) -> as many as xs, which vanish
LinearSolver = str | Callable[[Callable[[Any], Any], Any], Any]

DENSE_SIZE = 100  # up to here the matrix is built column by column
ITERATIVE_RTOL = 1e-12


def implied(residual: Residual, xs: Leaves, thetas: Leaves, how: LinearSolver) -> list[Any]:
    """The plain ``xs``, for which ``residual(xs, thetas)`` vanishes, with the derivatives that this gives them."""
    top = innermost(thetas)
    if top is None:
        return list(xs)
    if not top.open:
        raise escaped("gv.implicit")
    lower = [below(theta, top.level) for theta in thetas]
    active = [k for k, theta in enumerate(thetas) if isinstance(theta, Array) and theta.tape is top]
    xs = implied(residual, xs, lower, how)
    handles = [thetas[k].index for k in active]
    if isinstance(top, Tape):
        return opaque(top, xs, handles, lambda cts, _: _pulled(residual, xs, lower, active, cts, how), [])
    return [Array(x, top, dx) for x, dx in zip(xs, _pushed(residual, xs, lower, active, handles, how), strict=True)]


def _pulled(
    residual: Residual, xs: Leaves, thetas: Leaves, active: list[int], cts: Leaves, how: LinearSolver
) -> list[Any]:
    """Cotangents of the active thetas: ``u`` solves ``(∂F/∂x)ᵀ u = -ct``, and is pulled back through F."""
    cts = [np.zeros_like(x) if ct is None else ct for ct, x in zip(cts, xs, strict=True)]
    n, m = len(xs), len(thetas)

    def transposed(us: Leaves, known: Leaves) -> Leaves:
        _, pull = vjp(lambda *xs: list(residual(xs, known[n : n + m])), *known[:n])
        return [back + ct for back, ct in zip(pull(list(us)), known[n + m :], strict=True)]

    us = _linear(transposed, xs, [*xs, *thetas, *cts], how)
    _, pull = vjp(lambda *some: list(residual(xs, _replaced(thetas, active, some))), *(thetas[k] for k in active))
    return list(pull(us))


def _pushed(
    residual: Residual, xs: Leaves, thetas: Leaves, active: list[int], along: Leaves, how: LinearSolver
) -> list[Any]:
    """Tangents of the xs: they solve ``∂F/∂x dx = -∂F/∂θ dθ``."""
    n, m = len(xs), len(thetas)

    def tangent(dxs: Leaves, known: Leaves) -> Leaves:
        xs, thetas, along = known[:n], known[n : n + m], known[n + m :]
        both = (*xs, *(thetas[k] for k in active))
        return jvp(lambda *all: list(residual(all[:n], _replaced(thetas, active, all[n:]))), both, (*dxs, *along))[1]

    return _linear(tangent, xs, [*xs, *thetas, *along], how)


def _replaced(thetas: Leaves, active: list[int], some: Leaves) -> list[Any]:
    made = list(thetas)
    for k, theta in zip(active, some, strict=True):
        made[k] = theta
    return made


def _linear(affine: Residual, near: Leaves, known: Leaves, how: LinearSolver) -> list[Any]:
    """The solution of ``affine(us, known) = 0``, which is affine in ``us`` (each like one of ``near``), with its derivatives."""
    plain = [bottom(value) for value in known]
    zeros = [np.zeros_like(bottom(x)) for x in near]
    at_zero = pack(affine(zeros, plain))

    def apply(vector: Any) -> Any:
        return pack(affine(unpack(vector, zeros), plain)) - at_zero

    return implied(affine, unpack(solve_linear(apply, -at_zero, how), zeros), known, how)


# ---- numbers only


def solve_linear(apply: Callable[[Any], Any], b: Any, how: LinearSolver) -> Any:
    """The vector that a linear map takes to ``b``, by its matrix or without it."""
    if callable(how):
        return how(apply, b)
    if how == "dense" or (how == "auto" and len(b) <= DENSE_SIZE):
        try:
            return np.linalg.solve(np.stack([apply(row) for row in np.eye(len(b))], axis=-1), b)
        except np.linalg.LinAlgError:
            raise NotDifferentiableError(
                "the Jacobian of the equation is singular at the solution, so it does not say how the solution moves. Is the solution "
                "isolated, and are all equations independent of each other?"
            ) from None
    return _iterative("gmres" if how == "auto" else how, apply, b)


def _iterative(name: str, apply: Callable[[Any], Any], b: Any) -> Any:
    from scipy.sparse import linalg

    solvers = {"gmres": linalg.gmres, "cg": linalg.cg, "bicgstab": linalg.bicgstab}
    if name not in solvers:
        raise NotDifferentiableError(
            f"linear_solver={name!r} is not known; it is 'auto', 'dense', 'gmres', 'cg', 'bicgstab', or a function (apply, b) -> x."
        )
    operator = linalg.LinearOperator((len(b), len(b)), apply, dtype=b.dtype)  # type: ignore[call-arg]
    x, failed = solvers[name](operator, b, rtol=ITERATIVE_RTOL, atol=0.0)
    if failed and np.linalg.norm(operator @ x - b) > 1e-8 * np.linalg.norm(b):
        raise ConvergenceError(
            f"{name} did not solve the linear system of the implicit derivative. Try linear_solver='dense', or scale the equations."
        )
    return x


def pack(leaves: Leaves) -> Any:
    """All leaves as one vector of real numbers, the parts of a complex one behind each other."""
    parts = []
    for leaf in leaves:
        if isinstance(leaf, Array) and leaf.tape is not None:
            raise NotDifferentiableError(
                "a traced array is used that is neither an argument of the function nor in its closure. Pass it as an argument."
            )
        flat: Any = np.ravel(bottom(leaf))
        parts += [flat.real, flat.imag] if np.iscomplexobj(flat) else [flat]
    return np.concatenate([np.asarray(part, np.float64) for part in parts])


def unpack(vector: Any, like: Leaves) -> list[Any]:
    """A vector as leaves of these shapes and dtypes again."""
    made, at = [], 0
    for leaf in like:
        kind, size = np.result_type(leaf), np.size(leaf)
        part = vector[at : at + size]
        at += size
        if kind.kind == "c":
            part = part + 1j * vector[at : at + size]
            at += size
        part = np.reshape(part.astype(kind), np.shape(leaf))
        made.append(part if type(leaf) is np.ndarray else part[()])
    return made
