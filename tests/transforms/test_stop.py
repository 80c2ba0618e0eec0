"""Does no derivative flow through what was stopped?"""

from __future__ import annotations

import numpy as np

import gradviz as gv

X = np.array([1.0, 2.0, 3.0])


def test_in_both_modes_and_trees():
    def f(x):
        stopped = gv.stop_gradient({"a": [x, x * 2], "n": None, "k": 3})
        return np.sum(x * stopped["a"][0]) + np.sum(stopped["a"][1])

    assert np.array_equal(gv.grad(f)(X), X)
    assert gv.jvp(f, (X,), (np.ones(3),))[1] == 6


def test_one_level_only():
    assert np.array_equal(
        gv.grad(lambda x: np.sum(gv.grad(lambda y: np.sum(y * gv.stop_gradient(y)))(x)))(X), np.ones(3)
    )


def test_later_writes_do_not_reach_it():
    def f(x):
        y = x * 1.0
        stopped = gv.stop_gradient(y)
        y[0] = 100.0
        return np.sum(x * stopped)

    assert np.array_equal(gv.grad(f)(X), X)
