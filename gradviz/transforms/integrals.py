"""Integrals as functions of their limits and of the integrand's parameters.

The derivative of an integral is an integral again (Leibniz), of the integrand's derivative, plus the integrand at the limits:

    d ∫ₐᵇ f(x, θ) dx = ∫ₐᵇ ∂f/∂θ dθ dx + f(b, θ) db - f(a, θ) da

It is found by the same quadrature with the same tolerances, which choose points of their own for it. So it is as right as the integral
is, and has derivatives itself: any order, both modes. Nothing of the search for points is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom
from gradviz.engine.call import below, escaped, innermost
from gradviz.engine.tape import Tape
from gradviz.transforms.checkpoint import opaque
from gradviz.transforms.gradient import vjp
from gradviz.transforms.implied import pack, unpack
from gradviz.transforms.tangent import jvp

Leaves = Sequence[Any]
Integrand = Callable[[float, Leaves], Leaves]  # (x, thetas) -> arrays or numbers
Quadrature = Callable[[Callable[[float], Any], float, float], Any]  # of a function that gives vectors of real numbers


def integral(integrand: Integrand, a: Any, b: Any, thetas: Leaves, quadrature: Quadrature) -> list[Any]:
    """What ``integrand(x, thetas)`` comes to between ``a`` and ``b``."""
    known = [a, b, *thetas]
    top = innermost(known)
    if top is None:
        return plain(integrand, a, b, thetas, quadrature)
    if not top.open:
        raise escaped("an integral")
    active = [k for k, value in enumerate(known) if isinstance(value, Array) and value.tape is top]
    handles = [known[k].index for k in active]
    a, b, *thetas = (below(value, top.level) for value in known)
    values = integral(integrand, a, b, thetas, quadrature)
    if isinstance(top, Tape):

        def pull(cts: Leaves, _: Any) -> list[Any]:
            return _pulled(integrand, a, b, thetas, values, cts, active, quadrature)

        return opaque(top, values, handles, pull, [])
    slopes = _pushed(integrand, a, b, thetas, dict(zip(active, handles, strict=True)), quadrature)
    return [Array(value, top, slope) for value, slope in zip(values, slopes, strict=True)]


def _pulled(
    integrand: Integrand,
    a: Any,
    b: Any,
    thetas: Leaves,
    values: Leaves,
    cts: Leaves,
    active: list[int],
    quadrature: Quadrature,
) -> list[Any]:
    """Cotangents of the active ones among ``a``, ``b`` and ``thetas``."""
    cts = [np.zeros_like(bottom(value)) if ct is None else ct for ct, value in zip(cts, values, strict=True)]
    moving, count = [k - 2 for k in active if k > 1], len(thetas)

    def slope(x: float, known: Leaves) -> Leaves:
        def of_moving(*some: Any) -> list[Any]:
            return _with(integrand, x, known[:count], moving, some)

        return list(vjp(of_moving, *(known[k] for k in moving))[1](list(known[count:])))

    inner = integral(slope, a, b, [*thetas, *cts], quadrature) if moving else []
    ends = {0: (a, -1.0), 1: (b, 1.0)}
    outer = [_at_limit(integrand, *ends[k], thetas, cts) for k in active if k < 2]
    return [*outer, *inner]


def _at_limit(integrand: Integrand, limit: Any, sign: float, thetas: Leaves, cts: Leaves) -> Any:
    """The cotangent of a limit; one at infinity does not move."""
    if not np.isfinite(bottom(limit)):
        return np.zeros_like(bottom(limit))
    return sum(
        sign * np.sum(np.real(np.conj(ct) * value)) for ct, value in zip(cts, integrand(limit, thetas), strict=True)
    )


def _pushed(
    integrand: Integrand, a: Any, b: Any, thetas: Leaves, along: dict[int, Any], quadrature: Quadrature
) -> list[Any]:
    """Tangents of the integrals; ``along`` has those of the active ones among ``a``, ``b`` and ``thetas``."""
    moving, count = [k - 2 for k in along if k > 1], len(thetas)

    def slope(x: float, known: Leaves) -> Leaves:
        def of_moving(*some: Any) -> list[Any]:
            return _with(integrand, x, known[:count], moving, some)

        return jvp(of_moving, tuple(known[k] for k in moving), tuple(known[count:]))[1]

    made: list[Any] = []
    if moving:
        made = integral(slope, a, b, [*thetas, *(along[k + 2] for k in moving)], quadrature)
    for k, limit, sign in ((0, a, -1.0), (1, b, 1.0)):
        if k in along and np.isfinite(bottom(limit)):
            steps = [sign * value * along[k] for value in integrand(limit, thetas)]
            made = [x + y for x, y in zip(made, steps, strict=True)] if made else steps
    return made or [np.zeros_like(bottom(value)) for value in integrand(between(bottom(a), bottom(b)), thetas)]


def _with(integrand: Integrand, x: float, thetas: Leaves, places: list[int], some: Leaves) -> list[Any]:
    """The integrand where some of its parameters are others."""
    filled = list(thetas)
    for k, value in zip(places, some, strict=True):
        filled[k] = value
    return list(integrand(x, filled))


def plain(integrand: Integrand, a: Any, b: Any, thetas: Leaves, quadrature: Quadrature) -> list[Any]:
    """The integrals of plain numbers: one quadrature of a vector. Every point is computed once."""
    points: dict[float, Any] = {}
    a, b = float(a), float(b)

    def leaves_at(x: float) -> list[Any]:
        leaves = [
            leaf if isinstance(leaf, Array) and leaf.tape is not None else bottom(leaf) for leaf in integrand(x, thetas)
        ]
        return [
            leaf if isinstance(leaf, Array) or np.asarray(leaf).dtype.kind in "fc" else 1.0 * leaf for leaf in leaves
        ]

    def at(x: float) -> Any:
        if x not in points:
            points[x] = pack(leaves_at(x))
        return points[x]

    middle = between(a, b)
    kinds = leaves_at(middle)
    points[middle] = pack(kinds)
    return unpack(quadrature(at, a, b), kinds)


def between(a: float, b: float) -> float:
    """A finite point between two limits, which may be infinite."""
    if np.isfinite(a) and np.isfinite(b):
        return 0.5 * (a + b)
    return a + 1.0 if np.isfinite(a) else b - 1.0 if np.isfinite(b) else 0.0
