"""Do plain arrays that change under a pullback still give the right gradient, or an error?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.engine.constants import COPIED_NBYTES
from gradviz.errors import ChangedArrayError

SMALL, LARGE = COPIED_NBYTES // 8, COPIED_NBYTES


def weighted(n, change, use=lambda x, w: x * w):
    """A sum weighted by a plain array, which then changes."""

    def f(x):
        w = np.full(n, 2.0)
        total = np.sum(use(x, w))
        change(w)
        return total + 0.0 * np.sum(x)

    return f


def double(w):
    w *= 2.0


USES = {
    "multiply": lambda x, w: x * w,
    "einsum": lambda x, w: np.einsum("i,i->i", x, w),
    "in place": lambda x, w: np.multiply(x * 1.0, w, out=x * 1.0),
    "augmented": lambda x, w: x.copy().__imul__(w),
    "list": lambda x, w: np.linalg.multi_dot([x[None], w[:, None]]),
    "rule of a user": lambda x, w: scaled(x, w),
}


@gv.rule
def scaled(x, w):
    return x * w


@scaled.pullback
def scaled_to_x(ct, w):
    return ct * w


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("nested", [False, True])
def test_a_small_array_may_change(use, nested):
    gradient = gv.grad(weighted(SMALL, double, USES[use]))
    if nested:
        inner = gradient
        gradient = gv.grad(lambda x: np.sum(x * inner(x)))
    assert np.allclose(gradient(np.ones(SMALL)), 2.0)


@pytest.mark.parametrize("use", USES)
def test_a_large_array_may_not(use):
    with pytest.raises(
        ChangedArrayError, match=r"shape \(.*changed in place before the gradient.*gradviz\.numpy\.array"
    ):
        gv.grad(weighted(LARGE, double, USES[use]))(np.ones(LARGE))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_columns_of_large_arrays_are_looked_at(order):
    for part in ((3,), (slice(None), 3), (slice(None, None, 2), slice(None))):
        w = np.asarray(np.ones((50, 50)), order=order)
        _, pull = gv.vjp(lambda x, w=w: x * w, np.ones((50, 50)))
        w[part] = 0.0
        with pytest.raises(ChangedArrayError):
            pull(np.ones((50, 50)))
        w[part] = 1.0
        assert np.array_equal(pull(np.ones((50, 50)))[0], w)


def test_an_array_kept_in_two_states():
    def f(x):
        w, total = np.zeros(LARGE), 0.0
        for k in range(3):
            w[:] = k
            total = total + np.sum(x * w)
        return total

    with pytest.raises(ChangedArrayError):
        gv.grad(f)(np.ones(LARGE))


def test_no_alarm_where_no_gradient_needs_the_array():
    def f(x):
        w = np.ones(LARGE)
        unused = x * w
        y = x + w  # a sum keeps nothing
        w *= 2.0
        return np.sum(y) + 0.0 * unused.size

    assert np.array_equal(gv.grad(f)(np.ones(LARGE)), np.ones(LARGE))


def change_one(w):
    w[5] = 7.0


def test_one_entry_is_seen_when_asked_for():
    gradient = gv.grad(weighted(LARGE, change_one))
    with (
        pytest.raises(ChangedArrayError, match=r"multiply keeps for its pullback \(.*test_constants\.py:\d+\)"),
        gv.profile(check="constants"),
    ):
        gradient(np.ones(LARGE))


def test_arrays_die_with_their_records():
    """What is noted of an array does not hold it."""
    alive = []

    @gv.rule
    def passed(x):
        return x * 1.0

    @passed.pullback
    def passed_to_x(ct):
        alive.append(sum(ref() is not None for ref in refs))
        return ct

    import weakref

    refs = []

    def f(x):
        for _ in range(4):
            w = np.full(LARGE, 0.5)
            refs.append(weakref.ref(w))
            x = passed(x) * w
        return np.sum(x)

    gv.grad(f)(np.ones(LARGE))
    assert alive == [3, 2, 1, 0]
