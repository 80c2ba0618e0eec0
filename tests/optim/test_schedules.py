"""Do learning rates follow their formulas, as Optax's do, for numbers, arrays and compiled counts?"""

from __future__ import annotations

import numpy as np
import optax
import pytest

import gradviz as gv

COUNTS = np.array([0, 1, 5, 10, 15, 20, 50, 99, 100, 150, 1000])
BOTH = {
    "constant": (gv.optim.constant(0.1), optax.constant_schedule(0.1)),
    "linear": (gv.optim.linear(0.1, 0.01, 100), optax.linear_schedule(0.1, 0.01, 100)),
    "exponential": (gv.optim.exponential_decay(0.1, 0.5, 10, 1e-3), optax.exponential_decay(0.1, 10, 0.5, end_value=1e-3)),
    "steps": (gv.optim.step_decay(0.1, 0.5, 10), optax.exponential_decay(0.1, 10, 0.5, staircase=True)),
    "cosine": (gv.optim.cosine_decay(0.1, 100, 0.01), optax.cosine_decay_schedule(0.1, 100, 0.1)),
    "warm-up": (
        gv.optim.warmup_cosine(0.1, 10, 100, 0.01, 0.001),
        optax.warmup_cosine_decay_schedule(0.01, 0.1, 10, 100, 0.001),
    ),
    "pieces": (
        gv.optim.piecewise_constant([0.1, 0.05, 0.01], [10, 50]),
        optax.piecewise_constant_schedule(0.1, {10: 0.5, 50: 0.2}),
    ),
}  # fmt: skip
every_schedule = pytest.mark.parametrize("name", BOTH)


@every_schedule
def test_values(name: str) -> None:
    mine, theirs = BOTH[name]
    for count in COUNTS:
        assert float(mine(float(count))) == pytest.approx(float(theirs(count)), rel=2e-5, abs=1e-8)


@every_schedule
def test_one_plan_for_all_counts(name: str) -> None:
    schedule, _ = BOTH[name]
    rate = gv.compile(schedule)
    for count in COUNTS:
        assert float(rate(float(count))) == pytest.approx(float(schedule(float(count))), rel=1e-14)
    assert sum(map(len, rate.plans.values())) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: gv.optim.linear(1.0, 0.0, 0),
        lambda: gv.optim.warmup_cosine(1.0, 10, 10),
        lambda: gv.optim.warmup_cosine(1.0, 0, 10),
        lambda: gv.optim.piecewise_constant([1.0], [5]),
        lambda: gv.optim.piecewise_constant([1.0, 0.5, 0.1], [5, 5]),
    ],
)
def test_lengths_that_make_no_sense(make) -> None:
    with pytest.raises(ValueError, match=r"steps|boundaries|warmup"):
        make()
