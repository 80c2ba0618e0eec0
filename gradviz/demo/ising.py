"""The energy of the two-dimensional Ising model, as the gradient of its free energy, by tensor renormalization.

The partition function of a lattice of spins is a network of equal tensors. Each is split in two by a singular value decomposition that
keeps the largest values only, and four halves around a square are joined into a tensor of a coarser lattice (Levin and Nave, 2007).
Twenty rounds make a million spins, and the logarithms of the norms add up to ln Z. Its derivative with respect to the inverse
temperature β is minus the energy, which Onsager found exactly in 1944. So a gradient through forty decompositions can be checked.

As people wrote it, each matrix is copied before it is decomposed, lest that overwrites it; but to reshape a transposed tensor has made a
copy already, and ``np.linalg.svd`` overwrites nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ellipk

import gradviz as gv

BETA, ROUNDS, KEPT = 0.35, 20, 12
NEGLIGIBLE = 1e-10  # singular values below this part of the largest are rounding, which has no derivative


def exact_energy(beta: float) -> float:
    """Onsager's energy per spin: ``-coth(2β)·(1 + 2/π·(2·tanh²(2β) − 1)·K(k))`` with ``k = 2·sinh(2β)/cosh²(2β)``."""
    k = 2 * np.sinh(2 * beta) / np.cosh(2 * beta) ** 2
    return float(-(1 + 2 / np.pi * (2 * np.tanh(2 * beta) ** 2 - 1) * ellipk(k**2)) / np.tanh(2 * beta))


def prepare(quick: bool = False) -> tuple[float, int]:
    """The inverse temperature, and how many singular values are kept."""
    return BETA, KEPT // 2 if quick else KEPT


def as_written(beta: float, kept: int) -> float:
    """The energy per spin, with a copy before each decomposition."""

    def matrix(tensor: Any, *axes: int) -> Any:
        turned = np.transpose(tensor, axes)
        a, b, c, d = turned.shape
        return np.reshape(turned, (a * b, c * d)).copy()

    return -gv.grad(_free_energy)(beta, kept, matrix)


def by_gradviz(beta: float, kept: int) -> float:
    """The energy per spin."""

    def matrix(tensor: Any, *axes: int) -> Any:
        turned = np.transpose(tensor, axes)
        a, b, c, d = turned.shape
        return np.reshape(turned, (a * b, c * d))

    return -gv.grad(_free_energy)(beta, kept, matrix)


def _free_energy(beta: Any, kept: int, matrix: Callable[..., Any]) -> Any:
    """``ln Z`` per spin."""
    half = np.stack([np.sqrt(np.cosh(beta)), np.sqrt(np.sinh(beta))])
    spins = half * np.array([[1.0, 1.0], [1.0, -1.0]])  # spin, bond
    tensor = np.einsum("su,sl,sd,sr->uldr", spins, spins, spins, spins)
    total, share = 0.0, 1.0
    for _ in range(ROUNDS):
        size = np.linalg.norm(tensor)
        total = total + share * np.log(size)
        tensor = _coarser(tensor / size, kept, matrix)
        share /= 2
    return total + share * np.log(np.einsum("abab->", tensor))


def _coarser(tensor: Any, kept: int, matrix: Callable[..., Any]) -> Any:
    """The tensor of a lattice with half as many; the axes are up, left, down, right."""
    up_left, down_right = _halves(matrix(tensor, 0, 1, 2, 3), kept)
    left_down, right_up = _halves(matrix(tensor, 1, 2, 3, 0), kept)
    return np.einsum("ayx,xzd,bwy,zwc->abcd", down_right, left_down, right_up, up_left)


def _halves(matrix: Any, kept: int) -> tuple[Any, Any]:
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    side = round(len(matrix) ** 0.5)
    n = min(kept, int(np.sum(s > NEGLIGIBLE * s[0])))
    root = np.sqrt(s[:n])
    return np.reshape(u[:, :n] * root, (side, side, n)), np.reshape(root[:, None] * vh[:n], (n, side, side))
