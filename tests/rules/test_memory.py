"""How much memory does a gradient need at its peak, beside its input and its result?"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import gradviz as gv

SIZE = 100_000

# arrays alive at the peak, the gradient itself among them
BUDGETS = {
    "sum": (np.sum, 1),
    "mean": (np.mean, 1),
    "max": (np.max, 1.2),
    "sin": (lambda x: np.sum(np.sin(x)), 1),
    "log": (lambda x: np.sum(np.log(x)), 1),
    "reciprocal": (lambda x: np.sum(1 / x), 2),
    "sqrt": (lambda x: np.sum(np.sqrt(x)), 2),
    "square": (lambda x: np.sum(x**2), 1),
    "maximum": (lambda x: np.sum(np.maximum(x, 0)), 1.5),
    "where": (lambda x: np.sum(np.where(x > 1, x, 0)), 1.2),
    "clip": (lambda x: np.sum(np.clip(x, 0.5, 1)), 1.4),
    "var": (np.var, 2),
    "prod": (np.prod, 3),
    "sort": (lambda x: np.sum(np.sort(x)), 2),
}


@pytest.mark.parametrize(("f", "arrays"), BUDGETS.values(), ids=BUDGETS)
def test_peak(f, arrays):
    x = np.linspace(0.1, 2, SIZE)
    gradient = gv.grad(f)
    gradient(x)
    tracemalloc.start()
    gradient(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / x.nbytes < arrays + 0.1
