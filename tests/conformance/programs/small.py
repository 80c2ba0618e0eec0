"""hello, llsq, lse and det: one idea each."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tests.conformance.programs.program import Program


def square(np: Any, x: Any) -> Any:
    return x * x


def least_squares(np: Any, x: Any) -> Any:
    """How far a polynomial with coefficients ``x`` is from the sign of t at 65 places between -1 and 1."""
    t = numpy.linspace(-1.0, 1.0, 65)
    fitted, power = 0.0, numpy.ones_like(t)
    for k in range(len(x)):
        fitted = fitted + x[k] * power
        power = power * t
    return 0.5 * np.sum((numpy.sign(t) - fitted) ** 2)


def log_sum_exp(np: Any, x: Any) -> Any:
    most = np.max(x)
    return most + np.log(np.sum(np.exp(x - most)))


def det_by_minors(np: Any, a: Any) -> Any:
    """Expansion along the first row, entry by entry."""

    def minor(row: int, columns: tuple[int, ...]) -> Any:
        if len(columns) == 1:
            return a[row, columns[0]]
        total = 0.0
        for k, column in enumerate(columns):
            sign = -1.0 if k % 2 else 1.0
            total = total + sign * a[row, column] * minor(row + 1, columns[:k] + columns[k + 1 :])
        return total

    return minor(0, tuple(range(a.shape[0])))


PROGRAMS = (
    Program("hello", square, lambda: (math.pi,)),
    Program("llsq", least_squares, lambda: (numpy.random.default_rng(0).normal(size=12),)),
    Program("lse", log_sum_exp, lambda: (numpy.random.default_rng(1).normal(scale=300.0, size=200),)),
    Program("det", det_by_minors, lambda: (numpy.random.default_rng(2).normal(size=(5, 5)),)),
)
