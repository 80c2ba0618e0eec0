"""Do rows picked several times get the sum of their cotangents, fast?"""

from __future__ import annotations

import time

import numpy as np
import pytest

import gradviz as gv
from gradviz.engine.cotangent import add_at

rng = np.random.default_rng(0)

INDICES = [
    np.array([0, 0, 6, -1]),
    (np.array([0, 0, 6]), np.array([1, 1, -1])),
    (np.array([0, 0, 6]), 2),
    (np.array([[0], [1]]), np.array([0, 0, 2])),
    (np.array([0, 0]), np.array([1, 1]), np.array([2, 2])),
    [1, 1, 2],
    (slice(None), [1, 1]),
    (None, [0, 0]),
    (Ellipsis, [2, 2, -1]),
    np.zeros((0,), int),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_add_at_is_numpys(index, dtype, order):
    mine = np.zeros((7, 5, 3), dtype, order=order)
    theirs = mine.copy()
    value = rng.normal(size=mine[index].shape).astype(dtype)
    add_at(mine, index, value)
    np.add.at(theirs, index, value)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_long_rows_in_several_pieces():
    table, words = rng.normal(size=(50, 3000)), rng.integers(-50, 50, 200)
    weights = rng.normal(size=(200, 3000))
    want = np.zeros_like(table)
    np.add.at(want, words, weights)
    np.testing.assert_allclose(gv.grad(lambda t: np.sum(t[words] * weights))(table), want)


@pytest.mark.alone
def test_rows_are_added_faster_than_by_numpy():
    table, words = np.zeros((20_000, 128)), rng.integers(0, 20_000, 10_000)
    value = rng.normal(size=(10_000, 128))
    mine, theirs = [], []
    for _ in range(5):
        for took, add in ((mine, add_at), (theirs, np.add.at)):
            start = time.process_time()
            add(table, words, value)
            took.append(time.process_time() - start)
    assert min(mine) < 0.7 * min(theirs)


def test_picking_from_what_was_picked():
    x, w = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    got = gv.grad(lambda x: np.sum(w * x[[2, 0, 2]][[0, 2]]))(x)
    want = np.zeros_like(x)
    want[2] = w[0] + w[1]
    np.testing.assert_allclose(got, want)


def test_broadcast_and_whole_contributions_meet():
    x = rng.normal(size=3)
    got = gv.grad(
        lambda x: np.sum(np.broadcast_to(x, (4, 3)) * 2.0) + np.sum(x * x) + np.sum(np.broadcast_to(x, (2, 3))[1])
    )(x)
    np.testing.assert_allclose(got, 8 + 2 * x + 1)
