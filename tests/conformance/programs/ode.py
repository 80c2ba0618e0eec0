"""ode: steps of Runge and Kutta through y' = (x₀, x₁ y₀, x₂ y₁, ...)."""

from __future__ import annotations

from typing import Any

import numpy

from tests.conformance.programs.program import Program

STEPS = 8


def last(np: Any, x: Any) -> Any:
    """The last component at time 2, of fourth order in the step."""
    step = 2.0 / STEPS

    def slope(y: Any) -> Any:
        return x * np.concatenate([numpy.ones(1), y[:-1]])

    y = numpy.zeros(len(x))
    for _ in range(STEPS):
        k1 = slope(y)
        k2 = slope(y + step / 2 * k1)
        k3 = slope(y + step / 2 * k2)
        k4 = slope(y + step * k3)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[-1]


PROGRAMS = (Program("ode", last, lambda: (numpy.random.default_rng(14).uniform(0.5, 1.5, size=6),)),)
