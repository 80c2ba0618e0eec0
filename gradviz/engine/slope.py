"""How an elementwise function is differentiated: its slope, from which pullback and tangent both follow.

    slope(np.sin, x=lambda x: np.cos(x))

The slope reads what it names, as a pullback does. It is the complex derivative: of the output's cotangent the pullback takes the
product with its conjugate. Of a ufunc with several outputs a slope gives a tuple, one for each output:

    slope(special.sici, x=lambda x: (np.sin(x) / x, np.cos(x) / x))
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradviz.engine.cotangent import owned
from gradviz.engine.rule import Rule, rule

ndarray = np.ndarray
IN_PLACE_NBYTES = 1 << 15  # below, a fresh array is cheaper than finding out whether the old one is free


def slope(
    function: Any,
    *,
    singular: bool = False,
    signature: str | None = None,
    constant: Iterable[str] = (),
    **slopes: Callable[..., Any],
) -> Rule:
    """Enter an elementwise function by its slopes, one for each input it is differentiable in.

    ``singular`` says that a slope can be infinite. Where the cotangent is zero the product is then zero, not NaN, so that
    ``np.where(x > 0, np.sqrt(x), 0)`` has a gradient at 0.
    """
    signature, several = signature or _signature(function, len(slopes)), getattr(function, "nout", 1) > 1
    made = rule(function, signature=signature, elementwise=True, constant=constant, outputs=several)
    product = sum_of_products if several else times_safely if singular else times
    for target, derivative in slopes.items():
        made.slopes[target] = derivative
        made.pullback(_pullback(made.name, target, derivative, product))
    return enter(made)


def enter(made: Rule) -> Rule:
    from gradviz.engine.rule import RULES

    RULES[made.function] = made
    return made


def _signature(function: Any, inputs: int) -> str:
    count = getattr(function, "nin", inputs)
    return {1: "x", 2: "x, y", 3: "x, y, z", 4: "x, y, z, w"}[count]


PULLBACK_SOURCE = """
def {title}(ct{reads}):
    slope = derivative({arguments})
    if type(slope) is ndarray and slope.dtype is FLOAT64 and slope.nbytes <= IN_PLACE_NBYTES:
        return ct * slope
    return product(ct, slope, 1)
"""
SAFE_SOURCE = """
def {title}(ct{reads}):
    return product(ct, derivative({arguments}))
"""
FLOAT64 = np.dtype(np.float64)


def _pullback(
    name: str, target: str, derivative: Callable[..., Any], product: Callable[..., Any]
) -> Callable[..., Any]:
    """``def sin_to_x(ct, x): return product(ct, derivative(x))``, by that name, with those parameters, and short for small arrays."""
    reads = ", ".join(inspect.signature(derivative).parameters)
    space = {
        "product": product,
        "derivative": derivative,
        "ndarray": ndarray,
        "FLOAT64": FLOAT64,
        "IN_PLACE_NBYTES": IN_PLACE_NBYTES,
    }
    title = f"{name}_to_{target}"
    source = PULLBACK_SOURCE if product is times else SAFE_SOURCE
    exec(source.format(title=title, reads=", " + reads if reads else "", arguments=reads), space)  # noqa: S102
    return space[title]


def times(ct: Any, derivative: Any, callers: int = 0) -> Any:
    """Cotangent times the conjugate of a slope, in the slope's memory where nobody but ``callers`` variables holds it."""
    if type(derivative) is ndarray:
        if derivative.dtype.kind == "c":
            return ct * np.conj(derivative)
        if (
            derivative.nbytes > IN_PLACE_NBYTES
            and owned(derivative, callers)
            and type(ct) is ndarray
            and _fits(ct, derivative)
        ):
            return np.multiply(ct, derivative, out=derivative)
        return ct * derivative
    return ct * conj(derivative)


def _fits(ct: Any, into: Any) -> bool:
    return ct.shape == into.shape and ct.dtype == into.dtype


def times_safely(ct: Any, derivative: Any) -> Any:
    """As `times`, with 0 where the cotangent is 0 whatever the slope is there."""
    product = times(ct, derivative, 1)
    if type(product) is ndarray and np.isfinite(np.add.reduce(product, axis=None)):
        return product
    if isinstance(product, np.generic) and np.isfinite(product):
        return product
    return np.where(ct == 0, np.zeros_like(product), product)


def sum_of_products(cts: tuple[Any, ...], derivatives: tuple[Any, ...]) -> Any:
    """The products of the cotangents of several outputs with their slopes, added up."""
    products = [times_safely(ct, one) for ct, one in zip(cts, derivatives, strict=True) if ct is not None]
    return functools.reduce(operator.add, products)


def conj(value: Any) -> Any:
    """The complex conjugate, without a call to NumPy for real values."""
    if type(value) is ndarray:
        return np.conj(value) if value.dtype.kind == "c" else value
    if isinstance(value, float):
        return value
    if isinstance(value, complex):
        return value.conjugate()  # np.conj would make a complex128 of it, which is too strong beside complex64
    dtype = getattr(value, "dtype", None)
    return np.conj(value) if dtype is not None and dtype.kind == "c" else value
