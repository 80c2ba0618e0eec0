"""Are loops that Python looks into run as fast as others, and is nothing done in them that Python would not have come to?"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz.plan.kernels import run_blocks, runner
from tests.plan.agree import disagreement
from tests.plan.random_loops import wrong

X = np.linspace(0.1, 1.0, 40)


def plans(f: Any) -> int:
    return sum(map(len, f.plans.values()))


def loops_in_python(f: Any, *args: Any) -> int:
    return [line.kind for line in f.explain(*args).lines].count("loop")


def newton(a: Any) -> Any:
    x = a
    for _ in range(60):
        step = (x * x * x - a) / (3 * x * x)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def fixed_point(a: Any) -> Any:
    x = a
    while abs(x - np.cos(x) * a) > 1e-9:
        x = x - 0.2 * (x - np.cos(x) * a)
    return x


def stepped(y: Any, rate: Any) -> Any:
    """Heun's method with a step size that follows the error, and steps that may be refused."""
    t, h = 0.0 * y, 0.05 + 0.0 * y
    while t < 2.0:
        first = -rate * (y - np.cos(t))
        second = -rate * (y + h * first - np.cos(t + h))
        error = abs(0.5 * h * (second - first))
        if error > 1e-3:
            h = h * 0.5
            continue
        t, y = t + h, y + 0.5 * h * (first + second)
        h = h * np.minimum(1.2, 0.9 * (1e-4 / (error + 1e-9)) ** 0.5)
    return y


def logarithms(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        if x[k] <= 0:
            break
        total = total + np.log(x[k]) * x[k]
    return total


def carried_logarithms(x: Any) -> Any:
    total = 1.0
    for k in range(len(x)):
        if not x[k] > 0:
            return -total
        total = np.log(x[k]) * 0.1 + np.sqrt(x[k]) * total * 0.5
    return total


def counted(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] * int(x[k] * 10.0 < 20.0)
    return total


def nested(x: Any) -> Any:
    total = 0.0
    for i in range(10):
        s = x[i]
        for j in range(10):
            if s > -2.0:
                s = np.sin(s + x[j]) * 0.7
        if s < 2.0:
            total = total + s
    return total


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (newton, [(1e6,), (1.000001e6,), (20.0,), (1e6,)]),
        (fixed_point, [(0.9,), (0.9 + 1e-9,), (0.3,)]),
        (stepped, [(0.5, 3.0), (0.5 + 1e-9, 3.0), (0.5, 40.0), (-1.0, 1.0)]),
        (logarithms, [(X,), (X * 0.9,), (X - 0.5,), (X[::-1] - 0.5,)]),
        (carried_logarithms, [(X,), (X * 0.9,), (X[::-1] - 0.5,), (X - 0.5,)]),
        (counted, [(X,), (X * 0.9,), (X * 2.5,)]),
        (nested, [(X,), (X * 0.9,), (X - 3.0,)]),
    ],
)
def test_loops_that_python_looks_into_are_kernels(f: Any, calls: Any) -> None:
    for g in (f, gv.value_and_grad(f, tuple(range(len(calls[0]))))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert disagreement(g, calls, 1e-9) is None
        made = gv.compile(g)
        made(*calls[0])
        made(*calls[1])
        assert plans(made) == 1
        assert loops_in_python(made, *calls[0]) == 0


def test_turns_that_python_would_not_have_come_to_raise_nothing() -> None:
    def solved(a: Any) -> Any:
        total = 0.0
        for k in range(len(a)):
            if a[k, 0, 0] == 0:
                break
            total = total + np.sum(np.linalg.inv(a[k]))
        return total

    some = np.array([np.eye(2) * (k + 1.0) for k in range(20)])
    fewer = some.copy()
    fewer[13:] = 0  # no inverse
    assert disagreement(gv.value_and_grad(solved), [(some,), (fewer,), (some * 2,)]) is None


def test_what_is_donated_is_not_overwritten_before_a_loop_has_been_looked_at() -> None:
    def step(x: Any, m: Any) -> Any:
        y = x * 2.0  # made in the memory of x
        z = m @ np.array([1.0, 2.0, 3.0])
        for _ in range(20):
            z = m @ z
            if np.sum(z) > 100.0:
                return x + 1.0
        return y

    mine = gv.compile(step, donate="x")
    for scale in (1.0, 0.5, 1.3, 2.0, 1.0):
        m = np.eye(3) * scale
        np.testing.assert_allclose(mine(X.copy(), m), step(X, m))
    assert plans(mine) == 3


def written_in_turns(x: Any) -> Any:
    c = np.zeros_like(x)
    for i in range(20):
        for j in range(9):
            c[j] += x[i] * 0.5  # all at once; the loop around carries what that gives
        if c[0] > 50.0:
            break
    return np.sum(np.sin(c))


def carried_through(x: Any) -> Any:
    y = x * 0.5
    for i in range(11):
        for j in range(9):
            y[j] += 0.1 * y[0]  # read by the next turn of the loop around only
        y = y - 0.2 * (y - np.cos(y) * x[i])
    return np.sum(y)


@pytest.mark.parametrize("f", [written_in_turns, carried_through])
def test_what_a_loop_inside_gives_is_carried_by_the_loop_around(f: Any) -> None:
    second = gv.grad(lambda x: np.sum(gv.grad(f)(x) ** 2))
    for g in (f, gv.value_and_grad(f), second):
        assert disagreement(g, [(X,), (X * 0.9,), (X * 20.0,)], 1e-9) is None


@pytest.mark.parametrize(
    "order",
    [
        slice(None), slice(None, None, -1), slice(None, None, 2), [*range(5, 40), *range(5)], [3, 2, 1, 0, 1, 2, 3, *range(30, 20, -1)],
        [7, 7, 8, 9, *range(9, 0, -1)],
    ],
    ids=str,
)  # fmt: skip
def test_a_stack_of_what_a_loop_made_is_a_part_of_it(order: Any) -> None:
    def f(x: Any) -> Any:
        made = [np.sin(x[k]) * x[0] for k in range(len(x))]
        picked = made[order] if isinstance(order, slice) else [made[k] for k in order]
        return np.sum(np.stack(picked) ** 2 * np.arange(len(picked)))

    for g in (f, gv.grad(f)):
        assert disagreement(g, [(X,), (X * 0.9,)]) is None


@pytest.mark.parametrize("seed", [*range(13), *range(14, 20), 1275])
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 4:  # kernels run by NumPy need not be compiled
        monkeypatch.setattr(runner, "runner", lambda: run_blocks)
    assert wrong(seed) is None
