"""Do a few functions have the value and gradient that JAX gives them? (All of them: `make conformance`.)"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conformance.jax_oracle import cases, difference

FEW = (
    "linalg: solve, complex",
    "linalg: svd, wide",
    "linalg: slogdet",
    "special: logsumexp",
    "special: gammainc",
    "special: betaln",
)


@pytest.mark.parametrize("case", [case for case in cases() if case.name in FEW], ids=lambda case: case.name)
def test_as_by_jax(case):
    assert not difference(case)


def test_a_wrong_gradient_is_seen():
    case = next(case for case in cases() if case.name == "special: logsumexp")
    assert "value" in difference(replace(case, ours=lambda x: 1.001 * case.ours(x)))
