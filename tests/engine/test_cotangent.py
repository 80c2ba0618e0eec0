"""Do cotangents of parts, views and shared arrays add up right, whatever the order of axes?"""

from __future__ import annotations

from operator import getitem

import numpy as np
import pytest

import gradviz as gv
from gradviz.engine.cotangent import add_at, add_part, fit, is_basic, may_repeat, own, owned, unbroadcast
from gradviz.engine.mutate import take
from gradviz.engine.rule import RULES

X = np.arange(6.0).reshape(2, 3)


def test_owned():
    array = np.ones(3)
    assert owned(array)
    other = array
    assert not owned(array)
    del other
    view = array[1:]
    assert not owned(array)
    assert not owned(view)
    del array
    assert owned(view)
    assert not owned(np.broadcast_to(np.ones(1), (3,)))
    array = np.ones(3)
    array.flags.writeable = False
    assert not owned(array)


def test_a_copy_keeps_the_layout():
    """Whether a cotangent is copied depends on who else holds it, such as a recorder; a sum over either rounds in the same way."""
    array = np.asfortranarray(X)
    held = array
    mine = own(array)
    assert mine is not held
    assert mine.strides == held.strides


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_part_behind_a_reshape(order):
    """Such a view exists in one order of axes only; the other must not lose what is added."""
    whole = np.zeros((2, 3), order=order)
    reshape = RULES.get(np.reshape) or next(rule for rule, _ in views_of_ravel())
    got = add_part(whole, ((reshape, ((6,),)), (take, (slice(1, 3),))), np.ones(2))
    assert got is whole
    assert got.tolist() == [[0, 1, 1], [0, 0, 0]]


def views_of_ravel():
    found = []
    gv.grad(lambda x: (found.extend(x.reshape(-1).views), np.sum(x))[1])(X)
    return found


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("second", [False, True])
def test_views_of_an_accumulated_cotangent(order, second):
    def f(x):
        y = x * 1.0
        flat = np.reshape(y, -1)
        return (
            np.sum(y * y * y)
            + np.sum(flat[1:3] ** 2)
            + np.sum(np.diagonal(y)) * np.sum(y.T)
            + np.sum(y[..., None] ** 2)
        )

    x = np.array(X, order=order)

    def want(x):
        whole = 3 * x * x + 2 * x + np.trace(x[:, :2])
        whole[[0, 1], [0, 1]] += np.sum(x)
        flat = np.zeros(6)
        flat[1:3] = 2 * x.reshape(-1)[1:3]
        return whole + flat.reshape(2, 3)

    if not second:
        assert np.allclose(gv.grad(f)(x), want(X))
    else:
        hessian = gv.hessian(f)(x)
        h = 1e-6
        for at in np.ndindex(2, 3):
            d = np.zeros((2, 3))
            d[at] = h
            assert np.allclose(hessian[at], (want(X + d) - want(X - d)) / (2 * h), atol=1e-6)
        assert np.allclose(hessian, gv.jacobian(gv.grad(f), mode="reverse")(x))


@pytest.mark.parametrize(
    ("ct", "shape", "want"),
    [
        (np.ones((2, 3)), (3,), [2, 2, 2]),
        (np.ones((2, 3)), (2, 1), [[3], [3]]),
        (np.ones((2, 3)), (), 6),
        (np.ones(3), (1, 1, 3), [[[1, 1, 1]]]),
        (np.ones(0), (1, 1), [[0]]),
        (np.ones((2, 0)), (2, 1), [[0], [0]]),
        (np.ones(()), (2,), [1, 1]),
    ],
)
def test_unbroadcast(ct, shape, want):
    got = unbroadcast(ct, shape)
    assert got.shape == shape
    assert np.array_equal(got, want)


def test_fit_keeps_what_a_real_input_can_take():
    got = fit(np.array([1 + 2j, 3j]), ((2,), np.dtype(np.float32)))
    assert got.dtype == np.float32
    assert got.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("index", "basic", "repeats"),
    [
        (0, True, False), (slice(None), True, False), ((0, None, ...), True, False), (np.int64(1), True, False),
        (True, False, False), ([0, 0], False, True), (np.array([0]), False, False), (np.array([True, False]), False, False),
        ((slice(None), [1, 1]), False, True),
    ],
)  # fmt: skip
def test_indices(index, basic, repeats):
    assert is_basic(index) == basic
    assert may_repeat(index) == repeats


@pytest.mark.parametrize(
    "index", [np.array([0, 1, 0]), (np.array([0, 1]), np.array([2, 2])), np.array([[-1, 0], [0, 0]])]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_add_at_is_numpys(index, dtype):
    values = np.random.default_rng(0).standard_normal(getitem(np.zeros((2, 3)), index).shape).astype(dtype)
    got, want = np.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
    add_at(got, index, values)
    np.add.at(want, index, values)
    assert np.allclose(got, want)
