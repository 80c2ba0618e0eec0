"""Derivatives of reading parts of an array by index."""

from __future__ import annotations

from gradviz.engine.cotangent import Indexed
from gradviz.engine.mutate import take


@take.pullback
def getitem_to_a(ct, a_like, index):
    return Indexed(a_like, ct, (take, (index,)))
