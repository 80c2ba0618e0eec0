"""Does every rule do on CuPy's arrays what it does on NumPy's, with the functions and arguments that CuPy has?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradviz as gv
from tests.devices.cuda.host_memory import device, host
from tests.rules import check, tables

ENTRIES = [entry for entry in tables.ENTRIES if entry.device]


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_all(is_complex):
    wrong = []
    for entry in ENTRIES:
        if is_complex and not (entry.is_complex and entry.complex_device):
            continue
        try:
            agree(check.point(entry, is_complex))
        except Exception as error:  # noqa: BLE001 - all that is wrong is told at once
            wrong.append(f"{entry.name}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, f"{len(wrong)} of {len(ENTRIES)}:\n" + "\n".join(wrong)


def agree(p):
    there = check.Point(
        replace(p.entry, args=tuple(device(a) if isinstance(a, np.ndarray) else a for a in p.entry.args)),
        [device(x) for x in p.xs],
    )
    cts = check.cotangents(p)
    _, pull = gv.vjp(there.floats, *there.xs)
    got = pull(tuple(device(c) for c in cts))
    for g, w in zip(got, check.gradients(p, cts), strict=True):
        np.testing.assert_allclose(host(g), w, rtol=1e-9, atol=1e-8)
