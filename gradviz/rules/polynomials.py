"""Derivatives of functions of polynomials, given by their coefficients with the highest power first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.rule import composed
from gradviz.rules.joining import gathered
from gradviz.rules.products import column
from gradviz.rules.scans import part


@composed(np.polyval)
def polyval(p, x):
    x = gathered(x)
    value = np.zeros_like(x)
    for k in range(len(p)):
        value = value * x + p[k]
    return value


def filled(p: Any, length: int) -> Any:
    """Zeros in front, up to this many coefficients."""
    return p if len(p) >= length else np.concatenate([np.zeros(length - len(p), p.dtype), p])


@composed(np.polyadd)
def polyadd(a1, a2):
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    length = max(len(a1), len(a2))
    return filled(a1, length) + filled(a2, length)


@composed(np.polysub)
def polysub(a1, a2):
    return polyadd(a1, -np.atleast_1d(a2))


@composed(np.polymul)
def polymul(a1, a2):
    return np.convolve(*(trimmed(np.atleast_1d(a)) for a in (a1, a2)))


def trimmed(p: Any) -> Any:
    """Without zeros in front, but for one."""
    if not len(p):
        return np.zeros(1, p.dtype)
    return p[min(len(p) - len(np.trim_zeros(bottom(p), "f")), len(p) - 1) :]


@composed(np.polydiv)
def polydiv(u, v):
    """Long division. Where the remainder begins is decided by its values, as in NumPy."""
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    steps, quotient, rest = len(u) - len(v) + 1, [], u + np.zeros_like(v[0])
    for _ in range(steps):
        quotient.append(rest[0] / v[0])
        rest = np.concatenate([rest[1 : len(v)] - quotient[-1] * v[1:], rest[len(v) :]])
    if steps > 0:
        rest = np.concatenate([np.zeros_like(u[:1]), rest])  # NumPy leaves a zero if there is nothing else
    while len(rest) > 1 and np.allclose(bottom(rest)[0], 0, rtol=1e-14):
        rest = rest[1:]
    return (np.stack(quotient) if quotient else np.zeros_like(rest[:1])), rest


@composed(np.polyder)
def polyder(p, m=1):
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = gathered(p)
    for _ in range(int(m)):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@composed(np.polyint)
def polyint(p, m=1, k=None):
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = gathered(p)
    constants = np.zeros(int(m)) if k is None else np.atleast_1d(k)
    if len(constants) < m and len(constants) != 1:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(int(m)):
        constant = constants[part(0, i, i + 1)] if len(constants) > 1 else constants
        p = np.concatenate([p / np.arange(len(p), 0, -1), constant])
    return p


@composed(np.roots)
def roots(p):
    """Eigenvalues of the companion matrix."""
    p = np.atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    nonzero = np.flatnonzero(bottom(p))
    if not len(nonzero):
        return np.zeros(0)
    first, last = int(nonzero[0]), int(nonzero[-1])
    at_zero = np.zeros(len(p) - 1 - last)
    p = p[first : last + 1]
    if len(p) < 2:
        return at_zero
    below = np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)
    found = np.linalg.eigvals(np.concatenate([np.reshape(-p[1:] / p[0], (1, -1)), below]))
    return np.concatenate([found, at_zero.astype(found.dtype)])


@composed(np.poly)
def poly(seq_of_zeros):
    """The product of ``x - z`` over the zeros, or over the eigenvalues of a matrix."""
    zeros = np.atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not len(zeros):
        return 1.0
    p = np.ones(1, zeros.dtype)
    for k in range(len(zeros)):
        p = np.convolve(p, np.concatenate([np.ones(1, zeros.dtype), -zeros[k : k + 1]]))
    return np.real(p) if in_pairs(bottom(zeros)) else p


def in_pairs(zeros: Any) -> bool:
    """Whether zeros are complex and each has its conjugate among them."""
    return zeros.dtype.kind == "c" and bool(np.all(np.sort(zeros) == np.sort(zeros.conj())))


@composed(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov: Any = False):
    """Least squares on columns scaled to length 1."""
    check_points(x, y, w, deg)
    x, y, w = gathered(x) + 0.0, gathered(y) + 0.0, None if w is None else gathered(w)
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    powers = np.vander(x, int(deg) + 1)
    if w is not None:
        powers, y = powers * column(w), y * (column(w) if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    c, residuals, rank, s = np.linalg.lstsq(powers, y, rcond)
    c = c / (column(scale) if y.ndim == 2 else scale)
    if full:
        return c, residuals, rank, s, rcond
    if bottom(rank) != deg + 1:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    return (c, covariance(powers, scale, residuals, y.ndim, cov)) if cov else c


def covariance(powers: Any, scale: Any, residuals: Any, ndim: int, cov: Any) -> Any:
    base = np.linalg.inv(np.matmul(np.transpose(powers), powers)) / np.outer(scale, scale)
    count, order = powers.shape
    if cov == "unscaled":
        factor: Any = 1
    elif count <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (count - order)
    return base * factor if ndim == 1 else column(base) * factor


def check_points(x: Any, y: Any, w: Any, deg: int) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if np.ndim(x) != 1 or not np.size(x):
        raise TypeError("expected non-empty 1D vector for x")
    if np.ndim(y) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y) or (w is not None and np.shape(w) != np.shape(x)):
        raise TypeError("expected x, y and w to have the same length")
