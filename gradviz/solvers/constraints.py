"""Constraints as SciPy takes them, on functions of a tree, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from gradviz.solvers.objective import itself, ready
from gradviz.solvers.unknowns import Unknowns
from gradviz.transforms.jacobian import hessian, jacobian

if TYPE_CHECKING:  # SciPy brings a part in when it is first named, so that `import gradviz` need not wait 0.14 s for it
    import scipy.optimize


def with_derivatives(constraints: Any, unknowns: Unknowns, compiled: bool, curved: bool) -> Any:
    """Each constraint with a Jacobian; linear ones are for the vector, as they are.

    Parameters
    ----------
    curved : whether the method uses the Hessians of constraints; then they are there, too
    """
    several = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    make = _curved if curved else _sloped
    return [make(constraint, unknowns, compiled) for constraint in several]


def _sloped(constraint: Any, unknowns: Unknowns, compiled: bool) -> Any:
    if isinstance(constraint, dict):
        fun = constraint["fun"]
        jac = constraint.get("jac") or ready(fun, unknowns, jacobian, compiled)
        return {**constraint, "fun": ready(fun, unknowns, itself, compiled), "jac": jac}
    if isinstance(constraint, scipy.optimize.NonlinearConstraint):
        value = ready(constraint.fun, unknowns, itself, compiled)
        return scipy.optimize.NonlinearConstraint(
            value, constraint.lb, constraint.ub, jac=slopes(constraint, unknowns, compiled)
        )
    return constraint


def _curved(constraint: Any, unknowns: Unknowns, compiled: bool) -> Any:
    if isinstance(constraint, dict):
        fun, args = constraint["fun"], constraint.get("args", ())
        upper = 0.0 if constraint["type"] == "eq" else np.inf
        constraint = scipy.optimize.NonlinearConstraint((lambda x: fun(x, *args)) if args else fun, 0.0, upper)
    if not isinstance(constraint, scipy.optimize.NonlinearConstraint):
        return constraint
    return scipy.optimize.NonlinearConstraint(
        ready(constraint.fun, unknowns, itself, compiled),
        constraint.lb,
        constraint.ub,
        jac=slopes(constraint, unknowns, compiled),
        hess=constraint.hess if callable(constraint.hess) else ready(constraint.fun, unknowns, curvature, compiled),
        keep_feasible=constraint.keep_feasible,
    )


def slopes(constraint: scipy.optimize.NonlinearConstraint, unknowns: Unknowns, compiled: bool) -> Any:
    """The Jacobian that a constraint came with, or ours."""
    return constraint.jac if callable(constraint.jac) else ready(constraint.fun, unknowns, jacobian, compiled)


def curvature(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Hessian of ``v · f(x)``, as a function of ``x`` and ``v``."""
    return hessian(lambda x, v: np.sum(f(x) * v))
