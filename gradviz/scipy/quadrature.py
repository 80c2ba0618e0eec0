"""`scipy.integrate.quad` and its kin for traced limits, and for integrands with traced arrays in their arguments or closure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate
from scipy.special import roots_legendre

from gradviz.engine.array import bottom
from gradviz.errors import NotDifferentiableError
from gradviz.scipy.namespace import holds_traced
from gradviz.transforms.closure import Parameters
from gradviz.transforms.integrals import between, integral
from gradviz.transforms.trees import flatten, unflatten

UNBOUNDED = {"cauchy", "alg", "alg-loga", "alg-logb", "alg-log"}  # weights that are no factor at the limits


def quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), full_output: Any = 0, **options: Any) -> Any:
    """`scipy.integrate.quad`, whose value is differentiable: in the limits, in ``args``, and in what ``func`` finds in its closure.

    The derivative is the integral of the integrand's derivative, to the same tolerances. See `gradviz.transforms.integrals`.

    Parameters
    ----------
    options : SciPy's, by name: ``epsabs``, ``epsrel``, ``limit``, ``points``, ``weight``, ``wvar``, ``complex_func``, ...

    Returns
    -------
    (value, estimate of its error), and what ``full_output`` asks for

    Raises
    ------
    NotDifferentiableError : a limit is traced and there is a weight, or an option is traced

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> round(gv.grad(lambda a: integrate.quad(lambda x: np.exp(-a * x), 0, np.inf)[0])(2.0), 6)
    -0.25
    """
    args = args if isinstance(args, tuple) else (args,)
    parameters = Parameters((func,), args)
    if not (parameters.traced or holds_traced((a, b, *options.values()))):
        return integrate.quad(func, a, b, args, full_output, **options)
    refuse_traced("quad", options)
    if options.get("weight") is not None and holds_traced((a, b)):
        raise NotDifferentiableError(
            "quad with weight= is not differentiated in its limits: put the weight into the function."
        )
    is_complex = options.pop("complex_func", False)
    first: list[Any] = []

    def quadrature(at: Callable[[float], Any], a: float, b: float) -> Any:
        count = len(at(between(a, b)))
        found = [
            integrate.quad(lambda x, k=k: at(x)[k], a, b, full_output=full_output, **options) for k in range(count)
        ]
        if not first:
            first.extend(found)
        return np.array([value for value, *_ in found])

    def integrand(x: Any, thetas: Any) -> list[Any]:
        value = parameters.call(func, thetas, x)
        if np.iscomplexobj(value) and not is_complex:
            raise TypeError("the integrand of quad is complex: say complex_func=True")
        return [np.reshape(value, ())]

    (value,) = integral(integrand, a, b, parameters.traced, quadrature)
    error = first[0][1] if not is_complex else complex(*(each[1] for each in first))
    return (
        value,
        error,
        *(first[0][2:] if not is_complex else [tuple(each[2:] for each in first)] * bool(full_output)),
    )


def quad_vec(
    f: Callable[..., Any], a: Any, b: Any, *some: Any, args: Any = (), full_output: bool = False, **options: Any
) -> Any:
    """`scipy.integrate.quad_vec`, whose value is differentiable as that of `quad` is.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> n = np.arange(3.0)
    >>> gv.jacobian(lambda b: integrate.quad_vec(lambda x: x**n, 0, b)[0])(2.0)
    array([1., 2., 4.])
    """
    args = args if isinstance(args, tuple) else (args,)
    parameters = Parameters((f,), args)
    if not (parameters.traced or holds_traced((a, b, *some, *options.values()))):
        return integrate.quad_vec(f, a, b, *some, args=args, full_output=full_output, **options)
    names = ("epsabs", "epsrel", "norm", "cache_size", "limit", "workers", "points", "quadrature")
    options.update(zip(names, some, strict=False))
    refuse_traced("quad_vec", options)
    first: list[Any] = []

    def quadrature(at: Callable[[float], Any], a: float, b: float) -> Any:
        found = integrate.quad_vec(at, a, b, full_output=True, **options)
        if not first:
            first.extend(found)
        return found[0]

    structure: list[Any] = []

    def integrand(x: Any, thetas: Any) -> list[Any]:
        leaves, shape = flatten(parameters.call(f, thetas, x))
        structure[:] = [shape]
        return leaves

    values = integral(integrand, a, b, parameters.traced, quadrature)
    return (unflatten(structure[0], values), *first[1 : 3 if full_output else 2])


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """`scipy.integrate.fixed_quad`: a sum of function values, differentiated as such.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> round(gv.grad(lambda b: integrate.fixed_quad(np.exp, 0.0, b)[0])(1.0), 6)
    2.718282
    """
    if not (Parameters((func,), (a, b, args)).traced):
        return integrate.fixed_quad(func, a, b, args, n)
    if not np.isfinite(bottom(a)) or not np.isfinite(bottom(b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = roots_legendre(n)
    points = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(points, *args), axis=-1), None


def nquad(func: Callable[..., Any], ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """`scipy.integrate.nquad`: integrals within integrals, differentiable as `quad` is, also in ranges that are functions.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> area = lambda r: integrate.nquad(lambda y, x: 1.0, [lambda x: (0, r * x), (0, 2)])[0]
    >>> round(gv.grad(area)(3.0), 6)
    2.0
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    functions = [func, *(each for each in ranges if callable(each))]
    if not (Parameters(functions, (args, [each for each in ranges if not callable(each)])).traced):
        return integrate.nquad(func, ranges, args, opts, full_output)
    if full_output:
        raise NotDifferentiableError("nquad of traced arrays gives its value and error alone: leave out full_output.")
    several = opts if isinstance(opts, (list, tuple)) else [opts] * len(ranges)
    errors = [0.0]

    def over(k: int, later: tuple[Any, ...]) -> Any:
        """The integral over the first ``k`` variables."""
        if k == 0:
            return func(*later, *args)
        limits: Any = ranges[k - 1]
        chosen: Any = several[k - 1]
        ends: Any = limits(*later, *args) if callable(limits) else limits
        chosen = chosen(*later, *args) if callable(chosen) else chosen or {}
        value, error, *_ = quad(lambda x: over(k - 1, (x, *later)), *ends, **chosen)
        errors[0] = max(errors[0], error)
        return value

    return over(len(ranges), ()), errors[0]


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """`scipy.integrate.dblquad`, differentiable as `nquad` is."""
    return nquad(func, [_between(gfun, hfun), (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


def _between(low: Any, high: Any) -> Callable[..., Any]:
    """The range between two functions (or numbers) of the outer variable."""

    def limits(x: Any, *args: Any) -> tuple[Any, Any]:
        low_here, high_here = (end(x) if callable(end) else end for end in (low, high))
        return low_here, high_here

    return limits


def refuse_traced(name: str, options: dict[str, Any]) -> None:
    """Raise an error if an option, which only says how to compute, is traced."""
    traced = [option for option, value in options.items() if holds_traced((value,))]
    if traced:
        raise NotDifferentiableError(
            f"{name} is not differentiated in {', '.join(traced)}: pass gv.stop_gradient(...)."
        )
