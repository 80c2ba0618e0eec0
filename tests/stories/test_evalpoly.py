"""Story 2: does a recording of Horner's rule show the vectors of zeros, how they grow, and none where indexing is plain?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.graph.timeline import enclosing_span
from gradviz.record.events import Kind, State

LENGTHS = (1000, 2000, 4000)


@pytest.fixture
def written(story):
    return story("evalpoly", "as_written")


@pytest.fixture
def healthy(story):
    return story("evalpoly", "by_gradviz")


def zeros_by_length(run) -> dict[str, tuple[int, int]]:
    """For each ``N = ...`` span: how many dense cotangents as long as the polynomial were made, and their bytes."""
    trace = run.profile.trace
    spans = {trace.name(row): row for row in trace.rows(Kind.SPAN) if trace.name(row).startswith("N = ")}
    outer = trace.events["parent"][enclosing_span(trace)]
    table, found = trace.contributions, {}
    for name, span in spans.items():
        rows = (outer[table["event"]] == span) & (table["nbytes"] > 8) & (table["state"] == State.OWNED)
        found[name] = int(rows.sum()), int(table["nbytes"][rows].sum())
    return found


def test_both_give_the_same_gradients(written, healthy) -> None:
    for (p, x), (q, y) in zip(written.result, healthy.result, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)
        assert x == pytest.approx(y, rel=1e-12)


def test_the_zeros_are_reported_with_their_bytes_and_their_growth(written) -> None:
    (finding,) = written.only("dense_zeros")
    assert sum(LENGTHS) - 10 < finding.count <= sum(LENGTHS)
    assert finding.cost_nbytes == pytest.approx(8 * sum(n * n for n in LENGTHS), rel=0.01)
    assert finding.cost_ns > 0
    assert "square of its length" in finding.title
    assert written.line(finding) == "value = value * x + pick(p, i)"


def test_nothing_else_is_reported(written) -> None:
    assert written.kinds == {"dense_zeros": 1}


def test_a_vector_for_each_coefficient_so_twice_the_length_is_four_times_the_bytes(written) -> None:
    assert zeros_by_length(written) == {f"N = {n}": (n, 8 * n * n) for n in LENGTHS}


def test_plain_indexing_makes_no_zeros_and_nothing_is_found(healthy) -> None:
    assert not healthy.kinds
    assert zeros_by_length(healthy) == {f"N = {n}": (0, 0) for n in LENGTHS}


def test_plain_indexing_allocates_one_vector_for_each_gradient(healthy) -> None:
    buffers = healthy.profile.trace.buffers
    for n in LENGTHS:
        assert ((buffers["nbytes"] == 8 * n) & (buffers["alloc_event"] >= 0)).sum() == 1
