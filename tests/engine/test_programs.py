"""Does gradviz make of a random program what NumPy makes of it, under every derivative, recorded or not?"""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.engine.programs import judge, main, usable, write


@settings(max_examples=100)
@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_shrinkable_programs(rng: random.Random, length: int) -> None:
    program = write(rng.choice, length)
    assume(usable(program))
    assert judge(program) is None, program.source


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_seeded_programs(first: int) -> None:
    """The first of those that ``python -m tests.engine.programs --count 10000`` judges."""
    assert main(first, 50) == 0
