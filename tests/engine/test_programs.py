"""Does gradviz make of a random program what NumPy makes of it, under every derivative, recorded or not?"""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.engine.programs import judge, usable, write


@settings(max_examples=120)
@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_first_order(rng: random.Random, length: int) -> None:
    program = write(rng.choice, length)
    assume(usable(program))
    assert judge(program) is None, program.source


@pytest.mark.parametrize("seed", range(0, 200, 4))
def test_second_order(seed: int) -> None:
    rng = random.Random(seed)
    program = write(rng.choice, rng.randint(3, 12))
    if usable(program):
        assert judge(program, deep=True) is None, program.source
