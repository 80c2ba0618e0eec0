"""Programs for plans on devices: each a function and its arguments on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradviz as gv
from tests.plan.test_plan import PROGRAMS as HOSTS

RNG = np.random.default_rng(7)


def network(w, x, y):
    h = np.tanh(x @ w[0] + w[1])
    z = h @ w[2]
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(z * y, axis=1))


def adam(p, m, v, t, rate, curvature, bottom):
    t = t + 1.0
    g = gv.grad(lambda p: 0.5 * np.sum(curvature * (p - bottom) ** 2))(p)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    p = p - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return p, m, v, t


def contraction(As, Bs):
    Cs, pull = gv.vjp(lambda As, Bs: [np.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)], As, Bs)
    return pull(Cs)


def scattered(x, i):
    return gv.grad(lambda x: np.sum(np.sin(x[i]) * x[i]))(x)


def written(a):
    a[1:] *= 2.0
    a[0] = np.sum(a)
    return a[::2] + 1.0


def branching(x):
    return x * 2.0 if np.sum(x) > 0 else -x


def is_complex(*shape: int) -> Any:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def single(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **HOSTS,
    "network": (gv.value_and_grad(network), ([RNG.standard_normal(s) for s in ((6, 8), (8,), (8, 3))],
                                             RNG.standard_normal((20, 6)), np.eye(3)[RNG.integers(0, 3, 20)])),
    "network, single": (gv.value_and_grad(network), ([single(6, 8), single(8), single(8, 3)], single(20, 6), single(20, 3))),
    "adam": (adam, (*(RNG.random(50) for _ in range(3)), 0.0, 0.1, RNG.random(50), RNG.standard_normal(50))),
    "contraction": (contraction, ([is_complex(4, 5, 6) for _ in range(3)], [is_complex(6, 7) for _ in range(3)])),
    "scattered": (scattered, (RNG.standard_normal(9), np.array([1, 1, 4, 8, 0]))),
    "scattered, complex": (lambda x, i: gv.grad(lambda x: np.sum(np.abs(x[i] ** 2)))(x), (is_complex(9), np.array([1, 1, 4]))),
    "transposed": (gv.grad(lambda a: np.sum(np.exp(a.T[1:] * 0.5))), (np.asfortranarray(RNG.standard_normal((4, 5))),)),
    "with gaps": (gv.grad(lambda a: np.sum(a**3)), (RNG.standard_normal((8, 6))[::2, ::3],)),
    "solve": (gv.grad(lambda a, b: np.sum(np.linalg.solve(a, b))), (RNG.standard_normal((4, 4)) + 4 * np.eye(4), RNG.random(4))),
    "a maximum of integers": (lambda a: np.max(a, axis=0) + np.cumsum(a, axis=0)[-1], (RNG.integers(0, 9, (4, 3)),)),
    "sorted": (gv.grad(lambda x, y: np.sum(np.sort(x) * y)), (RNG.standard_normal(6), np.arange(6.0))),
    "float gradients": (gv.grad(lambda x, a: np.sum(np.sin(a * x)), 1), (RNG.standard_normal(6), 0.7)),
    "written": (written, (RNG.standard_normal(7),)),
    "branching": (branching, (RNG.random(5),)),
    "only numbers": (lambda x, t: (x + t, t * 2.0, t > 1.0), (RNG.random(3), 1.5)),
    "empty": (gv.grad(lambda x: np.sum(x * x)), (np.zeros((0, 3)),)),
}  # fmt: skip
