"""How eigenvectors and singular vectors are differentiated where values coincide.

There the vectors are any basis of a space, and 1 / (w_j - w_i) is infinite. A function that does not depend on the choice of basis
has a derivative all the same. With M the product of the vectors and their cotangent, its skew part vanishes there, so the coupling
may be taken as zero. What the limit 0/0 leaves is known in two cases: the even part of M is zero, or it goes with the cotangent of
the values as in V h(w) Vᴴ, where the ratio h'/h can be read from the diagonal. Otherwise no rule can know it, and we say so. On a
device nothing is checked: that would make the host wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.rule import Rule
from gradviz.engine.slope import conj
from gradviz.errors import NotDifferentiableError
from gradviz.rules.products import adjoint, column, row


def skew_part(x: Any) -> Any:
    return (x - adjoint(x)) / 2


def even_part(x: Any) -> Any:
    return (x + adjoint(x)) / 2


def tolerance(w: Any) -> Any:
    """Below this, a difference of values is rounding."""
    return 8 * float(np.finfo(w.dtype).eps) * np.sum(np.abs(w), axis=-1, keepdims=True)


def coupling(w: Any, sign: int = 1) -> tuple[Any, Any]:
    """The matrix 1 / (w_j - w_i), zero where values coincide, and where that is; with sign -1 of w_j + w_i."""
    gap = row(w) - sign * column(w)
    near = np.abs(gap) <= column(tolerance(w))
    return np.where(near, 0, 1 / np.where(near, 1, gap)), near


def inverse(s: Any) -> tuple[Any, Any]:
    zero = np.abs(s) <= tolerance(s)
    return np.where(zero, 0, 1 / np.where(zero, 1, s)), zero


def couple(part: Any, apart: Any, near: Any) -> Any:
    """The part that is skew times the coupling."""
    return part * apart


def couple_to_part(ct, apart, near):
    _check_pairs(bottom(ct), bottom(near))
    return ct * conj(apart)


def couple_to_apart(ct, part):
    return ct * conj(part)


coupled = Rule(couple)
coupled.pullback(couple_to_part)
coupled.pullback(couple_to_apart)


def _check_pairs(ct: Any, near: Any) -> None:
    """The same from the other side: a direction, of forward mode or of a second derivative, that parts coinciding values."""
    if type(ct) is not np.ndarray or not ct.size:
        return
    mixed = np.where(np.triu(near, 1) | np.tril(near, -1), np.abs(ct), 0)
    if np.max(mixed) > float(np.finfo(ct.dtype).eps) ** 0.5 * np.max(np.abs(ct)):
        raise NotDifferentiableError(
            "values of a decomposition coincide, and the direction of this derivative parts them, so the vectors have no derivative "
            "along it. Use reverse mode, or move the values apart (a + 1e-6 * np.diag(np.arange(n)))."
        )


def limit(near: Any, even: Any, to_w: Any, function: str) -> Any:
    """The entries off the diagonal between coinciding values: the even part, times the ratio the diagonal shows."""
    pairs = np.triu(near, 1) | np.tril(near, -1)
    if type(bottom(pairs)) is np.ndarray and not np.any(bottom(pairs)):
        return 0
    if to_w is None:
        to_w = np.zeros_like(np.real(even[..., 0]))
    on = np.real(np.diagonal(even, 0, -2, -1))
    near = near.astype(on.dtype)
    weight = np.matmul(near, column(on * on))[..., 0]
    none = (
        weight <= float(np.finfo(on.dtype).eps) * np.sum(np.abs(even) ** 2, axis=(-2, -1))[..., None]
    )  # the diagonal tells nothing
    ratio = np.where(none, 0, np.matmul(near, column(on * to_w))[..., 0] / np.where(none, 1, weight))
    _check_limit(bottom(pairs), bottom(even), bottom(on), bottom(to_w), bottom(ratio), bottom(none), function)
    return np.where(pairs, even * column(ratio), 0)


def _check_limit(pairs: Any, even: Any, on: Any, to_w: Any, ratio: Any, none: Any, function: str) -> None:
    if type(pairs) is not np.ndarray or not pairs.size:
        return
    small = float(np.finfo(on.dtype).eps) ** 0.5 * max(float(np.max(np.abs(even))), float(np.max(np.abs(to_w))))
    wrong = none | (np.abs(to_w - ratio * on) > small)
    matters = (np.abs(even) > small) | (np.abs(row(to_w) - column(to_w)) > small)
    if np.any(pairs & matters & (column(wrong) | row(wrong))):
        raise NotDifferentiableError(
            f"np.linalg.{function}: values coincide, and the vectors that belong to them are used in a way whose derivative cannot be "
            f"told from the derivatives by values and vectors. Use the matrix itself instead of rebuilding it from its parts, or "
            f"move the values apart (a + 1e-6 * np.diag(np.arange(n)))."
        )


def must_vanish(part: Any, cts: Any, function: str, what: str) -> None:
    """Raise if a function depends on what a decomposition leaves open. On devices nothing is checked.

    ``cts`` are all cotangents of the decomposition: what is small beside them is rounding.
    """
    part = bottom(part)
    if type(part) is not np.ndarray or not part.size:
        return
    scale = max(float(np.max(np.abs(bottom(ct)), initial=0)) for ct in cts if ct is not None)
    if np.max(np.abs(part)) > float(np.finfo(part.dtype).eps) ** 0.5 * scale:
        raise NotDifferentiableError(
            f"np.linalg.{function}: the result depends on {what}, which may be chosen freely, so it has no derivative here. Use only "
            f"what does not depend on the choice (products such as V h(w) Vᴴ, projections), or move the values apart."
        )
