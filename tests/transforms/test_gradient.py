"""Do gradients come in kind, in memory of their own, and do wrong uses say what is wrong?"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.errors import MissingRuleError, NotDifferentiableError

X = np.array([1.0, 2.0, 3.0])


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: Any


def test_trees():
    def f(p):
        return (
            np.sum(p["list"][0] * p["list"][1]) + p["pair"].a * p["pair"].b + np.sum(p["layer"].w) + p["frozen"].w ** 2
        )

    tree = {
        "list": [X, 2 * X],
        "pair": Pair(2.0, 3.0),
        "layer": Layer(X),
        "frozen": Frozen(1.5),
        "no": {},
        "none": None,
    }
    got = gv.grad(f)(tree)
    assert list(got) == list(tree)
    assert np.array_equal(got["list"][0], 2 * X)
    assert np.array_equal(got["list"][1], X)
    assert got["pair"] == Pair(3.0, 2.0)
    assert got["layer"].w.tolist() == [1, 1, 1]
    assert got["layer"].b is None
    assert got["frozen"] == Frozen(3.0)
    assert got["no"] == {}
    assert got["none"] is None


@pytest.mark.parametrize("empty", [{}, (), [], None, {"a": None}])
def test_trees_without_leaves(empty):
    assert gv.grad(lambda p: 1.0)(empty) == empty


@pytest.mark.parametrize(
    "x",
    [
        2.0, np.float32(2), np.float64(2), np.array(2.0), np.array(2.0, np.float32), X, X.astype(np.float32), X[::2], X[:0],
        np.asfortranarray(np.ones((2, 3))), 2.0 + 1j, np.complex64(1j), X + 1j, np.longdouble(2),
    ],
)  # fmt: skip
def test_results_in_kind(x):
    got = gv.grad(lambda x: np.sum(np.abs(x * x)))(x)
    assert type(got) is type(x)
    assert np.shape(got) == np.shape(x)
    assert getattr(got, "dtype", None) == getattr(x, "dtype", None)
    assert np.allclose(got, 2 * x)


# ---- memory


def shapes():
    return [np.array(1.0), X.copy(), np.ones((2, 2))]


@pytest.mark.parametrize("x", shapes())
def test_gradients_share_no_memory(x):
    a, b = gv.grad(lambda a, b: np.sum(a + b), (0, 1))(x, x)
    a[...] = 7.0
    assert np.all(b == 1)
    assert not np.shares_memory(a, x)


@pytest.mark.parametrize("x", shapes())
def test_cotangents_passed_in_stay_as_they_are(x):
    y, pull = gv.vjp(lambda a, b: (a + b, a * 1.0, b), x, x)
    cts = tuple(np.full_like(x, 3.0) for _ in y)
    for g in pull(cts) + pull(cts):
        g[...] = 9.0
    assert all(np.all(ct == 3) for ct in cts)
    assert np.array_equal(pull(cts)[0], np.full_like(x, 6.0))


def test_values_are_apart_from_inputs_and_saved_values():
    x = X.copy()
    y, pull = gv.vjp(np.exp, x)
    y[...] = 0.0
    assert np.allclose(pull(np.ones(3))[0], np.exp(X))
    value, _ = gv.vjp(lambda a: a[1:], x)
    value[...] = 0.0
    assert np.array_equal(x, X)


def test_gradients_within_gradients_are_apart():
    def f(v):
        a, b = gv.grad(lambda p, q: np.sum((p + q) * v), (0, 1))(v, v)
        a += 1.0
        y, _ = gv.vjp(lambda w: w, v)
        y += 1.0
        return np.sum(a * b) + np.sum(y * v)

    assert np.allclose(gv.grad(f)(X), 4 * X + 2)


def test_a_constant_of_the_loss_is_not_handed_out():
    c = X.copy()
    g = gv.grad(lambda x: np.sum(x * c))(X)
    g *= 0.0
    assert np.array_equal(c, X)


def test_aux():
    def f(x):
        return np.sum(x), {"twice": x * 2, "text": "t", "part": x[1:], "x": x, "buffer": gnp.zeros(2)}

    x = X.copy()
    (value, aux), g = gv.value_and_grad(f, has_aux=True)(x)
    assert value == 6
    assert g.tolist() == [1, 1, 1]
    assert aux["text"] == "t"
    for name in ("twice", "part", "x", "buffer"):
        assert type(aux[name]) is np.ndarray
        aux[name][...] = 0
    assert np.array_equal(x, X)


# ---- mistakes


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (lambda k: k, (1,), r"argument 'k' of <lambda> is of type int.*Pass 1\.0"),
        (lambda w: w, ({"k": [np.arange(3)]},), r"argument 'w' of <lambda>, at \['k'\]\[0\] is of type int64.*x\.astype\(float\)"),
        (lambda k: k, (True,), "of type bool"),
        (lambda k: k, ("a",), "is a str, which cannot be differentiated"),
        (lambda x: None, (1.0,), "returned None.*Is a return missing"),
        (lambda x: (x, 1), (1.0,), "pass has_aux=True"),
        (lambda x: x, (X,), r"shape \(3,\).*Sum it .*gv\.jacobian"),
        (lambda x: x * 1j, (1.0,), "complex number.*Return a real one"),
    ],
)  # fmt: skip
def test_what_cannot_be_differentiated(f, args, text):
    with pytest.raises(NotDifferentiableError, match=text):
        gv.grad(f)(*args)


@pytest.mark.parametrize(
    ("differentiate", "text"),
    [
        (lambda: gv.grad(lambda x: x, 1)(1.0), "argument 1, but <lambda> was called with 1 positional"),
        (lambda: gv.grad(lambda x: x, -2)(1.0), "argument -2"),
        (lambda: gv.grad(lambda x, y: x, (0, -2))(1.0, 2.0), "names an argument twice"),
        (lambda: gv.grad(lambda x: x, has_aux=True)(1.0), "must return a pair"),
        (lambda: gv.vjp(np.sin, X)[1](np.ones(2)), r"shape \(2,\).* has \(3,\)"),
        (lambda: gv.vjp(lambda x: (x, x), X)[1]((X,)), "has 1 leaves, the result of <lambda> has 2"),
        (lambda: gv.vjp(np.sin, X)[1](X * 1j), "cotangent is complex"),
    ],
)
def test_wrong_calls(differentiate, text):
    with pytest.raises(NotDifferentiableError, match=text):
        differentiate()


def test_a_missing_rule_says_what_to_write():
    with pytest.raises(MissingRuleError, match=r"scipy\.special\.zetac.*gv\.rule.*gv\.stop_gradient"):
        gv.grad(lambda x: np.sum(special.zetac(x)))(X)


# ---- nesting

wave = lambda t: np.sin(t) * np.exp(t)  # noqa: E731 - its fourth derivative is -4 times itself


def ahead(f):
    return lambda t: gv.jvp(f, (t,), (1.0,))[1]


@pytest.mark.parametrize("ways", ["rrrr", "ffff", "rfrf", "frfr", "rrff", "ffrr"])
def test_fourth_derivatives(ways):
    f = wave
    for way in ways:
        f = gv.grad(f) if way == "r" else ahead(f)
    assert np.isclose(f(0.7), -4 * wave(0.7))


@pytest.mark.parametrize("inner", [gv.grad, ahead])
@pytest.mark.parametrize("outer", [gv.grad, ahead])
def test_perturbations_are_not_confused(inner, outer):
    assert outer(lambda x: x * inner(lambda y: x + y)(2.0))(1.0) == 1
    assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(2.0) == 4


def test_a_pull_may_be_called_by_several_derivatives():
    def f(x):
        _, pull = gv.vjp(np.sin, x)
        return np.sum(pull(x)[0] * pull(np.ones(3))[0])

    assert np.allclose(gv.grad(f)(X), np.cos(X) ** 2 - 2 * X * np.cos(X) * np.sin(X))


def test_an_exception_inside_leaves_nothing_behind():
    def bad(x):
        raise KeyError

    def f(x):
        with contextlib.suppress(KeyError):
            gv.grad(bad)(x)
        return np.sum(x * x)

    assert np.array_equal(gv.grad(f)(X), 2 * X)


def test_generators():
    def squares(x):
        for k in range(3):
            yield x[k] * x[k]

    assert np.array_equal(gv.grad(lambda x: sum(squares(x)))(X), 2 * X)
