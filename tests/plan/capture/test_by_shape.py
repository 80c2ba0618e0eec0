"""Is a program the same whether values are computed while it is captured or not, and is every value right that is looked at?"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz.plan.capture import by_shape
from gradviz.plan.capture.by_shape import ByShape
from tests.engine.programs import usable, write
from tests.plan.agree import disagreement
from tests.plan.test_compile import PROGRAMS, other

X = np.random.default_rng(0).uniform(0.5, 1.5, 1 << 14)  # large enough


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small arrays are, they are not computed."""
    monkeypatch.setattr(by_shape, "LARGE_NBYTES", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(200, 240))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = write(rng.choice, rng.randint(3, 14))
    if "float(" in program.source or ".view(" in program.source or not usable(program):
        return
    f, inputs = program.function(gv.numpy.zeros), program.inputs
    way = gv.value_and_grad(f, tuple(range(len(inputs))))
    calls = [inputs, tuple(other(x, k) for k, x in enumerate(inputs))]
    assert disagreement(way, calls, 1e-8) is None, program.source


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    f, args = PROGRAMS[name]
    assert disagreement(f, [args], 1e-9) is None


def chain(x):
    for _ in range(50):
        x = np.sin(x) * 1.01 + 0.1
    return np.sum(x * x)


def test_nothing_is_computed_that_nobody_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluate(self: Any, number: int) -> None:
        raise AssertionError("a value was computed")

    monkeypatch.setattr(ByShape, "_evaluate", evaluate)
    compiled, want = gv.compile(gv.value_and_grad(chain)), gv.value_and_grad(chain)(X)
    got = compiled(X)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-10)
    with pytest.raises(AssertionError, match="a value was computed"):
        gv.compile(lambda x: x if np.sum(x) > 0 else -x)(X)


def looking(x):
    y = x - 1.0
    for _ in range(30):
        step = (y * y - x) / (2 * y)
        y = y - step
        if np.max(np.abs(step)) < 1e-13:
            break
    if y[0] > 0:
        y = y * int(np.sum(x) // 1000)
    return y


def written(x):
    buffer = np.zeros_like(x)
    buffer[::2] = x[1::2]
    half = buffer[: len(x) // 2]
    half += 2.0
    half[x[: len(x) // 2] > 1.0] = 0.25
    buffer[np.argsort(x)[:5]] = -1.0
    return buffer if buffer[0] < 1.5 else -buffer


def picked(x):
    where = np.flatnonzero(x > 1.2)
    return np.sum(x[where]) + len(where), x[x > 1.2], np.unique(np.round(x, 2))


def solved(x):
    a = x[: 64 * 64].reshape(64, 64) + 64 * np.eye(64)
    q, r = np.linalg.qr(a)
    return np.linalg.solve(a, x[:64]), r @ q, np.linalg.det(a / 64)


def powers(x):
    n = np.round(x * 3).astype(int)
    return (n + 2) ** (n * 0 + 2), 2.0**-n


@pytest.mark.parametrize("f", [looking, written, picked, solved, powers])
@pytest.mark.parametrize("most", [1 << 30, 0])
def test_what_is_looked_at_is_right(f: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_shape, "MOST_NBYTES", most)
    assert disagreement(f, [(X,), (X[::-1].copy(),)], 1e-10) is None


def test_errors_are_those_of_the_values() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        gv.compile(lambda x: np.linalg.inv(x.reshape(128, 128) * 0.0))(X)
    with pytest.raises(IndexError):
        gv.compile(lambda x: x[np.round(x * 1e6).astype(int)])(X)
    with pytest.raises(ValueError, match="broadcast"):
        gv.compile(lambda x: x + x[1:])(X)
    with pytest.raises(ValueError, match="negative integer powers"):
        gv.compile(lambda x: np.ones_like(x, dtype=int) ** (np.round(x).astype(int) * 0 - 1))(X)


def test_no_warning_is_about_what_was_not_computed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gv.compile(gv.grad(lambda x: np.sum(np.log(x) / np.sqrt(x) + 1.0 / np.sum(x))))(X)


@pytest.mark.parametrize(
    "x", [X.reshape(128, 128).T, X.reshape(128, 128)[::-1], X.reshape(64, 256)[:, ::2], X.reshape(128, 1, 128)]
)
def test_layouts(x: Any) -> None:
    """Whether an array can be reshaped without a copy depends on its layout."""

    def f(x):
        y = np.zeros_like(x)
        y += np.sin(x)
        flat = y.reshape(-1)
        flat[:3] = 7.0
        return y, flat, np.cos(x).T.copy()

    assert disagreement(f, [(x,)], 1e-12) is None


def test_the_callers_arrays_stay_as_they_are() -> None:
    x = X.copy()
    gv.compile(lambda x: (x.__iadd__(1.0), np.max(x) > 0 or x)[0].copy())(x)
    np.testing.assert_array_equal(x, X + 1.0)
