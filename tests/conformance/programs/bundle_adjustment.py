"""ba: where cameras see points, against where they were seen."""

from __future__ import annotations

from typing import Any

import numpy

from tests.conformance.programs.program import Program

CAMERAS, POINTS, SIGHTINGS = 3, 8, 15
SEEN = numpy.random.default_rng(7).normal(size=(SIGHTINGS, 2))
BY, OF = numpy.arange(SIGHTINGS) % CAMERAS, numpy.arange(SIGHTINGS) % POINTS


def turned(np: Any, turns: Any, x: Any) -> Any:
    """Each row of ``x`` turned about an axis by an angle, the direction and length of a row of ``turns`` (Rodrigues)."""
    angle = np.sqrt(np.sum(turns**2, axis=1, keepdims=True))
    axis = turns / angle
    along = np.sum(axis * x, axis=1, keepdims=True)
    return x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * along * (1 - np.cos(angle))


def residuals(np: Any, cameras: Any, points: Any, weights: Any) -> Any:
    """
    A camera is a rotation (3), a centre (3), a focal length, a principal point (2) and a radial distortion (2).

    cameras: (C, 11), points: (P, 3), weights: (S,); result: (3 S,), reprojection errors and those of the weights
    """
    camera = cameras[BY]
    seen_from = turned(np, camera[:, :3], points[OF] - camera[:, 3:6])
    flat = seen_from[:, :2] / seen_from[:, 2:]
    size = np.sum(flat**2, axis=1, keepdims=True)
    bent = flat * (1 + camera[:, 9:10] * size + camera[:, 10:11] * size**2)
    projected = bent * camera[:, 6:7] + camera[:, 7:9]
    errors = weights[:, None] * (projected - SEEN)
    return np.concatenate([np.reshape(errors, -1), 1 - weights**2])


def parameters() -> tuple[Any, ...]:
    rng = numpy.random.default_rng(8)
    points = rng.normal(size=(POINTS, 3)) + numpy.array([0.0, 0.0, 6.0])
    return 0.2 * rng.normal(size=(CAMERAS, 11)) + 0.3, points, rng.normal(size=SIGHTINGS)


PROGRAMS = (Program("ba", residuals, parameters),)
