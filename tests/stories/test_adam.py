"""Story 3: does a recording of Adam say which copies were needed and which not, and is it silent where none is made?"""

from __future__ import annotations

import numpy as np
import pytest

STEPS, NBYTES = 8, 300_000 * 8


@pytest.fixture
def written(story):
    return story("adam", "as_written")


@pytest.fixture
def healthy(story):
    return story("adam", "by_gradviz")


def test_both_give_the_same_value_and_gradients(written, healthy) -> None:
    np.testing.assert_allclose(written.result[0], healthy.result[0], rtol=1e-12)
    np.testing.assert_allclose(written.result[1], healthy.result[1], rtol=1e-10)


@pytest.mark.parametrize("line", ["m = m.copy()", "v = v.copy()"])
def test_copies_of_the_moments_were_not_needed(written, line: str) -> None:
    (finding,) = (f for f in written.only("defensive_copy") if written.line(f) == line)
    assert not finding.harmless
    assert finding.count == STEPS - 1  # in the first step there are only zeros, which depend on nothing
    assert finding.cost_nbytes == (STEPS - 1) * NBYTES
    assert finding.cost_ns > 0


def test_the_copies_of_the_parameters_were_needed_and_it_says_why(written) -> None:
    (finding,) = (f for f in written.only("defensive_copy") if written.line(f) == "p = p.copy()")
    assert finding.harmless
    assert finding.count == STEPS
    assert "needed, because subtract" in finding.title
    assert "reads the old value" in finding.title


def test_nothing_else_is_reported(written) -> None:
    assert written.kinds == {"defensive_copy": 2}


def test_writing_in_place_copies_nothing_and_nothing_is_found(healthy) -> None:
    assert not [finding for finding in healthy.profile.findings if finding.kind != "peak_memory"]
    assert not [row for row in range(len(healthy.profile.trace)) if healthy.profile.trace.name(row) == "copy"]


def test_writing_in_place_allocates_less(written, healthy) -> None:
    most, least = (int(run.profile.trace.buffers["nbytes"].sum()) for run in (written, healthy))
    assert most - least >= 2 * (STEPS - 1) * NBYTES
