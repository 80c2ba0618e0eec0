"""Systems of linear equations: general, triangular, banded, Toeplitz, and from a factorization that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gradviz.engine.array import bottom
from gradviz.engine.converting import converting_rule
from gradviz.engine.cotangent import unbroadcast
from gradviz.engine.rule import composed
from gradviz.engine.slope import conj
from gradviz.rules.products import adjoint, column

# ---- by NumPy's


def _double(x: Any) -> Any:
    """SciPy's result is of double precision."""
    return np.astype(x, np.complex128 if np.iscomplexobj(x) else np.float64)


composed(linalg.inv)(lambda a, *options, **more: np.linalg.inv(a))
composed(linalg.det)(lambda a, *options, **more: _double(np.linalg.det(a)))
composed(linalg.norm)(
    lambda a, ord=None, axis=None, keepdims=False, check_finite=True: np.linalg.norm(a, ord, axis, keepdims)
)


@composed(linalg.pinv)
def pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    s: Any = linalg.svdvals(bottom(a))
    largest = np.max(s, axis=-1, initial=0.0)
    if rtol is None:
        rtol = max(np.shape(a)[-2:]) * float(np.finfo(s.dtype).eps) if not atol else 0.0
    cutoff = (atol or 0.0) + largest * rtol
    made = np.linalg.pinv(a, cutoff / np.where(largest == 0, 1, largest))
    return (made, np.sum(s > column(cutoff), axis=-1)) if return_rank else made


@composed(linalg.lstsq)
def lstsq(a, b, cond=None, *options, **more):
    x, residuals, rank, s = np.linalg.lstsq(a, b, cond)
    return x, residuals if np.ndim(b) > 1 or not np.size(residuals) else residuals[0], rank, s


@composed(linalg.solve)
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    """What is assumed of ``a`` says which entries are read; a gradient flows to those."""
    a = _completed(a, assume_a or "gen", lower)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _completed(a: Any, assume_a: str, lower: bool) -> Any:
    """The matrix that SciPy solves with, of which it reads one triangle or the diagonals."""
    if assume_a in ("gen", "general", "banded", "tridiagonal"):
        return a
    if assume_a == "diagonal":
        return a * np.eye(a.shape[-1], dtype=a.dtype)
    if "triangular" in assume_a:
        return np.tril(a) if assume_a.startswith("lower") else np.triu(a)
    strict, diagonal = np.tril(a, -1) if lower else np.triu(a, 1), np.tril(np.triu(a))
    if assume_a in ("sym", "symmetric"):
        return strict + np.swapaxes(strict, -1, -2) + diagonal
    return strict + adjoint(strict) + np.real(diagonal)


# ---- triangular


def solve_triangular_to_b(ct, a, b_like, trans, lower, unit_diagonal):
    return unbroadcast(_triangular_back(ct, a, trans, lower, unit_diagonal), b_like.shape)


def solve_triangular_to_a(ct, a, b_like, out, trans, lower, unit_diagonal):
    back = _triangular_back(ct, a, trans, lower, unit_diagonal)
    x = out if len(b_like.shape) > 1 else column(out)
    back = back if len(b_like.shape) > 1 else column(back)
    made = -np.matmul(back, adjoint(x))
    made = {"N": lambda: made, "T": lambda: np.swapaxes(made, -1, -2), "C": lambda: adjoint(made)}[_turn(trans)]()
    inside = -1 if unit_diagonal else 0
    return unbroadcast(np.tril(made, inside) if lower else np.triu(made, -inside), a.shape)


def _turn(trans: Any) -> str:
    return trans if isinstance(trans, str) else "NTC"[trans]


def _triangular_back(ct: Any, a: Any, trans: Any, lower: bool, unit_diagonal: bool) -> Any:
    if _turn(trans) == "T":
        return conj(_triangular(a, conj(ct), 0, lower, unit_diagonal))
    return _triangular(a, ct, 2 if _turn(trans) == "N" else 0, lower, unit_diagonal)


_triangular = converting_rule(
    linalg.solve_triangular,
    solve_triangular_to_b,
    solve_triangular_to_a,
    signature="a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True",
    name="solve_triangular",
)


