"""Does the network of the demo learn, and does its recording show the two habits?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.cli.demo import load_program


@pytest.fixture
def written(story):
    return story("digits", "as_written")


@pytest.fixture
def healthy(story):
    return story("digits", "by_gradviz")


def test_it_reads_digits_that_it_has_not_seen(written, healthy) -> None:
    assert written.result > 0.9
    assert healthy.result == pytest.approx(written.result, abs=0.01)


def test_double_precision_is_reported_where_it_comes_in(written) -> None:
    (finding,) = written.only("dtype_upcast")
    assert written.line(finding) == "hidden = hidden @ w / np.sqrt(len(w)) + b"
    assert finding.count == load_program("digits").STEPS
    assert finding.cost_nbytes > 0


def test_the_copy_that_nobody_needed_is_reported(written) -> None:
    (finding,) = written.only("defensive_copy")
    assert written.line(finding) == "hidden = hidden.copy()"
    assert finding.count == load_program("digits").STEPS * len(load_program("digits").HIDDEN)
    assert not finding.harmless


def test_nothing_else_is_reported_and_nothing_in_the_other(written, healthy) -> None:
    assert written.kinds == {"dtype_upcast": 1, "defensive_copy": 1}
    assert not healthy.kinds


def test_the_other_stays_in_single_precision(healthy) -> None:
    trace = healthy.profile.trace
    wide = [dtype for dtype in trace.buffers["dtype_str"] if trace.text(int(dtype)) == "float64"]
    assert len(wide) * 8 < np.sum(trace.buffers["nbytes"]) / 1000
