"""Do loops that no kernel can do give what Python gives, whatever is handed on, read and kept?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradviz as gv
from tests.plan.agree import disagreement
from tests.plan.run import random_turns

rng = np.random.default_rng(0)
W, V = rng.normal(size=(5, 5)) / 3, rng.normal(size=(5, 3))
X = rng.normal(size=(12, 3))
H = rng.normal(size=5)
ORDER = [3, 0, 11, 5, 5, 2, 9, 1, 7, 10, 4, 6]


def recurrent(w: Any, v: Any, x: Any) -> Any:
    h = np.zeros(5)
    for row in x:
        h = np.tanh(w @ h + v @ row)
    return np.sum(h * h)


def backwards(w: Any, v: Any, x: Any) -> Any:
    h = H
    for t in reversed(range(len(x))):
        h = np.tanh(w @ h + v @ x[t])
    return np.sum(h)


def in_any_order(w: Any, v: Any, x: Any) -> Any:
    h = H
    for t in ORDER:
        h = np.tanh(w.T @ h + v @ x[t, ::-1])
    return np.sum(h**3)


def columns(w: Any, v: Any, x: Any) -> Any:
    h, total = H, 0.0
    for t in range(12):
        h = np.sin(w @ h + v @ x.T[:, t])
        total = total + h[2] * np.sum(h)
    return total


def swapped(w: Any, v: Any, x: Any) -> Any:
    a, b = H, H * 2.0
    for row in x:
        a, b = b, w @ a + np.cos(b) * (v @ row)
    return np.sum(a * b)


def kept(w: Any, v: Any, x: Any) -> Any:
    h, states = H, []
    for row in x:
        h = np.tanh(w @ h + v @ row)
        states.append(h)
    return np.sum(np.stack(states)[::2] ** 2) + np.sum(states[3] * states[-2])


def written(w: Any, v: Any, x: Any) -> Any:
    grid = np.zeros_like(w, shape=(12, 5))
    grid[0] = H
    for t in range(1, 12):
        grid[t] = np.tanh(w @ grid[t - 1]) + v @ x[t]
        grid[t, 0] *= 2.0
    return np.sum(grid**2)


def diffused(w: Any, v: Any, x: Any) -> Any:
    u = x * 1.0
    for _ in range(10):
        u[1:-1] += 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1]) @ (v.T @ w @ v)
    return np.sum(u**2)


def nested(w: Any, v: Any, x: Any) -> Any:
    h = H
    for t in range(10):
        g = h
        for s in range(9):
            g = np.tanh(w @ g + v @ (x[t] * x[s]))
        h = h + 0.1 * g
    return np.sum(h)


def decomposed(w: Any, v: Any, x: Any) -> Any:
    a = w @ w.T + np.eye(5)
    for row in x:
        a = np.linalg.inv(a) + np.outer(v @ row, v @ row) + np.eye(5)
    return np.linalg.slogdet(a)[1]


def unchanging(w: Any, v: Any, x: Any) -> Any:
    h, k, c = H, 1.0, np.ones(5)
    for row in x:
        h = np.tanh(w @ h + c * (v @ row)) * k
        k = 0.5
        c = H
    return np.sum(h)


FUNCTIONS = [
    recurrent, backwards, in_any_order, columns, swapped, kept, written, diffused, nested, decomposed, unchanging
]  # fmt: skip
ARGUMENTS = [(W, V, X), (W * 0.9, np.asfortranarray(V), X[::-1]), (W.T, V + 0.1, np.asfortranarray(X))]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Any) -> None:
    assert disagreement(f, ARGUMENTS, 1e-9) is None
    assert disagreement(gv.value_and_grad(f, (0, 1, 2)), ARGUMENTS, 1e-9) is None


@pytest.mark.parametrize("f", [recurrent, kept, written, nested], ids=lambda f: f.__name__)
def test_second_derivatives(f: Any) -> None:
    def along(w: Any, v: Any, x: Any) -> Any:
        return gv.hvp(lambda w: f(w, v, x), (w,), (np.ones_like(w),))

    assert disagreement(along, ARGUMENTS, 1e-8) is None


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype: Any) -> None:
    w, v, x = (a.astype(dtype) * (1 if dtype is np.float32 else 0.5 + 0.5j) for a in (W, V, X))

    def f(w: Any, v: Any, x: Any) -> Any:
        h = np.zeros(5, dtype)
        for row in x:
            h = np.tanh(w @ h + v @ row)
        return np.sum(np.abs(h) ** 2)

    assert disagreement(gv.value_and_grad(f, (0, 1, 2)), [(w, v, x), (w * 0.5, v, x[::-1])], 1e-4) is None


def test_they_are_loops_of_steps() -> None:
    made = gv.compile(gv.grad(recurrent))
    made(W, V, X)
    kinds = [line.kind for line in made.explain(W, V, X).lines]
    assert kinds.count("loop") == 2
    assert any("in each of" in reason for _, reason, _ in made.explain(W, V, X).copies)
    inside = [p.steps for _, p in made.path(W, V, X).plan.prepared.insides.values()]
    assert all(2 <= len(steps) <= 4 for steps in inside)


def test_results_are_not_overwritten_by_the_next_call() -> None:
    made = gv.compile(kept_rows)
    first = made(W, V, X)
    before = [np.array(one) for one in first]
    made(W * 0.5, V, X)
    for was, one in zip(before, first, strict=True):
        np.testing.assert_array_equal(was, one)


def kept_rows(w: Any, v: Any, x: Any) -> Any:
    h, states = H, []
    for row in x:
        h = np.tanh(w @ h + v @ row)
        states.append(h)
    return np.stack(states), h


@pytest.mark.parametrize("seed", range(40))
def test_random_turns(seed: int) -> None:
    source, f = random_turns.program(seed)
    calls = random_turns.arguments(seed)
    gradient = gv.value_and_grad(f, (0, 1))
    assert disagreement(gradient, calls, 1e-7) is None, source
    if seed % 4 == 0:
        along = lambda w, x: gv.hvp(lambda w: f(w, x), (w,), (np.cos(w),))  # noqa: E731
        assert disagreement(along, calls, 1e-6) is None, source
