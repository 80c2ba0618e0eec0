"""Does forward mode give values and tangents of their own, and say what was wrong?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import NotDifferentiableError

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x[1:], lambda x: x.T, lambda x: (x, x[0:2])])
def test_results_are_apart_from_inputs(f):
    x, t = X.copy(), X.copy()
    y, dy = gv.jvp(f, (x,), (t,))
    for array in (*(y if type(y) is tuple else (y,)), *(dy if type(dy) is tuple else (dy,))):
        array[...] = 0.0
    assert np.array_equal(x, X)
    assert np.array_equal(t, X)


def test_writes():
    def f(x):
        flat = x.T.reshape(-1)
        flat[0] = 5.0
        x[1] *= x[0]
        return np.sum(x * x)

    x, t = np.asfortranarray(np.arange(1.0, 7.0).reshape(3, 2)), np.arange(6.0).reshape(3, 2) + 1.0
    _y, dy = gv.jvp(f, (x,), (t,))
    assert np.isclose(dy, np.sum(gv.grad(f)(x) * t))
    assert x[0, 0] == 1
    assert t[0, 0] == 1


def test_trees_and_constants():
    y, dy = gv.jvp(lambda p: {"y": p["a"] * p["b"], "c": 3.0}, ({"a": X, "b": 2.0},), ({"a": X, "b": 1.0},))
    assert np.array_equal(dy["y"], 3 * X)
    assert dy["c"] == 0
    assert y["c"] == 3


@pytest.mark.parametrize(
    ("args", "tangents", "text"),
    [
        ((X,), (np.ones(2),), r"shape \(2,\) was given for argument 'x' of sin, which has shape \(3,\)"),
        ((1,), (1.0,), "argument 'x' of sin is of type int"),
        ((X,), (), "1 arguments and 0 tangents"),
        (((X, X),), (X,), "1 leaves, the argument has 2"),
    ],
)
def test_mistakes(args, tangents, text):
    with pytest.raises(NotDifferentiableError, match=text):
        gv.jvp(np.sin, args, tangents)