@composed(linalg.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    if lower:
        return _triangular(c, _triangular(c, b, 0, True), 2, True)
    return _triangular(c, _triangular(c, b, 2, False), 0, False)


# ---- banded: ab[u + i - j, j] = a[i, j]


def solve_banded_to_b(ct, l_and_u, ab):
    return _banded((l_and_u[1], l_and_u[0]), _adjoint_band(ab, *l_and_u), ct)


def solve_banded_to_ab(ct_b, l_and_u, out):
    return -_band_of_product(ct_b, out, *l_and_u)


def _adjoint_band(ab: Any, l: int, u: int) -> Any:  # noqa: E741 - SciPy's name
    """The conjugate transpose, in band storage: diagonal k becomes diagonal -k, which starts as many columns later."""
    return np.stack([_shifted(conj(ab[u - k]), -k) for k in range(-l, u + 1)])


def _shifted(row: Any, by: int) -> Any:
    """A row moved to the right, filled up with zeros."""
    if by == 0:
        return row
    gap = np.zeros_like(row[: abs(by)])
    return np.concatenate([gap, row[:-by]] if by > 0 else [row[-by:], gap])


def _band_of_product(y: Any, x: Any, l: int, u: int) -> Any:  # noqa: E741
    """The band of ``y xᴴ``."""
    y, x = (y, x) if len(y.shape) > 1 else (column(y), column(x))
    return np.stack([np.sum(_rows(y, -k) * conj(x), axis=-1) for k in range(u, -l - 1, -1)])


def _rows(y: Any, by: int) -> Any:
    """Row ``j + by`` at place j, and zeros beyond the ends."""
    if by == 0:
        return y
    gap = np.zeros_like(y[: abs(by)])
    return np.concatenate([y[by:], gap] if by > 0 else [gap, y[:by]])


_banded = converting_rule(
    linalg.solve_banded,
    solve_banded_to_b,
    solve_banded_to_ab,
    signature="l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True",
    name="solve_banded",
)


@composed(linalg.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    width = len(ab) - 1
    if lower:
        above = [_shifted(conj(ab[k]), k) for k in range(width, 0, -1)]
        return _banded((width, width), np.stack([*above, *ab]), b)
    below = [_shifted(conj(ab[width - k]), -k) for k in range(1, width + 1)]
    return _banded((width, width), np.stack([*ab, *below]), b)


# ---- Toeplitz and circulant: O(n²) and O(n log n), in memory for vectors only


def _solve_toeplitz(c: Any, r: Any, b: Any) -> Any:
    return linalg.solve_toeplitz((c, r), b)


def solve_toeplitz_to_b(ct, c, r):
    return _toeplitz(np.concatenate([conj(c[:1]), conj(r[1:])]), conj(c), ct)


def solve_toeplitz_to_c(ct_b, out):
    return -_along_diagonals(ct_b, out)[len(out) - 1 :]


def solve_toeplitz_to_r(ct_b, out):
    made = -_along_diagonals(ct_b, out)[len(out) - 1 :: -1]
    return np.concatenate([np.zeros_like(made[:1]), made[1:]])  # SciPy does not read r[0]


def _along_diagonals(y: Any, x: Any) -> Any:
    """The sums along the diagonals of ``y xᴴ``, the last one first."""
    if len(y.shape) == 1:
        return np.correlate(y, x, "full")
    return sum(np.correlate(y[:, k], x[:, k], "full") for k in range(y.shape[1]))


_toeplitz = converting_rule(
    _solve_toeplitz, solve_toeplitz_to_b, solve_toeplitz_to_c, solve_toeplitz_to_r, name="solve_toeplitz"
)


@composed(linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conj(c_or_cr))
    return _toeplitz(c, r, b)


@composed(linalg.solve_circulant)
def solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    if singular != "raise" or (np.ndim(c) > 1 and (caxis, baxis, outaxis) != (-1, 0, 0)) or np.ndim(c) > 1:
        raise NotImplementedError("solve_circulant of traced arrays takes one vector c, and singular='raise'.")
    b_last = np.moveaxis(b, baxis, -1)
    x = np.fft.ifft(np.fft.fft(b_last) / np.fft.fft(c))
    x = x if np.iscomplexobj(b) or np.iscomplexobj(c) else np.real(x)
    return np.moveaxis(x, -1, outaxis)
