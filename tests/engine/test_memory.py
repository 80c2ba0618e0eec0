"""Are saved values brought to safety before a write, all of them and no others?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.engine.memory import bounds, region
from gradviz.record.events import Reason

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "view",
    [lambda a: a, lambda a: a[1:], lambda a: a[::-2], lambda a: a.T, lambda a: a[:, ::-1], lambda a: a[0, 0, None]],
)
def test_bounds_hold_every_byte(view):
    whole = np.arange(12.0).reshape(3, 4)
    part = view(whole)
    first, last = bounds(part)
    start = whole.__array_interface__["data"][0]
    places = (part.ravel() * 8).astype(int)
    assert first == start + places.min()
    assert last == start + places.max() + 7


@pytest.mark.parametrize("index", [0, (0, 1), slice(1, 2), ..., ([0], [1]), np.array([True, False])])
def test_the_region_holds_what_an_index_reaches(index):
    whole = np.zeros((2, 3))
    assert np.shares_memory(region(whole, index), whole)
    before = whole.copy()
    whole[index] = 1
    part = region(whole, index)
    assert np.count_nonzero(part) == np.count_nonzero(whole - before)


def test_only_what_overlaps_is_copied():
    def f(x):
        rows = gnp.zeros((10, 3))
        total = 0.0
        for i in range(10):
            rows[i] = x * float(i)
            total = total + np.sum(rows[i] * rows[i])
        rows[4] = 0.0
        return total + np.sum(rows)

    with gv.profile() as p:
        g = gv.grad(f)(X)
    assert np.allclose(g, 2 * X * sum(i * i for i in range(10)) + sum(range(10)) - 4)
    copies = p.trace.copies
    rescued = copies["reason"] == Reason.SAVED_VALUE
    assert np.all(copies["nbytes"][rescued] == 24)
    assert np.count_nonzero(rescued) == 1


def test_a_value_in_a_list_of_saved_values():
    def f(x):
        a, b = x * 1.0, x * 2.0
        y = np.einsum("i,i,i->", a, b, x)
        a[:] = 0.0
        b[:] = 0.0
        return y + np.sum(a * b)

    assert np.allclose(gv.grad(f)(X), 6 * X**2)


def test_a_0d_array_in_place():
    def f(x):
        a = np.copy(x)
        y = a * a
        a += 1.0
        a *= x
        return y * a

    h = 1e-6
    value = lambda x: x * x * (x + 1) * x  # noqa: E731
    assert np.isclose(gv.grad(f)(0.7), (value(0.7 + h) - value(0.7 - h)) / (2 * h))
    assert np.isclose(gv.grad(f)(np.array(0.7)), gv.grad(f)(0.7))
