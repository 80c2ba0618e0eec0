"""kmeans: the squared distance of each point to the nearest of some centres."""

from __future__ import annotations

from typing import Any

import numpy

from tests.conformance.programs.program import Program

POINTS = numpy.random.default_rng(3).normal(size=(300, 4))


def cost(np: Any, centres: Any) -> Any:
    apart = np.sum((POINTS[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
    return np.sum(np.min(apart, axis=1))


PROGRAMS = (Program("kmeans", cost, lambda: (numpy.random.default_rng(4).normal(size=(5, 4)),)),)
