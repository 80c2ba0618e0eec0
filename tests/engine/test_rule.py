"""Do rules of users work in every form, and say what is wrong with them?"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import gradviz as gv
from gradviz.engine.rule import RULES
from gradviz.errors import NotDifferentiableError, RuleError

X = np.array([1.0, 2.0, 3.0])


def every_way(f, *args):
    """Gradients, alike with and without a recording, which forward mode agrees with."""
    everything = tuple(range(len(args)))
    gradients = gv.grad(f, everything)(*args)
    with gv.profile():
        again = gv.grad(f, everything)(*args)
    for a, b in zip(gradients, again, strict=True):
        assert np.array_equal(a, b)
    slope = gv.jvp(f, args, args)[1]
    assert np.isclose(slope, sum(np.sum(g * a) for g, a in zip(gradients, args, strict=True)))
    return gradients


def test_all_kinds_of_parameters():
    @gv.rule
    def scaled_power(x, y, *, n=2):
        return x**n * y

    @scaled_power.pullback
    def scaled_power_to_x(ct, x, y, n, x_like):
        assert x_like.shape == x.shape
        return ct * n * x ** (n - 1) * y

    @scaled_power.pullback
    def scaled_power_to_y(ct, out, y):
        return ct * out / y

    a, b = every_way(lambda x, y: np.sum(scaled_power(x, y, n=3)), X, 2 * X)
    assert np.allclose(a, 6 * X**3)
    assert np.allclose(b, X**3)
    assert np.allclose(gv.hessian(lambda x: np.sum(scaled_power(x, x, n=3)))(X), np.diag(12 * X**2))


@pytest.mark.parametrize("argnums", [0, 1])
def test_a_cotangent_read_by_another_pullback(argnums):
    @gv.rule
    def f(x, y):
        return x + 2 * y

    @f.pullback
    def f_to_x(ct):
        return ct

    @f.pullback
    def f_to_y(ct_x):
        return 2 * ct_x

    assert gv.grad(lambda x, y: np.sum(f(x, y)), argnums)(X, X).tolist() == [argnums + 1.0] * 3


def test_two_pullbacks_that_overwrite_the_cotangent():
    @gv.rule
    def product(x, y):
        return x * y

    @product.pullback
    def product_to_x(ct_owned, y):
        ct_owned *= y
        return ct_owned

    @product.pullback
    def product_to_y(ct_owned, x):
        ct_owned *= x
        return ct_owned

    a = gv.grad(lambda x, y: np.sum(product(x, y)), (0, 1))(X, 2 * X)
    with gv.profile():
        b = gv.grad(lambda x, y: np.sum(product(x, y)), (0, 1))(X, 2 * X)
    for x, y in (a, b):
        assert np.array_equal(x, 2 * X)
        assert np.array_equal(y, X)


def test_a_joint_pullback():
    @gv.rule
    def product(x, y):
        return x * y

    @product.pullback("x", "y")
    def both(ct, x, y):
        return ct * y, ct * x

    a, b = every_way(lambda x, y: np.sum(product(x, y)), X, 2 * X)
    assert np.array_equal(a, 2 * X)
    assert np.array_equal(b, X)
    assert np.array_equal(gv.grad(lambda y: np.sum(product(X, y)))(X), X)


def test_a_sequence():
    @gv.rule(sequence="parts")
    def total(parts):
        return sum(np.sum(part) * (k + 1) for k, part in enumerate(parts))

    @total.pullback
    def total_to_parts(ct, k, parts_like):
        return np.broadcast_to(ct * (k + 1.0), parts_like[k].shape)

    a, b = every_way(lambda x, y: total([x, X, y]), X, 2 * X)
    assert a.tolist() == [1, 1, 1]
    assert b.tolist() == [3, 3, 3]


def test_several_outputs():
    @gv.rule(outputs=True)
    def pair(x):
        return x * 2, x * 3

    @pair.pullback
    def pair_to_x(ct):
        return sum(c * k for c, k in zip(ct, (2, 3), strict=True) if c is not None)

    (a,) = every_way(lambda x: np.sum(pair(x)[1] * x), X)
    assert np.array_equal(a, 6 * X)


def test_a_function_that_gives_back_its_argument():
    @gv.rule
    def same(x):
        return x

    @same.pullback
    def same_to_x(ct):
        return ct

    def f(x):
        y = same(x)
        y[0] = 0.0
        return np.sum(y * y) + np.sum(x)

    x = X.copy()
    assert gv.grad(f)(x).tolist() == [1, 5, 7]
    assert np.array_equal(x, X)


# ---- mistakes


def squared(pull):
    @gv.rule
    def square(x):
        return x * x

    pull.__name__ = "square_to_x"
    square.pullback(pull)
    return lambda x: np.sum(square(np.sin(x)))


@pytest.mark.parametrize(
    ("pull", "text"),
    [
        (lambda ct, x: np.sum(ct * x), r"'square' with respect to 'x' gave an array of shape \(\), .* shape \(3,\)"),
        (lambda ct, x: None, "is a return missing"),
        (lambda ct, z: ct, "reads 'z', which is none of: ct, ct_owned, out, x"),
    ],
)
def test_wrong_pullbacks(pull, text):
    for differentiate in (gv.grad(squared(pull)), lambda x: gv.jvp(squared(pull), (x,), (x,))):
        with pytest.raises(RuleError, match=text):
            differentiate(X)


def test_names_that_fit_nothing():
    square = gv.rule(lambda x: x * x)
    with pytest.raises(RuleError, match=r"must be named '\.\.\._to_<input>'"):

        @square.pullback
        def square_by_x(ct):
            return ct

    with pytest.raises(RuleError, match="has no input 'y'; it has x"):
        square.pullback("y")(lambda ct: ct)
    with pytest.raises(RuleError, match="needs an explicit signature"):
        gv.rule(lambda *x: x)


@pytest.mark.parametrize("differentiate", [gv.grad, lambda f: lambda x: gv.jvp(f, (x,), (x,))])
def test_an_input_without_pullback(differentiate):
    @gv.rule
    def product(x, y):
        return x * y

    with pytest.raises(NotDifferentiableError, match=r"no derivative with respect to 'y'.*stop_gradient"):
        differentiate(lambda y: np.sum(product(X, y)))(X)

    @product.pullback
    def product_to_x(ct, y):
        return ct * y

    with pytest.raises(NotDifferentiableError, match="no derivative with respect to 'y'"):
        differentiate(lambda y: np.sum(product(X, y)))(X)


def test_threads_may_meet_a_rule_for_the_first_time_at_once():
    programs = [
        (lambda x: np.sum(np.sin(x) * np.cos(x)), np.cos(2 * X)),
        (lambda x: np.sum(np.tanh(x) + x[::-1] * x), 1 - np.tanh(X) ** 2 + 2 * X[::-1]),
        (lambda x: np.sum(x.reshape(3, 1) * x.reshape(1, 3)), np.full(3, 2 * np.sum(X))),
    ]
    wrong = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            for rule in RULES.values():
                rule.variants.clear()
            gate = threading.Barrier(len(programs))

            def work(f, want, gate=gate):
                gate.wait()
                if not np.allclose(gv.grad(f)(X), want):
                    wrong.append(f)

            threads = [threading.Thread(target=work, args=program) for program in programs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong
