"""`scipy.optimize` with derivatives of the solutions, by the implicit function theorem (`gradviz.transforms.implicit`).

The functions search on plain arrays, as SciPy's do, and give what SciPy's give; the solution in it is differentiable in ``args`` and in
what the function finds in its closure. What is not defined here is SciPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from gradviz.errors import ConvergenceError, NotDifferentiableError
from gradviz.scipy.namespace import attribute_of
from gradviz.transforms.gradient import grad
from gradviz.transforms.implicit import custom_root

__getattr__ = attribute_of(optimize)


def root(fun: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.root`, whose ``x`` is differentiable.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import optimize
    >>> np.round(gv.grad(lambda a: optimize.root(lambda x: x**2 - a, [1.0]).x[0])(4.0), 6)
    np.float64(0.25)
    """
    return _with_solution(optimize.root, fun, fun, x0, args, options)


def minimize(fun: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.minimize` without bounds and constraints, whose ``x`` and ``fun`` are differentiable.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import optimize
    >>> f = lambda x, a: np.sum((x - a) ** 2)
    >>> np.round(gv.grad(lambda a: optimize.minimize(f, np.zeros(1), (a,)).x[0])(4.0), 6)
    np.float64(1.0)
    """
    refused = [name for name in ("bounds", "constraints") if options.get(name)]
    if refused:
        raise NotDifferentiableError(
            f"minimize with {' and '.join(refused)}: at a bound the gradient need not vanish, so there is no equation to differentiate. "
            f"Leave them out, or solve the conditions of optimality with gv.implicit.root."
        )
    args = args if isinstance(args, tuple) else (args,)
    found = _with_solution(optimize.minimize, fun, grad(fun), x0, args, options)
    found.fun = fun(found.x, *args)
    return found


def _with_solution(
    search: Callable[..., Any],
    fun: Callable[..., Any],
    equation: Callable[..., Any],
    x0: Any,
    args: Any,
    options: dict[str, Any],
) -> Any:
    """SciPy's result, in which the solution has its derivatives."""
    args = args if isinstance(args, tuple) else (args,)
    found: list[Any] = []

    def solver(x0: Any, *args: Any) -> Any:
        result = search(fun, np.asarray(x0, float), args, **options)
        if not result.success:
            raise ConvergenceError(f"{search.__name__} found no solution: {result.message}")
        found.append(result)
        return result.x

    x = custom_root(equation)(solver)(x0, *args)
    found[0].x = x
    return found[0]


def _scalar(name: str) -> Callable[..., Any]:
    search = getattr(optimize, name)

    def solve(f: Callable[..., Any], *where: Any, args: Any = (), **options: Any) -> Any:
        if options.get("full_output"):
            raise NotDifferentiableError(f"{name} gives its root alone: leave out full_output.")
        args = args if isinstance(args, tuple) else (args,)

        def solver(x0: Any, *args: Any) -> Any:
            return search(f, *where, args=args, **options)

        return custom_root(f)(solver)(None, *args)

    solve.__name__ = name
    solve.__doc__ = f"`scipy.optimize.{name}`, whose root is differentiable. ``args`` and what follows it go by name."
    return solve


brentq = _scalar("brentq")
brenth = _scalar("brenth")
bisect = _scalar("bisect")
ridder = _scalar("ridder")
toms748 = _scalar("toms748")
newton = _scalar("newton")


def fixed_point(func: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.fixed_point`, differentiable."""

    def solver(x0: Any, *args: Any) -> Any:
        return optimize.fixed_point(func, x0, args, **options)

    return custom_root(lambda x, *args: func(x, *args) - x)(solver)(x0, *args)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(optimize)})
