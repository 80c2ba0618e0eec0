"""Are loops found again, whatever stands around and inside them, and is nothing else taken for one?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz.plan.program.loop import Body
from gradviz.plan.program.program import Program
from tests.plan.agree import disagreement


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.1, 1, shape)


def loops(program: Program) -> list[str]:
    """Each loop as ``count × rows``, with those inside it in brackets."""

    def told(body: Body) -> str:
        inside = [told(program.operations[row[0]].function) for row in body.rows if is_loop(row[0])]
        return f"{body.count}" + (f"({', '.join(inside)})" if inside else "")

    def is_loop(code: int) -> bool:
        return isinstance(program.operations[code].function, Body)

    return [told(program.operations[code].function) for code in program.rows.codes.tolist() if is_loop(code)]


def product(a: Any, b: Any) -> Any:
    c = np.zeros((a.shape[0], b.shape[1]))
    c = gv.numpy.asarray(c)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(b.shape[0]):
                total = total + a[i, k] * b[k, j]
            c[i, j] = total
    return np.sum(c * c)


def evenly(x: Any) -> Any:
    total = 0.0
    for k in range(60):
        total = total + (x[k] * x[k] if k % 2 == 0 else np.sin(x[k]))
    return total


def convolved(x: Any, w: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(2, len(x)):
        y[i] = x[i] * w[0] + x[i - 1] * w[1] + x[i - 2] * w[2]
    return np.sum(y * y)


def listed(x: Any) -> Any:
    made = [np.sin(x[k]) * k for k in range(len(x))]
    return np.sum(np.stack(made) ** 2)


def of_a_list(xs: Any) -> Any:
    state = 0.0
    for x in xs:
        state = np.tanh(state + x)
    return state


def recurrent(w: Any, x: Any) -> Any:
    h = c = np.zeros_like(x[0])
    for t in range(len(x)):
        c = c * 0.9 + np.tanh(np.concatenate([h, x[t]]) @ w)
        h = np.tanh(c)
    return np.sum(h * h)


def filtered(z: Any, q: Any) -> Any:
    mean, variance, total = 0.0, 1.0, 0.0
    for k in range(len(z)):
        variance = variance + q
        spread = variance + 1.0
        error = z[k] - mean
        gain = variance / spread
        mean = mean + gain * error
        variance = (1 - gain) * variance
        total = total - error * error / spread
    return total


def guarded(z: Any) -> Any:
    total = 0.0
    for k in range(len(z)):
        if z[k] > 0:
            total = total + z[k] * 0.5
    return total


def with_index_arrays(x: Any) -> Any:
    total = 0.0
    for k in range(20):
        total = total + np.sum(x[np.array([0, 2, 1])] * k)
    return total


def chosen(x: Any) -> Any:
    total = x[0] * 0.0
    for k in [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]:
        total = total * 0.5 + x[k] ** 2
    return total


def first_and_last(x: Any) -> Any:
    total = 0.0
    for k in range(30):
        if k == 0:
            total = total + np.exp(x[k])
        elif k == 29:
            total = total * np.cos(x[k])
        else:
            total = total + x[k] * total
    return total


def triangle(a: Any) -> Any:
    total = 0.0
    for i in range(len(a)):
        for j in range(i):
            total = total + a[i] * np.sin(a[j])
    return total


def three_layers(ws: Any, x: Any) -> Any:
    for w in ws:
        x = np.tanh(x @ w)
    return np.sum(x**2)


def one_step(y: Any, rate: Any) -> Any:
    def f(y: Any) -> Any:
        return np.sin(y) * rate

    k1 = f(y)
    k2 = f(y + 0.5 * k1)
    k3 = f(y + 0.5 * k2)
    k4 = f(y + k3)
    return np.sum(y + (k1 + 2 * k2 + 2 * k3 + k4) / 6)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str], int]] = {
    # function, arguments, the loops of its value, most rows of its gradient
    "three loops": (product, (numbers(10, 12), numbers(12, 11, seed=1)), ["110(11)"], 90),
    "odd and even": (evenly, (numbers(60),), ["29"], 40),
    "neighbours": (convolved, (numbers(50), numbers(3)), ["48"], 100),
    "a list made": (listed, (numbers(50),), ["50"], 90),
    "a list given": (of_a_list, (numbers(40).tolist(),), ["38"], 250),
    "recurrent": (recurrent, (numbers(6, 3), numbers(30, 3)), ["29"], 100),
    "filter": (filtered, (numbers(60), 0.3), ["59"], 200),
    "reads": (guarded, (numbers(40),), ["39"], 40),
    "index arrays": (with_index_arrays, (numbers(4),), ["19"], 40),
    "indices": (chosen, (numbers(10),), ["15"], 40),
    "odd ends": (first_and_last, (numbers(30),), ["28"], 60),
    "triangle": (triangle, (numbers(12),), ["65"], 60),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_are_found(name: str) -> None:
    f, args, want, most = PROGRAMS[name]
    assert loops(gv.compile(f).program(*args)) == want
    gradient = gv.grad(f, tuple(range(len(args))))
    assert len(gv.compile(gradient).program(*args).rows) <= most
    others = tuple(np.asarray(a) * 0.9 if isinstance(a, np.ndarray) else a for a in args)
    assert disagreement(gradient, [args, others]) is None


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (three_layers, ([numbers(4, 4, seed=k) for k in range(3)], numbers(2, 4))),
        (one_step, (numbers(3), 0.3)),
        (lambda x: sum(np.sum(x * k) for k in range(5)), (numbers(3),)),
    ],
    ids=["three layers", "four stages", "five terms"],
)
def test_what_repeats_itself_a_few_times_is_left(f: Any, args: Any) -> None:
    for g in (f, gv.grad(f)):
        compiled = gv.compile(g)
        assert loops(compiled.program(*args)) == []
        assert len(compiled.path(*args).raw.rows) == len(compiled.program(*args).rows)


def test_size_does_not_depend_on_the_count() -> None:
    sizes = {n: len(gv.compile(gv.grad(filtered)).program(numbers(n), 0.3).rows) for n in (50, 500, 5000)}
    assert len(set(sizes.values())) == 1


def test_independent_arrays_are_not_put_into_one() -> None:
    """An optimizer's step over many arrays is no loop: they would have to be copied together first."""

    def step(ps: Any, gs: Any) -> Any:
        return [p - 0.1 * g * np.sqrt(np.abs(g)) for p, g in zip(ps, gs, strict=True)]

    program = gv.compile(step).program([numbers(20)] * 30, [numbers(20)] * 30)
    assert loops(program) == []
