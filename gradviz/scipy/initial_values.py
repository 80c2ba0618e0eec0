"""`scipy.integrate.solve_ivp` and `odeint` for traced initial states, times and parameters. See `gradviz.transforms.trajectories`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from gradviz.engine.array import bottom
from gradviz.errors import ConvergenceError, NotDifferentiableError
from gradviz.numpy.creation import asarray
from gradviz.scipy.namespace import holds_traced
from gradviz.scipy.quadrature import refuse_traced
from gradviz.transforms.closure import Parameters
from gradviz.transforms.trajectories import Formula, Step, along, explicit, radau

EXPLICIT = {"RK23": integrate.RK23, "RK45": integrate.RK45, "DOP853": integrate.DOP853}
FOR_RADAU = ("rtol", "atol", "max_step", "first_step", "jac", "jac_sparsity", "vectorized")
AGREEMENT = 1e3  # so many tolerances may lie between the solver's solution and that whose derivative is taken


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp`, whose ``t`` and ``y`` are differentiable.

    In ``y0``, ``t_span``, ``t_eval``, ``args`` and what ``fun`` finds in its closure. The values are SciPy's. The derivatives are those of
    its steps taken again: by the same formula for "RK23", "RK45", "DOP853", by Radau's on Radau's steps at the same tolerances for
    "Radau", "BDF" and "LSODA".

    Raises
    ------
    NotDifferentiableError : with ``events`` or ``dense_output``
    ConvergenceError : the solver failed; or its steps taken again lead elsewhere, as in chaotic equations, where no derivative is right

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> decay = lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], rtol=1e-8).y[0, -1]
    >>> round(gv.grad(decay)(1.0), 4)
    -0.3679
    """
    given = args if isinstance(args, tuple) else () if args is None else (args,)
    parameters = Parameters((fun,), (given, t_span, y0, t_eval))
    if not (parameters.traced or holds_traced(tuple(options.values()))):
        return integrate.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)
    if events is not None or dense_output:
        raise NotDifferentiableError(
            "solve_ivp of traced arrays has no events and no dense_output: name the times with t_eval; the time of an event is a root "
            "that gv.implicit.root finds."
        )
    name = method if isinstance(method, str) else method.__name__
    refuse_traced("solve_ivp", options)

    def solved(chosen: Any, some: dict[str, Any]) -> Any:
        def run(given: Any, t_span: Any, y0: Any, t_eval: Any) -> Any:
            return integrate.solve_ivp(fun, t_span, y0, chosen, t_eval, True, None, args=given or None, **some)

        return parameters.call(run, [bottom(theta) for theta in parameters.traced])

    found = solved(method, {**options, "vectorized": vectorized})
    if not found.success:
        raise ConvergenceError(f"solve_ivp did not reach the end: {found.message}")
    step, ends = radau, found.sol.ts
    if name in EXPLICIT:
        step = explicit_step(name)
    elif name != "Radau":
        ends = solved("Radau", {key: value for key, value in options.items() if key in FOR_RADAU}).sol.ts
    start, stop = asarray(t_span[0]), asarray(t_span[1])
    if t_eval is None:
        parts = (found.t - found.t[0]) / (found.t[-1] - found.t[0])
        times = start + parts * (stop - start)
    else:
        times = asarray(t_eval)
    first = asarray(y0)
    first = first if first.dtype.kind in "fc" else first.astype(float)
    states = along(slope_of(fun, given), step, [start, *times], ends, first)[1:]
    tolerance = options.get("atol", 1e-6) + options.get("rtol", 1e-3) * np.abs(found.y)
    found.t, found.y = times, agreed(np.stack(states, -1), found.y, tolerance, "solve_ivp")
    found.sol = None
    return found


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    tfirst: bool = False,
    full_output: Any = 0,
    **options: Any,
) -> Any:
    """`scipy.integrate.odeint`, differentiable in ``y0``, ``t``, ``args`` and what ``func`` finds in its closure.

    The values are SciPy's. The derivatives are those of Runge-Kutta steps of order 8 at the same tolerances, or of Radau's where odeint
    found the equation stiff.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> from gradviz.scipy import integrate
    >>> t = np.linspace(0, 1, 3)
    >>> np.round(gv.jacobian(lambda k: integrate.odeint(lambda y, t: -k * y, 1.0, t)[:, 0])(1.0), 5)
    array([ 0.     , -0.30327, -0.36788])
    """
    args = args if isinstance(args, tuple) else (args,)
    parameters = Parameters((func,), (args, y0, t))
    if not (parameters.traced or holds_traced(tuple(options.values()))):
        return integrate.odeint(func, y0, t, args, tfirst=tfirst, full_output=full_output, **options)
    refuse_traced("odeint", options)

    def run(args: Any, y0: Any, t: Any) -> Any:
        found, facts = integrate.odeint(func, y0, t, args, tfirst=tfirst, full_output=True, **options)
        if facts["message"] != "Integration successful.":
            raise ConvergenceError(f"odeint did not reach the end: {facts['message']}")
        kind = "Radau" if np.any(facts["mused"] == 2) else "DOP853"
        slope = (lambda t, y: func(t, y, *args)) if tfirst else (lambda t, y: func(y, t, *args))
        tolerances: dict[str, Any] = {"rtol": rtol, "atol": atol}
        ends = [
            integrate.solve_ivp(slope, (t[k], t[k + 1]), found[k], kind, **tolerances).t
            for k in range(len(t) - 1)
            if t[k] != t[k + 1]
        ]
        return found, facts, kind, np.concatenate([[t[0]], *ends])

    rtol, atol = (1.49012e-8 if options.get(name) is None else options[name] for name in ("rtol", "atol"))
    found, facts, kind, ends = parameters.call(run, [bottom(theta) for theta in parameters.traced])
    first = np.atleast_1d(asarray(y0))
    first = first if first.dtype.kind in "fc" else first.astype(float)
    slope = slope_of(func if tfirst else lambda t, y, *args: func(y, t, *args), args)
    states = along(slope, radau if kind == "Radau" else explicit_step(kind), list(asarray(t)), ends, first)
    made = agreed(np.stack(states), found, atol + rtol * np.abs(found), "odeint")
    return (made, facts) if full_output else made


def slope_of(fun: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    """The right side of the equation, which may be a list of numbers."""

    def slope(t: Any, y: Any) -> Any:
        return np.reshape(asarray(fun(t, y, *args)), np.shape(y))

    return slope


def explicit_step(name: str) -> Step:
    """Steps as SciPy's solver of this name takes them."""
    solver: Any = EXPLICIT[name]
    return explicit(Formula(solver.C, solver.A, solver.B))


def agreed(states: Any, found: Any, tolerance: Any, name: str) -> Any:
    """SciPy's values with the derivatives of ours."""
    distance = found - bottom(states)
    apart = np.max(np.abs(distance) / tolerance, initial=0.0)
    if not apart < AGREEMENT:
        raise ConvergenceError(
            f"{name}: the same steps, taken once more, end {apart:.0f} tolerances from its solution. At this tolerance the solution is not "
            "determined, and its derivative less so: lower rtol and atol, or shorten the time."
        )
    return states + distance
