"""Story 1: does a recording of the contraction show the syncs, what they cost and why, and nothing where there are none?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.record.events import Reason, Trigger

CONTRACTIONS = 10


@pytest.fixture
def written(story):
    return story("contraction", "as_written")


@pytest.fixture
def healthy(story):
    return story("contraction", "by_gradviz")


def pulled_back(run):
    """The syncs that come from reading a number, as rows."""
    syncs = run.profile.trace.syncs
    return np.flatnonzero(syncs["trigger"] == Trigger.COMPLEX)


def test_both_give_the_same_cotangents(written, healthy) -> None:
    for mine, theirs in zip(written.result, healthy.result, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a.get(), b.get(), rtol=1e-12)


def test_two_numbers_are_read_back_in_each_pullback_and_never_needed(written) -> None:
    (finding,) = written.only("scalar_never_needed")
    assert finding.count == 2 * CONTRACTIONS
    assert finding.cost_ns > 0
    assert finding.simulated
    assert "2 scalars" in finding.title
    assert written.line(finding).startswith("return [contract(A, B, empty, 1.0, 0.0)")


def test_the_tensor_that_nobody_asked_for_is_reported_besides_the_numbers(written) -> None:
    (finding,) = written.only("unused_cotangent")
    assert "1 cotangent " in finding.title
    assert finding.cost_ns > 0
    assert finding.cost_nbytes >= CONTRACTIONS * 32**3 * 16


def test_nothing_else_is_reported(written) -> None:
    assert written.kinds == {"scalar_never_needed": 1, "unused_cotangent": 1}


def test_the_device_stands_idle_after_the_reads(written) -> None:
    syncs, rows = written.profile.trace.syncs, pulled_back(written)
    assert len(rows) == 2 * CONTRACTIONS
    assert syncs["host_wait_ns"][rows].min() > 0
    assert (syncs["device_idle_ns"][rows] > 0).mean() > 0.8


def test_the_numbers_are_seen_to_move(written) -> None:
    copies = written.profile.trace.copies
    assert (copies["reason"] == Reason.SCALAR_READ).sum() == 2 * CONTRACTIONS


def test_plain_numpy_waits_for_nothing_and_nothing_is_found(healthy) -> None:
    assert not healthy.kinds
    assert not len(pulled_back(healthy))


def test_the_reads_make_it_several_times_as_long(written, healthy) -> None:
    """The report: 370 ms against 92 ms, a factor of 4. The model knows the peak rates of the device, not its bad days."""
    slow, fast = (run.profile.trace.meta["duration_ns"] for run in (written, healthy))
    assert 2 < slow / fast < 6
