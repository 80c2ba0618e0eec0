"""Does a checkpoint change memory only?"""

from __future__ import annotations

import functools
import random
import tracemalloc

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import NotDifferentiableError, WriteError

X = np.array([0.3, 0.6, 0.9])


def same(make):
    """Value, gradient, second derivatives and forward mode of a program that takes ``checkpoint``, with and without it."""
    mine, plain = make(gv.checkpoint), make(lambda f: f)
    for differentiate in (
        gv.value_and_grad,
        gv.hessian,
        lambda f: lambda x: gv.grad(lambda y: np.sum(gv.grad(f)(y) ** 2))(x),
        lambda f: lambda x: gv.jvp(f, (x,), (x,)),
    ):
        outcomes = []
        for f in (mine, plain):
            np.random.seed(0)  # noqa: NPY002 - programs as people write them
            random.seed(0)
            outcomes.append(differentiate(f)(X))
        for a, b in (
            zip(*map(np.atleast_1d, outcomes), strict=True)
            if not isinstance(outcomes[0], tuple)
            else zip(*outcomes, strict=True)
        ):
            assert np.allclose(a, b)


def nested(checkpoint):
    return lambda x: np.sum(checkpoint(lambda q: checkpoint(np.sin)(q * q) * q)(x))


def closure(checkpoint):
    def f(w):
        layer = lambda q: np.tanh(q * w)  # noqa: E731
        return np.sum(checkpoint(lambda q: layer(layer(q)))(w * 1.0))

    return f


def defaults(checkpoint):
    def f(w):
        y = w * 2.0
        for k in range(2):
            y = checkpoint(lambda q, w=w * (k + 1), *, s=w: np.sin(q * w) + s * q)(y)
        return np.sum(y)

    return f


def trees(checkpoint):
    def block(p, *, scale):
        return {"y": p["w"] * p["b"] * scale, "none": None, "three": 3, "twice": p["w"] * 2.0}

    return lambda w: np.sum(checkpoint(block)({"w": w, "b": np.sum(w)}, scale=w)["y"])


def drawn(checkpoint):
    def f(w):
        generator = np.random.default_rng(5)

        def block(q, g):
            return q * generator.standard_normal(3) + np.random.rand(3) * np.sin(q) + random.random() * q * g.random()  # noqa: NPY002

        return np.sum(checkpoint(block)(w, np.random.default_rng(6)) ** 2)

    return f


def written(checkpoint):
    def block(q):
        q = q * 1.0
        q[0] = q[1] * q[2]
        q += 1.0
        return q, q[1:]

    def f(w):
        y, part = checkpoint(block)(w)
        y[1] = 0.0
        return np.sum(y * y) + np.sum(part * part) + np.sum(w)

    return f


def partial(checkpoint):
    return lambda w: np.sum(checkpoint(functools.partial(lambda a, q, s: a * np.sin(q * s), w, s=2.0))(w))


@pytest.mark.parametrize("program", [nested, closure, defaults, trees, drawn, partial])
def test_same_numbers(program):
    same(program)


def test_results_that_share_memory_come_apart():
    def f(w):
        part = gv.checkpoint(lambda q: q[1:])(w)
        part[0] = 0.0
        return np.sum(part * part) + np.sum(w)

    x = X.copy()
    assert np.allclose(gv.grad(f)(x), [1, 1, 2.8])
    assert np.array_equal(x, X)


def test_nonlocal_counts():
    calls = 0

    def block(q):
        nonlocal calls
        calls += 1
        return q * q

    gv.grad(lambda x: np.sum(gv.checkpoint(block)(x)))(X)
    assert calls == 2


def test_a_write_to_an_argument_is_refused():
    def block(q):
        q[0] = 0.0
        return q * q

    x = X.copy()
    with pytest.raises(WriteError, match=r"block.*x = x\.copy\(\)"):
        gv.grad(lambda w: np.sum(gv.checkpoint(block)(w)))(x)
    assert np.array_equal(x, X)


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, q):
        return q * self.w


def test_an_array_out_of_sight_is_an_error():
    with pytest.raises(NotDifferentiableError, match=r"through an object or a global.*Pass that array as an argument"):
        gv.grad(lambda w: np.sum(gv.checkpoint(Layer(w))(w)))(X)


def test_it_saves_memory():
    def block(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    def peak(block):
        def f(x):
            for _ in range(5):
                x = block(x)
            return np.sum(x)

        gradient, x = gv.grad(f), np.ones(50_000)
        gradient(x[:10])
        tracemalloc.start()
        try:
            gradient(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(gv.checkpoint(block)) < 0.4 * peak(block)
