"""A polynomial by Horner's rule, whose backward pass fills a whole vector with zeros for each coefficient it reads.

The loop reads ``p[i]``, N times. Its cotangent belongs in one entry, but a vector is what the pullback of an indexing read is expected
to give: zeros as long as ``p``, and one number in them. N vectors of N entries; reported for N = 10 000: 17 µs forward, 679 ms and
1.5 GiB backward.

gradviz keeps the cotangent of a part as a part, and adds it in place to one vector, so a plain loop over ``p[i]`` stays linear. Here
both run at three lengths, each twice the one before: watch the bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradviz as gv

LENGTHS = (1000, 2000, 4000)


@gv.rule
def pick(p: Any, i: int) -> Any:
    """``p[i]``."""
    return p[i]


@pick.pullback
def pick_to_p(ct: Any, p: Any, i: int) -> Any:
    """A whole vector for one entry."""
    zeros = np.zeros_like(p)
    zeros[i] = ct
    return zeros


def prepare(quick: bool = False) -> tuple[list[np.ndarray], float]:
    """Coefficients of polynomials, and where to evaluate them."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(n // 4 if quick else n) for n in LENGTHS], 0.999


def as_written(polynomials: list[np.ndarray], x: float) -> list[Any]:
    """The gradients by the rule above."""

    def evalpoly(p: Any, x: Any) -> Any:
        value = pick(p, len(p) - 1)
        for i in reversed(range(len(p) - 1)):
            value = value * x + pick(p, i)
        return value

    return _gradients(evalpoly, polynomials, x)


def by_gradviz(polynomials: list[np.ndarray], x: float) -> list[Any]:
    """The gradients by plain indexing."""

    def evalpoly(p: Any, x: Any) -> Any:
        value = p[-1]
        for i in reversed(range(len(p) - 1)):
            value = value * x + p[i]
        return value

    return _gradients(evalpoly, polynomials, x)


def _gradients(evalpoly: Any, polynomials: list[np.ndarray], x: float) -> list[Any]:
    gradients = []
    for p in polynomials:
        with gv.span(f"N = {len(p)}"):
            gradients.append(gv.grad(evalpoly, argnums=(0, 1))(p, x))
    return gradients
