"""ht: a hand of bones, posed by angles, whose skin is compared with measured points; with and without places on triangles."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from tests.conformance.programs.program import Program

FINGERS, JOINTS = 5, 4
BONES = 1 + FINGERS * JOINTS
VERTICES, MEASURED = 60, 12
rng = numpy.random.default_rng(9)


def motion(turn: numpy.ndarray, shift: numpy.ndarray) -> numpy.ndarray:
    """A rigid motion as a 4 x 4 matrix."""
    q, _ = numpy.linalg.qr(numpy.eye(3) + 0.3 * turn)
    made = numpy.eye(4)
    made[:3, :3], made[:3, 3] = q * numpy.sign(numpy.linalg.det(q)), shift
    return made


PARENT = [-1] + [0 if joint == 0 else finger * JOINTS + joint for finger in range(FINGERS) for joint in range(JOINTS)]
REST = [motion(rng.normal(size=(3, 3)), rng.normal(size=3)) for _ in range(BONES)]
SKIN = numpy.concatenate([rng.normal(size=(VERTICES, 3)), numpy.ones((VERTICES, 1))], axis=1)
SHARE = rng.dirichlet(numpy.ones(BONES) * 0.2, size=VERTICES)
MEASUREMENTS = rng.normal(size=(MEASURED, 3))
NEAREST = rng.integers(0, VERTICES, size=MEASURED)
CORNERS = rng.integers(0, VERTICES, size=(MEASURED, 3))


@functools.cache
def rest_inverses() -> list[numpy.ndarray]:
    """From the hand at rest into each bone's own frame."""
    absolute: list[numpy.ndarray] = []
    for bone, parent in enumerate(PARENT):
        absolute.append(REST[bone] if parent < 0 else absolute[parent] @ REST[bone])
    return [numpy.linalg.inv(frame) for frame in absolute]


def rotation(np: Any, angles: Any) -> Any:
    """About x, then y, then z, in homogeneous coordinates."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(angles), np.sin(angles)
    entries = [
        cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz, 0.0 * cx, cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz,
        0.0 * cx, -sy, sx * cy, cx * cy, 0.0 * cx, 0.0 * cx, 0.0 * cx, 0.0 * cx, 1.0 + 0.0 * cx,
    ]  # fmt: skip
    return np.reshape(np.stack(entries), (4, 4))


def about_axis(np: Any, turn: Any) -> Any:
    """The rotation by an axis times an angle."""
    angle = np.sqrt(np.sum(turn**2))
    x, y, z = (turn[k] / angle for k in range(3))
    c, s = np.cos(angle), np.sin(angle)
    rows = [
        c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s, y * x * (1 - c) + z * s, c + y * y * (1 - c),
        y * z * (1 - c) - x * s, z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c),
    ]  # fmt: skip
    return np.reshape(np.stack(rows), (3, 3))


def posed(np: Any, theta: Any) -> Any:
    """The skin of the posed hand, (VERTICES, 3).

    theta: a global turn (3), a global shift (3), and four angles of each finger: spread, and one for each of three joints.
    """
    frames: list[Any] = []
    for bone, parent in enumerate(PARENT):
        local = REST[bone]
        if bone and (bone - 1) % JOINTS < JOINTS - 1:
            finger, joint = divmod(bone - 1, JOINTS)
            at = 6 + 4 * finger
            bend = theta[at + 1 + joint]
            spread = theta[at] if joint == 0 else 0.0 * theta[at]
            local = np.matmul(local, rotation(np, np.stack([bend, 0.0 * bend, spread])))
        frames.append(local if parent < 0 else np.matmul(frames[parent], local))
    moves = np.stack([np.matmul(frame, inverse) for frame, inverse in zip(frames, rest_inverses(), strict=True)])
    skin = np.einsum("vb,bij,vj->vi", SHARE, moves, SKIN)[:, :3]
    return np.matmul(skin, about_axis(np, theta[:3]).T) + theta[3:6]


def simple(np: Any, theta: Any) -> Any:
    """Each measured point against the vertex it belongs to."""
    return np.reshape(MEASUREMENTS - posed(np, theta)[NEAREST], -1)


def complicated(np: Any, theta: Any, places: Any) -> Any:
    """Each measured point against a place on a triangle, in coordinates of that triangle; places: (MEASURED, 2)."""
    corners = posed(np, theta)[CORNERS]
    u, v = places[:, :1], places[:, 1:]
    on_skin = u * corners[:, 0] + v * corners[:, 1] + (1 - u - v) * corners[:, 2]
    return np.reshape(MEASUREMENTS - on_skin, -1)


def pose() -> numpy.ndarray:
    return 0.4 * numpy.random.default_rng(10).normal(size=6 + 4 * FINGERS)


PROGRAMS = (
    Program("ht", simple, lambda: (pose(),)),
    Program("ht, complicated", complicated, lambda: (pose(), numpy.random.default_rng(11).uniform(size=(MEASURED, 2)))),
)
