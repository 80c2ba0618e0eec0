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


def root_scalar(f: Callable[..., Any], args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.root_scalar`, whose ``root`` is differentiable. A ``fprime`` need not be given where ``method`` wants one.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import optimize
    >>> round(gv.grad(lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0, 3)).root)(8.0), 6)
    0.083333
    """
    if options.get("method") in ("newton", "halley") and "fprime" not in options:
        options["fprime"] = grad(f)
    if options.get("method") == "halley" and "fprime2" not in options:
        options["fprime2"] = grad(grad(f))
    return _with_number(lambda args: optimize.root_scalar(f, args, **options), "root", "converged", f, args)


def minimize_scalar(
    fun: Callable[..., Any], bracket: Any = None, bounds: Any = None, args: Any = (), **options: Any
) -> Any:
    """`scipy.optimize.minimize_scalar`, whose ``x`` and ``fun`` are differentiable.

    Raises
    ------
    NotDifferentiableError : the minimum is at a bound, where the slope does not vanish

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import optimize
    >>> round(gv.grad(lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2 + x).x)(4.0), 6)
    1.0
    """
    args = args if isinstance(args, tuple) else (args,)

    def search(args: tuple[Any, ...]) -> Any:
        found: Any = optimize.minimize_scalar(fun, bracket, bounds, args, **options)
        ends = () if bounds is None else [float(end) for end in bounds]
        near = 1e-4 * (max(ends) - min(ends)) if ends else 0.0
        if any(abs(found.x - end) < near for end in ends) and abs(grad(fun)(float(found.x), *args)) > 1e-3:
            raise NotDifferentiableError(
                f"minimize_scalar found its minimum at a bound, x = {found.x}: the slope does not vanish there, so there is no equation "
                "to differentiate. The solution moves with the bound, or not at all."
            )
        return found

    found = _with_number(search, "x", "success", grad(fun), args)
    found.fun = fun(found.x, *args)
    return found


def _with_number(
    search: Callable[[tuple[Any, ...]], Any], name: str, success: str, equation: Callable[..., Any], args: Any
) -> Any:
    """SciPy's result, in which the number of that name has its derivatives."""
    found: list[Any] = []

    def solver(_: Any, *args: Any) -> Any:
        result = search(args)
        if not getattr(result, success):
            raise ConvergenceError(f"no {name} was found: {getattr(result, 'message', None) or result.flag}")
        found.append(result)
        return float(getattr(result, name))

    x = custom_root(equation)(solver)(None, *(args if isinstance(args, tuple) else (args,)))
    setattr(found[0], name, x)
    return found[0]


def fixed_point(func: Callable[..., Any], x0: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.optimize.fixed_point`, differentiable."""

    def solver(x0: Any, *args: Any) -> Any:
        return optimize.fixed_point(func, x0, args, **options)

    return custom_root(lambda x, *args: func(x, *args) - x)(solver)(x0, *args)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(optimize)})
