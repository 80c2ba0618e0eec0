"""A contraction whose backward pass waits for the GPU in every call, for two numbers that nobody needs.

``C = α·A·B + β·C`` is how BLAS states a product, so a library wrote one rule for all of it, with the cotangents of all five inputs.
Those of the numbers α and β are dot products, read back to the host. α is always 1 and β always 0: nobody asks for their
gradients. Yet each pullback waits twice until the device has nothing left to do. Reported on a real GPU, for ten contractions
``abc,cd->abd`` with complex 32×32×32 tensors: 370 ms, against 92 ms by ``einsum``; the whole difference was waiting.

gradviz has one pullback for each input and calls only those whose input is being differentiated. ``np.einsum`` it knows by itself.
The GPU here is simulated, an A100; its times come from a model, and are shown as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradviz as gv

CONTRACTIONS, D = 10, 32


@gv.rule
def contract(A: Any, B: Any, C: Any, alpha: complex, beta: complex) -> Any:
    """``α·A·B + β·C``."""
    return alpha * np.einsum("abc,cd->abd", A, B) + beta * C


@contract.pullback("A", "B", "C", "alpha", "beta")
def contract_back(ct: Any, A: Any, B: Any, C: Any, alpha: complex, beta: complex) -> tuple[Any, ...]:
    """The cotangents of all inputs together."""
    ct_A = np.conj(alpha) * np.einsum("abd,cd->abc", ct, np.conj(B))
    ct_B = np.conj(alpha) * np.einsum("abc,abd->cd", np.conj(A), ct)
    ct_C = np.conj(beta) * ct
    ct_alpha = complex(np.vdot(np.einsum("abc,cd->abd", A, B), ct))
    ct_beta = complex(np.vdot(C, ct))
    return ct_A, ct_B, ct_C, ct_alpha, ct_beta


def prepare(quick: bool = False) -> tuple[Any, list[Any], list[Any]]:
    """A simulated GPU with a memory pool that has seen such a step before, and tensors on it."""
    xp = gv.simulate("a100", fresh=True)
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> Any:
        return xp.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))

    count = 3 if quick else CONTRACTIONS
    inputs = xp, [tensor(D, D, D) for _ in range(count)], [tensor(D, D) for _ in range(count)]
    as_written(*inputs)
    by_gradviz(*inputs)
    return inputs


def as_written(xp: Any, As: list[Any], Bs: list[Any]) -> Any:
    """The contractions by the rule above, and the cotangents of all tensors."""
    empty = xp.zeros((D, D, D), complex)

    def contractions(As: list[Any], Bs: list[Any]) -> list[Any]:
        return [contract(A, B, empty, 1.0, 0.0) for A, B in zip(As, Bs, strict=True)]

    Cs, pull = gv.vjp(contractions, As, Bs)
    cotangents = pull(Cs)
    xp.cuda.Device().synchronize()
    return cotangents


def by_gradviz(xp: Any, As: list[Any], Bs: list[Any]) -> Any:
    """The same in plain NumPy."""

    def contractions(As: list[Any], Bs: list[Any]) -> list[Any]:
        return [np.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)]

    Cs, pull = gv.vjp(contractions, As, Bs)
    cotangents = pull(Cs)
    xp.cuda.Device().synchronize()
    return cotangents
