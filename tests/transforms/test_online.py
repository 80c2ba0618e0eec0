"""Does a loop under a budget give the same gradient, to the last bit, within that budget?"""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import GradvizError

N = 50_000
NBYTES = 8 * N


def step(x, w):
    y = np.sin(x * w)
    return x + 0.01 * y * np.cos(y)


def end(step, length):
    def f(x, w):
        count = 0
        while count < length:
            x = step(x, w)
            count += 1
        return np.sum(x * x)

    return f


def inputs(n=N):
    return np.linspace(0, 1, n), np.linspace(1, 2, n)


def test_memory_stays_below_the_budget():
    length, budget = 60, 20 * NBYTES
    calls = 0

    @gv.checkpoint(budget_bytes=budget)
    def counted(x, w):
        nonlocal calls
        calls += 1
        return step(x, w)

    gradient, x, w = gv.grad(end(counted, length), (0, 1)), *inputs()
    gv.grad(end(counted, 3), (0, 1))(*inputs(10))
    calls = 0
    tracemalloc.start()
    try:
        got = gradient(x, w)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < budget < length * NBYTES
    assert calls < 4 * length  # the run, the reversal, and less than two repetitions
    for g, want in zip(got, gv.grad(end(step, length), (0, 1))(x, w), strict=True):
        assert np.array_equal(g, want)


@pytest.mark.parametrize("budget", [150_000, 60_000, 25_000])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 40])
def test_equal_to_the_last_bit(length, budget):
    x, w = inputs(100)
    limited = gv.checkpoint(step, budget_bytes=budget)
    for g, want in zip(
        gv.grad(end(limited, length), (0, 1))(x, w), gv.grad(end(step, length), (0, 1))(x, w), strict=True
    ):
        assert np.array_equal(g, want)


def noisy(step):
    """Random numbers from three sources, within the steps and between some of them."""

    def f(x):
        generator = np.random.default_rng(3)
        for k in range(40):
            x = step(x, generator)
            if k % 10 == 9:
                np.random.rand()  # noqa: NPY002 - as people write it
        return np.sum(x * x)

    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    return gv.grad(f)(np.linspace(0, 1, 1000))


def drawn(x, generator):
    return x + 0.1 * np.sin(x) * (generator.standard_normal(1000) + np.random.rand() + random.random())  # noqa: NPY002


def test_random_numbers_are_the_same_in_each_repetition():
    assert np.array_equal(noisy(gv.checkpoint(drawn, budget_bytes=300_000)), noisy(drawn))


def test_trees_second_derivatives_and_several_pulls():
    def move(state, rate):
        position, speed = state["position"], state["speed"]
        speed = speed - rate * np.sin(position)
        return {"position": position + rate * speed, "speed": speed, "count": state["count"] + 1}

    def f(x, move):
        state = {"position": x, "speed": np.zeros_like(x), "count": 0}
        while state["count"] < 30:
            state = move(state, 0.1)
        return np.sum(state["position"] ** 2)

    x, limited = np.linspace(0, 1, 50), gv.checkpoint(move, budget_bytes=120_000)
    assert np.array_equal(gv.grad(f)(x, limited), gv.grad(f)(x, move))
    v = np.ones(50)
    assert np.allclose(gv.hvp(lambda x: f(x, limited), (x,), (v,)), gv.hvp(lambda x: f(x, move), (x,), (v,)))
    twice = gv.grad(lambda x: np.sum(gv.grad(lambda y: f(y, limited))(x)))(x)
    assert np.allclose(twice, gv.hvp(lambda x: f(x, move), (x,), (v,)))
    _, pull = gv.vjp(lambda x: f(x, limited), x)
    assert np.array_equal(pull(1.0)[0], pull(1.0)[0])


def test_a_state_that_is_written_to_between_calls():
    def f(x, step):
        for k in range(20):
            x = step(x, 0.5)
            if k % 3 == 0:
                x[0] = 0.1 * k
        return np.sum(x * x)

    x = np.linspace(0, 1, 1000)
    assert np.array_equal(gv.grad(f)(x, gv.checkpoint(step, budget_bytes=200_000)), gv.grad(f)(x, step))


def test_what_a_call_was_given_may_be_written_to_later():
    def f(x):
        a = x * 2.0
        b = gv.checkpoint(np.sin)(a)
        a[0] = 0.0
        return np.sum(b)

    x = np.array([0.3, 0.6])
    assert np.allclose(gv.grad(f)(x), 2 * np.cos(2 * x))


def test_a_budget_below_one_call():
    with pytest.raises(GradvizError, match=r"budget_bytes=1,000 is too small: one call of step needs [\d,]+ bytes"):
        gv.grad(end(gv.checkpoint(step, budget_bytes=1000), 3))(*inputs())
