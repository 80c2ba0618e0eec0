"""Do the checks notice a rule that is wrong?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import RuleError
from tests.rules import check
from tests.rules.check import entry, real


def square_by(pullback):
    """``x**2`` by a rule with that pullback."""

    @gv.rule
    def square(x):
        return x * x

    square.pullback("x")(pullback)
    return entry("square", square, real(2, 3), is_complex=True)


def everything(wrong, is_complex=False):
    p = check.point(wrong, is_complex)
    check.check_value(p)
    check.check_first_order(p)
    check.check_second_order(p)
    check.check_forward_mode(p)
    check.check_layouts(p)
    check.check_single_precision(p)
    if not is_complex:
        check.check_device(p)


def test_a_right_rule_passes():
    everything(square_by(lambda ct, x: ct * 2 * np.conj(x)))
    everything(square_by(lambda ct, x: ct * 2 * np.conj(x)), is_complex=True)


def test_a_wrong_factor():
    with pytest.raises(AssertionError, match="gradient against differences"):
        check.check_first_order(check.point(square_by(lambda ct, x: ct * 2.001 * x)))


def test_a_missing_conjugate():
    with pytest.raises(AssertionError, match="gradient against differences"):
        check.check_first_order(check.point(square_by(lambda ct, x: ct * 2 * x), is_complex=True))


def test_a_pullback_that_hides_how_it_depends_on_the_input():
    hiding = square_by(lambda ct, x: ct * 2 * gv.stop_gradient(x))
    with pytest.raises(AssertionError, match="second derivative against differences"):
        check.check_second_order(check.point(hiding))


def test_a_wrong_shape():
    with pytest.raises((AssertionError, RuleError), match="shape"):
        check.check_first_order(check.point(square_by(lambda ct, x: np.sum(ct * 2 * x, axis=0))))


def test_a_rule_that_does_not_take_nothing():
    total = gv.rule(lambda x: np.sum(x, axis=0), name="total")
    total.pullback("x")(lambda ct, x_like: np.stack([ct] * x_like.shape[0]))
    check.check_first_order(check.point(entry("total", total, real(2, 3))))
    with pytest.raises(ValueError, match="at least one array"):
        check.check_other_shapes(entry("total", total, real(2, 3)))


def test_a_gradient_in_double_precision():
    with pytest.raises(AssertionError, match="made float64"):
        check.check_single_precision(check.point(square_by(lambda ct, x: ct * x * np.float64(2))))


def test_a_pullback_that_depends_on_the_layout():
    with pytest.raises(AssertionError, match="gradient with"):
        check.check_layouts(check.point(square_by(lambda ct, x: ct * 2 * x * (1 + (x.strides[0] != 24)))))


def test_a_pullback_that_waits_for_the_device():
    with pytest.raises(AssertionError, match="made the host wait"):
        check.check_device(check.point(square_by(lambda ct, x: ct * 2 * x if float(np.sum(x)) else ct)))


def test_a_value_that_changes_when_traced():
    sly = entry("sly", lambda x: x * (2 if isinstance(x, gv.Array) else 1), real(3))
    with pytest.raises(AssertionError):
        check.check_value(check.point(sly))
