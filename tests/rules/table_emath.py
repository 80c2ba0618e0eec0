"""Entries for `gradviz.rules.emath`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import entry, positive, real


def outside(name, f, *args, **options):
    """A function at arguments on both sides of its domain's end."""
    return entry(f"emath.{name}", f, *(args or (real(2, 3),)), single=False, device=False, is_complex=True, **options)


ENTRIES = [
    *(
        outside(name, getattr(np.emath, name))
        for name in ("sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh")
    ),
    outside("sqrt inside", np.emath.sqrt, positive(3)),
    outside("logn", np.emath.logn, positive(3), real(2, 3)),
    outside("power", np.emath.power, real(2, 3), real(3)),
]
