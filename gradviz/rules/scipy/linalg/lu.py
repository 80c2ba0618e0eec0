"""LU decomposition with pivoting, and what is solved by it. The permutation is constant wherever it does not jump."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gradviz.engine.converting import converting_rule
from gradviz.engine.rule import composed
from gradviz.rules.products import adjoint, column
from gradviz.rules.scipy.linalg.systems import _triangular


def lu_factor_to_a(ct, out):
    """With M = L⁻¹ dA U⁻¹ of the square parts, dL = L tril(M, -1) and dU = triu(M) U; the rest of L or U follows from these."""
    both, pivots = out
    rows, columns = both.shape[-2:]
    k = min(rows, columns)
    square, to_both = both[..., :k, :k], ct[0]
    to_lower, upper = np.tril(to_both[..., :k, :k], -1), np.triu(square)
    of_lower = np.matmul(adjoint(np.tril(square, -1)), to_lower) + to_lower
    of_upper = np.matmul(np.triu(to_both[..., :k, :k]), adjoint(upper))
    if rows > columns:
        of_upper = of_upper - np.matmul(adjoint(both[..., k:, :]), to_both[..., k:, :])
    if columns > rows:
        of_lower = of_lower - np.matmul(to_both[..., k:], adjoint(both[..., k:]))
    made = _over_lower(square, _over_upper(np.tril(of_lower, -1) + np.triu(of_upper), square))
    if rows > columns:
        made = np.concatenate([made, _over_upper(to_both[..., k:, :], square)], -2)
    if columns > rows:
        made = np.concatenate([made, _over_lower(square, to_both[..., k:])], -1)
    return np.take_along_axis(made, column(_places(pivots, rows)), -2)


def _over_lower(square: Any, x: Any) -> Any:
    """``L⁻ᴴ x``."""
    return _triangular(square, x, 2, True, True)


def _over_upper(x: Any, square: Any) -> Any:
    """``x U⁻ᴴ``."""
    return adjoint(_triangular(square, adjoint(x), 0, False))


def _order(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Which row of the matrix each row of L U is, from the row that each was swapped with in turn."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for k in range(pivots.shape[-1]):
        other = pivots[..., k : k + 1]
        swapped = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., k : k + 1], -1)
        order[..., k : k + 1] = swapped
    return order


def _places(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Which row of L U each row of the matrix is."""
    return np.argsort(_order(pivots, rows), axis=-1)


_factor = converting_rule(
    linalg.lu_factor,
    lu_factor_to_a,
    signature="a, overwrite_a=False, check_finite=True",
    name="lu_factor",
    outputs=True,
)


@composed(linalg.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    both, pivots = _factor(a)
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    lower = np.tril(both[..., :k], -1) + np.eye(rows, k, dtype=both.dtype)
    upper = np.triu(both[..., :k, :])
    places = _places(np.asarray(pivots), rows)
    if permute_l:
        return np.take_along_axis(lower, column(places), -2), upper
    if p_indices:
        return places, lower, upper
    return (column(places) == np.arange(rows)).astype(both.dtype), lower, upper


@composed(linalg.lu_solve)
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    both, pivots = lu_and_piv
    order = _order(np.asarray(pivots), both.shape[-1])
    vector = np.ndim(b) == 1
    b = column(b) if vector else b
    if trans in (0, "N"):
        x = _triangular(both, _triangular(both, _rows(b, order), 0, True, True), 0, False)
    else:
        x = _triangular(both, _triangular(both, b, trans, False), trans, True, True)
        x = _rows(x, np.argsort(order, axis=-1))
    return x[..., 0] if vector else x


def _rows(x: Any, order: np.ndarray) -> Any:
    """The rows of each matrix in another order."""
    shape = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    x = np.broadcast_to(x, (*shape, *x.shape[-2:]))
    return np.take_along_axis(x, np.broadcast_to(column(order), (*shape, order.shape[-1], 1)), -2)
