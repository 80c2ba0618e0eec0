"""Do scan and fold thread values as a loop does?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import GradvizError

X = np.array([1.0, 2.0, 3.0])


def test_scan_is_a_loop():
    def by_scan(w, x):
        carry, ys = gv.scan(
            lambda c, row: ({"s": c["s"] * w + row["a"]}, (c["s"] * row["b"], None)), {"s": w}, {"a": x, "b": x}
        )
        return carry["s"] + np.sum(ys[0])

    def by_loop(w, x):
        s, total = w, 0.0
        for k in range(3):
            total = total + s * x[k]
            s = s * w + x[k]
        return s + total

    for got, want in zip(gv.grad(by_scan, (0, 1))(0.5, X), gv.grad(by_loop, (0, 1))(0.5, X), strict=True):
        assert np.allclose(got, want)


def test_fold():
    assert gv.grad(lambda w: gv.fold(lambda c, t: c * w + t, 0.0, X))(0.5) == 3
    assert gv.fold(lambda c, _: c + 1, 0, length=4) == 4


def test_nothing_to_collect():
    assert gv.scan(lambda c, x: (c + 1, None), 0.0, length=3) == (3.0, None)
    assert gv.scan(lambda c, x: (c, c), 0.0, np.zeros(0))[0] == 0


@pytest.mark.parametrize(
    ("xs", "length", "text"),
    [
        (None, None, "needs length="),
        ((X, X[:2]), None, "do not agree"),
        (X, 2, "do not agree"),
        (1.0, None, "do not agree"),
    ],
)
def test_mistakes(xs, length, text):
    with pytest.raises(GradvizError, match=text):
        gv.scan(lambda c, x: (c, x), 0.0, xs, length)


def root(a):
    return gv.while_loop(
        lambda s: np.any(np.abs(s["x"] ** 2 - a) > 1e-13), lambda s: {"x": (s["x"] + a / s["x"]) / 2}, {"x": a}
    )["x"]


@pytest.mark.parametrize("a", [2.0, np.array([2.0, 5.0])])
def test_while_loop(a):
    assert np.allclose(root(a), np.sqrt(a))
    assert np.allclose(gv.grad(lambda a: np.sum(root(a)))(a), 0.5 / np.sqrt(a))
    assert np.allclose(gv.grad(lambda a: np.sum(gv.grad(lambda a: np.sum(root(a)))(a)))(a), -0.25 * a**-1.5)
    assert np.allclose(gv.jvp(root, (a,), (a,))[1], 0.5 * np.sqrt(a))


def test_a_while_loop_that_ends_at_once():
    assert gv.while_loop(lambda x: x < 0, lambda x: x + 1, 1.0) == 1.0
