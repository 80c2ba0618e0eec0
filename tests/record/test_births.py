"""Is the first NaN, infinity or denormal blamed on the call that made it, at the user's line?"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import DenormalError, GradvizError, NotFiniteError
from gradviz.transforms.tangent import jvp

X = np.array([0.5, 0.0, -1.0])


def blamed(f, x, check="nan", take=gv.grad):
    """(what, name, line within the function, backward) of the number that stops a gradient."""
    error = DenormalError if check == "denormals" else NotFiniteError
    with pytest.raises(error) as caught, np.errstate(all="ignore"), gv.profile(check=check) as p:
        take(f)(x)
    assert len(p.trace) > 0
    kind, name, place, line, backward = re.match(
        r"The first (\S+)(?: number)? came from (.*?)(?: at (\S+):(\d+))?(, in the backward pass)?[:.] ",
        str(caught.value),
    ).groups()
    assert place.endswith("test_births.py")
    return kind, name, int(line) - f.__code__.co_firstlineno, bool(backward)


def logarithm(x):
    y = x * 2.0
    z = np.log(y)
    return np.sum(z)


def root(x):
    y = x * 1.0
    z = np.sqrt(y)
    return np.sum(z)


def overflow(x):
    y = x + 1000.0
    y = np.exp(y)
    return np.sum(y)


def norm_by_hand(x):
    squares = x * x
    return np.sqrt(np.sum(squares))


def in_place(x):
    y = x * 1.0
    y /= np.array([1.0, 0.0, 1.0])
    return np.sum(y)


def several(x):
    a = np.outer(x, x)
    w = np.linalg.eigh(a)[0]
    return np.sum(np.sqrt(np.abs(w * 0.0)))


def quiet(x):
    return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (logarithm, X, ("NaN", "log", 2, False)),
        (logarithm, np.abs(X), ("infinity", "log", 2, False)),
        (overflow, X, ("infinity", "exp", 2, False)),
        (norm_by_hand, np.zeros(3), ("infinity", "the pullback of sqrt with respect to x", 2, True)),
        (in_place, X, ("NaN", "divide", 2, False)),
        (several, X, ("infinity", "the pullback of sqrt with respect to x", 3, True)),
        (lambda x: np.log(x) * 1.0, -1.0, ("NaN", "log", 0, False)),
    ],
)
def test_the_culprit(f, x, want):
    assert blamed(f, x) == want


def test_in_forward_mode():
    kind, name, line, _ = blamed(root, np.array([0.5, 0.0]), take=lambda f: lambda x: jvp(f, (x,), (np.ones(2),)))
    assert (kind, line) == ("infinity", 2)
    assert name == "the tangent of sqrt"


def test_what_was_given_is_nobodys_fault():
    with np.errstate(all="ignore"), gv.profile(check="nan"):
        g = gv.grad(overflow)(np.array([np.nan, np.inf, -1000.0]))
        assert gv.grad(quiet)(X).tolist() == [1 / (2 * np.sqrt(0.5)), 0, 0]
        mask = gv.grad(lambda x: np.sum(np.exp(x + np.array([0.0, -np.inf, 0.0]))))(X)
    assert np.isnan(g[0])
    assert mask[1] == 0


def test_denormals():
    def decays(a):
        h = a * 1.0
        for _ in range(400):
            h = h * 0.1
        return np.sum(h)

    assert blamed(decays, np.ones(3), "denormals") == ("denormal", "multiply", 3, False)

    def decays_backward(a):
        h = a
        for _ in range(400):
            h = 1.0 + h * 0.1
        return np.sum(h)

    kind, name, line, backward = blamed(decays_backward, np.ones(3), "denormals")
    assert (kind, line, backward) == ("denormal", 3, True)
    assert name == "the pullback of multiply with respect to x"
    with gv.profile(check="denormals"):
        assert gv.grad(lambda x: np.sum(x * x))(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_an_unknown_check():
    with pytest.raises(GradvizError, match="'nan', 'denormals', 'constants'"):
        gv.profile(check="everything")
