"""Roots, fixed points and minima as functions of parameters: ``gv.implicit``. The derivative is that of the solution, not of the search.

An equation says what x is; how it was found does not matter. So the solver may be any code, compiled or not, and nothing of it is
recorded. Traced arrays may be arguments or stand in the closure; both modes, and derivatives of any order, work. The interfaces follow
``jaxopt`` (Blondel et al., *Efficient and modular implicit differentiation*, 2022).

Examples
--------
>>> import numpy as np, gradviz as gv
>>> round(gv.grad(lambda a: gv.implicit.root(lambda x, a: x**3 - a, 1.0, a))(8.0), 6)
0.083333
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom
from gradviz.errors import ConvergenceError, NotDifferentiableError
from gradviz.transforms.closure import Parameters
from gradviz.transforms.gradient import grad, name_of
from gradviz.transforms.implied import LinearSolver, implied, pack, unpack
from gradviz.transforms.jacobian import jacobian
from gradviz.transforms.trees import flatten, tree_map, unflatten

__all__ = ["custom_fixed_point", "custom_root", "fixed_point", "minimize", "root"]


def custom_root(optimality: Callable[..., Any], linear_solver: LinearSolver = "auto") -> Callable[..., Any]:
    """Decorator: gives a solver the derivative of what it solves.

    Parameters
    ----------
    optimality : ``optimality(x, *args)`` vanishes at the solution; it has as many entries as ``x``, an array or a tree
    linear_solver : for the system of the derivative. "dense" builds its matrix, "gmres", "cg" (symmetric ones) and "bicgstab" need only
        products with it, "auto" is dense up to 100 unknowns and gmres beyond; or a function ``(apply, b) -> x`` of vectors

    Returns
    -------
    A decorator of ``solver(x0, *args) -> x``. The solver runs on plain arrays; no derivative flows through ``x0``.

    Raises
    ------
    NotDifferentiableError : the Jacobian is singular at the solution
    ConvergenceError : an iterative linear solver did not converge

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> @gv.implicit.custom_root(lambda x, a: x * x - a)
    ... def square_root(x0, a):
    ...     return np.sqrt(a)  # or compiled code, or a table
    >>> float(gv.grad(lambda a: square_root(None, a))(4.0))
    0.25
    """

    def decorate(solver: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(solver)
        def solution(x0: Any, *args: Any) -> Any:
            return _solved(optimality, solver, x0, args, linear_solver)

        return solution

    return decorate


def custom_fixed_point(step: Callable[..., Any], linear_solver: LinearSolver = "auto") -> Callable[..., Any]:
    """As `custom_root`, for a solver of ``x = step(x, *args)``.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> @gv.implicit.custom_fixed_point(lambda x, a: (x + a / x) / 2)
    ... def square_root(x0, a):
    ...     return np.sqrt(a)
    >>> float(gv.grad(lambda a: square_root(None, a))(4.0))
    0.25
    """
    return custom_root(_difference(step), linear_solver)


def root(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    linear_solver: LinearSolver = "auto",
) -> Any:
    """The ``x`` near ``x0`` with ``f(x, *args) = 0``, differentiable in ``args`` and in what ``f`` finds in its closure.

    Parameters
    ----------
    f : a function of an array or a tree, which returns as many entries
    method, tol, options : of `scipy.optimize.root`; "hybr" and "lm" get the Jacobian of ``f``
    linear_solver : see `custom_root`

    Raises
    ------
    ConvergenceError : no root was found

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> f = lambda x, a: np.array([1.0, 2.0]) * x**2 - a
    >>> x = gv.implicit.root(f, np.ones(2), np.array([4.0, 18.0]))
    >>> np.round(x, 8)
    array([2., 3.])
    >>> np.round(gv.grad(lambda a: np.sum(gv.implicit.root(f, np.ones(2), a)))(np.array([4.0, 18.0])), 8)
    array([0.25      , 0.08333333])
    """

    def solver(x0: Any, *args: Any) -> Any:
        from scipy import optimize

        leaves, structure = flatten(x0)
        at = _flat(f, leaves, structure, args)
        jac = jacobian(at) if method in ("hybr", "lm") else None
        found = optimize.root(at, pack(leaves), method=method, jac=jac, tol=tol, options=options)
        if not found.success:
            raise ConvergenceError(f"no root of {name_of(f)} was found: {found.message}")
        return unflatten(structure, unpack(found.x, leaves))

    return _solved(f, solver, x0, args, linear_solver)


def _flat(f: Callable[..., Any], leaves: list[Any], structure: Any, args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """The function of real vectors that SciPy asks for, traceable itself."""

    def at(vector: Any) -> Any:
        parts, start = [], 0
        for leaf in leaves:
            size = np.size(leaf)
            part = vector[start : start + size]
            start += size
            if np.iscomplexobj(leaf):
                part = part + 1j * vector[start : start + size]
                start += size
            parts.append(np.reshape(part, np.shape(leaf)))
        outs: list[Any] = [np.ravel(out) for out in flatten(f(unflatten(structure, parts), *args))[0]]
        split = [half for out in outs for half in ([out.real, out.imag] if np.iscomplexobj(out) else [out])]
        return np.concatenate(split)

    return at


def fixed_point(
    step: Callable[..., Any],
    x0: Any,
    *args: Any,
    tol: float = 1e-12,
    max_steps: int = 10_000,
    linear_solver: LinearSolver = "auto",
) -> Any:
    """The ``x = step(x, *args)`` that is reached from ``x0`` by iteration.

    Parameters
    ----------
    step : a function of an array or a tree, which returns one like it
    tol : the iteration ends when no entry changes by more than ``tol`` times the largest entry, or times 1
    max_steps : after so many steps without that, an error is raised
    linear_solver : see `custom_root`

    Raises
    ------
    ConvergenceError : the iteration did not settle

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> float(gv.grad(lambda a: gv.implicit.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a))(4.0))
    0.25
    """

    def solver(x: Any, *args: Any) -> Any:
        for _ in range(max_steps):
            new = step(x, *args)
            before, after = pack(flatten(x)[0]), pack(flatten(new)[0])
            x = new
            if np.max(np.abs(after - before), initial=0.0) <= tol * max(1.0, np.max(np.abs(after), initial=0.0)):
                return x
        raise ConvergenceError(
            f"{max_steps} steps of {name_of(step)} did not reach a fixed point. Start nearer, allow more (max_steps), or find the root of "
            f"step(x) - x with gv.implicit.root."
        )

    return _solved(_difference(step), solver, x0, args, linear_solver)


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "BFGS",
    tol: float | None = 1e-10,
    options: dict[str, Any] | None = None,
    linear_solver: LinearSolver = "auto",
) -> Any:
    """The ``x`` near ``x0`` where the real ``f(x, *args)`` is least, without bounds and constraints: where its gradient vanishes.

    Parameters
    ----------
    method, tol, options : of `scipy.optimize.minimize`, which gets the gradient of ``f``
    linear_solver : see `custom_root`; the matrix is the Hessian

    Raises
    ------
    ConvergenceError : no minimum was found

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> f = lambda x, a: np.sum((x - a) ** 2) + np.sum(x**4)
    >>> x = gv.implicit.minimize(f, np.zeros(1), np.array([3.0]))
    >>> np.round(x, 6)
    array([1.])
    >>> np.round(gv.jacobian(lambda a: gv.implicit.minimize(f, np.zeros(1), a))(np.array([3.0])), 6)
    array([[0.142857]])
    """

    def solver(x0: Any, *args: Any) -> Any:
        from scipy import optimize

        leaves, structure = flatten(x0)

        def value_and_slope(vector: Any) -> tuple[float, Any]:
            x = unflatten(structure, unpack(vector, leaves))
            return float(f(x, *args)), pack(flatten(grad(f)(x, *args))[0])

        found = optimize.minimize(value_and_slope, pack(leaves), jac=True, method=method, tol=tol, options=options)
        slope = np.max(np.abs(value_and_slope(found.x)[1]), initial=0.0)
        if not found.success and slope > 1e-6 * max(1.0, abs(found.fun)):
            raise ConvergenceError(f"no minimum of {name_of(f)} was found: {found.message}")
        return unflatten(structure, unpack(found.x, leaves))

    return _solved(_gradient(f), solver, x0, args, linear_solver)


def _difference(step: Callable[..., Any]) -> Callable[..., Any]:
    def difference(x: Any, *args: Any) -> Any:
        return [after - before for after, before in zip(flatten(step(x, *args))[0], flatten(x)[0], strict=True)]

    return difference


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    def gradient(x: Any, *args: Any) -> Any:
        return grad(f)(x, *args)

    return gradient


def _solved(
    optimality: Callable[..., Any],
    solver: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...],
    linear_solver: LinearSolver,
) -> Any:
    """Run the solver on plain values, and give what it finds the derivatives that the equation implies."""
    parameters = Parameters((solver, optimality), args)
    x = parameters.call(solver, [bottom(theta) for theta in parameters.traced], tree_map(bottom, x0))
    xs, x_structure = flatten(x)
    xs = [bottom(leaf) if isinstance(leaf, Array) and leaf.tape is None else leaf for leaf in xs]
    if any(isinstance(leaf, Array) for leaf in xs):
        raise NotDifferentiableError(
            f"{name_of(solver)} uses a traced array that is neither an argument nor in its closure. Pass it as an argument."
        )

    def residual(xs: Any, thetas: Any) -> list[Any]:
        outs = flatten(parameters.call(optimality, thetas, unflatten(x_structure, list(xs))))[0]
        if [np.shape(out) for out in outs] != [np.shape(x) for x in xs]:
            raise NotDifferentiableError(
                f"the equation gives shapes {[np.shape(out) for out in outs]} for unknowns of shapes {[np.shape(x) for x in xs]}; it needs "
                f"one equation for each unknown."
            )
        return outs

    return unflatten(x_structure, implied(residual, xs, parameters.traced, linear_solver))
