"""`gv.least_squares`: `scipy.optimize.least_squares` with exact Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from gradviz.solvers.minimize import in_structure
from gradviz.solvers.objective import ready
from gradviz.solvers.unknowns import Unknowns
from gradviz.transforms.jacobian import jacobian

if TYPE_CHECKING:  # SciPy brings a part in when it is first named, so that `import gradviz` need not wait 0.14 s for it
    import scipy.optimize


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    bounds: Any = (-np.inf, np.inf),
    compiled: bool = True,
    callback: Callable[..., Any] | None = None,
    **options: Any,
) -> scipy.optimize.OptimizeResult:
    """Find the parameters that make residuals small, with exact Jacobians.

    Parameters
    ----------
    fun : ``fun(x, *args)`` returns the real residuals: an array of any shape; plain NumPy
    x0 : where to start: an array, a number, or a tree of them. Complex entries count as two unknowns
    args : further arguments of ``fun``; one that is no tuple is the only one
    bounds : (lower, upper), each a number or a vector as in SciPy, or a tree like ``x0``, where None sets no bound
    compiled : run ``fun`` and its Jacobian as plans, see `compile`; they are kept for the next call with this function
    callback : as in SciPy; it gets ``x`` in the structure of ``x0``
    options : the further ones of `scipy.optimize.least_squares`, such as ``method``, ``loss``, ``f_scale``, ``xtol``

    Returns
    -------
    What SciPy returns, with ``x`` and ``grad`` in the structure of ``x0``; ``fun`` and ``jac`` are a vector and a matrix.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> t = np.linspace(0, 4, 40)
    >>> y = 3 * np.exp(-0.7 * t)
    >>> found = gv.least_squares(lambda p, t, y: p["a"] * np.exp(-p["rate"] * t) - y, {"a": 1.0, "rate": 1.0}, (t, y))
    >>> {name: round(float(value), 6) for name, value in found.x.items()}
    {'a': 3.0, 'rate': 0.7}
    """
    unknowns = Unknowns(x0, "least_squares")
    if callback is not None:
        options["callback"] = in_structure(callback, unknowns)
    found = scipy.optimize.least_squares(
        ready(fun, unknowns, residuals, compiled),
        unknowns.start,
        jac=ready(fun, unknowns, slopes, compiled),
        args=args if isinstance(args, tuple) else (args,),
        bounds=unknowns.limits(bounds),
        **options,
    )
    found.x, found.grad = unknowns.tree(found.x), unknowns.tree(found.grad)
    return found


def residuals(f: Callable[..., Any]) -> Callable[..., Any]:
    """The residuals as a vector."""
    return lambda x, *args: np.reshape(f(x, *args), -1)


def slopes(f: Callable[..., Any]) -> Callable[..., Any]:
    """Their derivatives: a row for each residual, a column for each unknown."""
    return jacobian(residuals(f))
