"""Does gradviz pass every case, in plain NumPy and in its own namespace?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradviz
from tests.cases.adapter import Adapter
from tests.cases.registry import Case, load_all
from tests.cases.run import outcome

CASES = load_all().values()


def hold(case: Case, namespace: Any) -> None:
    got, raised = outcome(case, Adapter(namespace))
    wrong = case.expect.judge(got, raised)
    if wrong:
        raise AssertionError(f"{case.title}: {wrong}") from raised


@pytest.mark.parametrize("namespace", [np, gradviz.numpy], ids=["numpy", "gradviz.numpy"])
@pytest.mark.parametrize("case", [case for case in CASES if case.group in "ACDF"], ids=lambda case: case.id)
def test_gradients(case: Case, namespace: Any) -> None:
    hold(case, namespace)


@pytest.mark.alone
@pytest.mark.parametrize("case", [case for case in CASES if case.group == "B"], ids=lambda case: case.id)
def test_costs(case: Case) -> None:
    hold(case, np)


@pytest.mark.parametrize("case", [case for case in CASES if case.group == "E"], ids=lambda case: case.id)
def test_recordings(case: Case) -> None:
    hold(case, np)
