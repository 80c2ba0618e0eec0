"""`gv.minimize`: `scipy.optimize.minimize` with gradients, Hessians and Hessian products."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from gradviz.solvers.constraints import with_derivatives
from gradviz.solvers.objective import itself, ready
from gradviz.solvers.unknowns import Unknowns
from gradviz.transforms.gradient import value_and_grad
from gradviz.transforms.jacobian import hessian
from gradviz.transforms.tangent import hvp

if TYPE_CHECKING:  # SciPy brings a part in when it is first named, so that `import gradviz` need not wait 0.14 s for it
    import scipy.optimize

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
BY_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
BY_HESSIAN = {"dogleg", "trust-exact"}


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    compiled: bool = True,
) -> scipy.optimize.OptimizeResult:
    """Find a minimum of a real function, with all the derivatives that the method can use.

    Parameters
    ----------
    fun : ``fun(x, *args)`` returns one real number; plain NumPy
    x0 : where to start: an array, a number, or a tree of them. Complex entries count as two unknowns
    args : further arguments of ``fun``; one that is no tuple is the only one
    method : as in `scipy.optimize.minimize`. Those that use second derivatives get Hessian products ("Newton-CG", "trust-ncg",
        "trust-krylov", "trust-constr") or the Hessian ("dogleg", "trust-exact")
    bounds : as in SciPy for the entries of ``x0`` in order; or a tree like ``x0`` with a pair (low, high), or None, at each leaf
    constraints : as in SciPy, where ``fun`` of each gets ``x`` in the structure of ``x0``; they need no ``jac``. Matrices of linear
        ones are for the entries of ``x0`` in order
    tol, options : as in SciPy
    callback : as in SciPy; it gets ``x`` in the structure of ``x0``
    compiled : run ``fun`` and its derivatives as plans, see `compile`; they are kept for the next call with this function

    Returns
    -------
    What SciPy returns, with ``x`` and ``jac`` in the structure of ``x0``.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> found = gv.minimize(
    ...     lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, np.array([-1.2, 1.0]), method="trust-ncg"
    ... )
    >>> found.x.round(4)
    array([1., 1.])

    A tree:

    >>> found = gv.minimize(lambda p: (p["a"] - 3) ** 2 + np.sum(p["b"] ** 2), {"a": 0.0, "b": np.ones(2)})
    >>> round(float(found.x["a"]), 6), found.x["b"].shape
    (3.0, (2,))
    """
    unknowns = Unknowns(x0, "minimize")
    extra = args if isinstance(args, tuple) else (args,)
    kind = (method or "").lower()
    derivatives: dict[str, Any] = {}
    if kind in WITHOUT_GRADIENT:
        objective = ready(fun, unknowns, itself, compiled)
    else:
        objective = ready(fun, unknowns, value_and_grad, compiled)
        derivatives["jac"] = True
    if kind in BY_PRODUCTS:
        derivatives["hessp"] = ready(fun, unknowns, product, compiled)
    if kind in BY_HESSIAN:
        derivatives["hess"] = ready(fun, unknowns, hessian, compiled)
    found = scipy.optimize.minimize(
        objective,
        unknowns.start,
        extra,
        method,
        **derivatives,
        bounds=unknowns.pairs(bounds),
        constraints=with_derivatives(constraints, unknowns, compiled, kind == "trust-constr"),
        tol=tol,
        callback=None if callback is None else in_structure(callback, unknowns),
        options=options,
    )
    return structured(found, unknowns)


def product(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Hessian of ``f`` times a direction, as a function of ``x``, the direction, and the further arguments of ``f``."""
    return lambda x, direction, *rest: hvp(f, (x, *rest), (direction,))


def structured(found: Any, unknowns: Unknowns) -> Any:
    """A result with ``x``, and the gradient if there is one, in the structure of the unknowns."""
    made = scipy.optimize.OptimizeResult(found)
    made.x = unknowns.tree(found.x)
    if isinstance(found.get("jac"), np.ndarray) and found.jac.shape == found.x.shape:
        made.jac = unknowns.tree(found.jac)
    return made


def in_structure(callback: Callable[..., Any], unknowns: Unknowns) -> Callable[..., Any]:
    """A callback for SciPy, which looks at its parameters to know how to call it."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:

        def with_result(intermediate_result: Any) -> Any:
            return callback(intermediate_result=structured(intermediate_result, unknowns))

        return with_result

    def with_x(x: Any, *state: Any) -> Any:
        return callback(unknowns.tree(np.copy(x)), *state)

    return with_x
