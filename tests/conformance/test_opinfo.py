"""Is the first sample of every PyTorch operator with a NumPy twin what PyTorch makes of it?"""

from __future__ import annotations

import pytest
import torch

from tests.conformance import opinfo, twins
from tests.conformance.twins.twin import TWINS

PARTS = 8


def test_every_family_of_twins_is_there():
    assert len(TWINS) > 400
    assert all(hasattr(twins, family) for family in twins.__all__)


@pytest.mark.parametrize("part", range(PARTS))
def test_first_sample(part):
    tally = opinfo.run(most=1, dtypes=(torch.float64,), part=(part, PARTS))
    wrong = [outcome for outcome in tally.others if not opinfo.explained(outcome)]
    assert tally.same > 40
    assert not wrong, "\n".join(f"{o.sample}: {o.kind} {o.detail} {o.evidence}" for o in wrong)


def test_a_wrong_gradient_is_seen(monkeypatch):
    wrong = twins.twin.Twin(lambda x: 1.001 * x)
    monkeypatch.setitem(TWINS, "positive", wrong)
    assert {outcome.kind for outcome in opinfo.run("positive").others} == {"value"}
