"""Matrices made from vectors: gathers, whose pullback adds along diagonals."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gradviz.engine.rule import composed
from gradviz.engine.slope import conj


@composed(linalg.toeplitz)
def toeplitz(c, r=None):
    r = conj(c) if r is None else r
    values = np.concatenate([np.flip(c, -1), r[..., 1:]], -1)
    return values[..., np.subtract.outer(np.arange(c.shape[-1])[::-1], -np.arange(r.shape[-1]))]


@composed(linalg.circulant)
def circulant(c):
    n = c.shape[-1]
    return c[..., np.subtract.outer(np.arange(n), np.arange(n)) % n]


@composed(linalg.hankel)
def hankel(c, r=None):
    r = np.zeros_like(c) if r is None else r
    values = np.concatenate([c, r[..., 1:]], -1)
    return values[..., np.add.outer(np.arange(c.shape[-1]), np.arange(r.shape[-1]))]


@composed(linalg.companion)
def companion(a):
    n = a.shape[-1] - 1
    first = np.expand_dims(-a[..., 1:] / a[..., :1], -2)
    rest = np.broadcast_to(np.eye(n - 1, n, dtype=first.dtype), (*a.shape[:-1], n - 1, n))
    return np.concatenate([first, rest], -2)


@composed(linalg.leslie)
def leslie(f, s):
    below = np.expand_dims(s, -1) * np.eye(s.shape[-1], f.shape[-1], dtype=s.dtype)
    return np.concatenate([np.expand_dims(f, -2), below], -2)


@composed(linalg.fiedler)
def fiedler(a):
    return np.abs(np.expand_dims(a, -1) - np.expand_dims(a, -2))


@composed(linalg.convolution_matrix)
def convolution_matrix(a, n, mode="full"):
    m = a.shape[-1]
    behind = {"full": 0, "same": (min(m, n) - 1) // 2, "valid": min(m, n) - 1}[mode]
    height = {"full": m + n - 1, "same": max(m, n), "valid": max(m, n) - min(m, n) + 1}[mode]
    at = np.subtract.outer(np.arange(height) + behind, np.arange(n))
    return np.where((at >= 0) & (at < m), a[..., np.clip(at, 0, m - 1)], 0)


@composed(linalg.block_diag)
def block_diag(*arrs):
    blocks = [np.atleast_2d(block) for block in arrs]
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        stop = start + block.shape[1]
        rows.append(np.pad(block, ((0, 0), (start, width - stop))))
        start = stop
    return np.concatenate(rows)


@composed(linalg.khatri_rao)
def khatri_rao(a, b):
    product = np.expand_dims(a, -2) * np.expand_dims(b, -3)
    return np.reshape(product, (*product.shape[:-3], -1, product.shape[-1]))


@composed(linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    """By a circulant matrix of twice the size, and the Fourier transform."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conj(c_or_cr))
    rows, columns = len(c), len(r)
    c = np.astype(c, np.result_type(c, np.float64))  # SciPy's result is of double precision
    x2 = x if np.ndim(x) > 1 else x[:, None]
    column = np.concatenate([c, np.flip(r[1:])])
    real = not any(map(np.iscomplexobj, (c, r, x)))
    forward, back = (np.fft.rfft, np.fft.irfft) if real else (np.fft.fft, np.fft.ifft)
    n = rows + columns - 1
    made = back(forward(column)[:, None] * forward(x2, n, axis=0), n, axis=0)[:rows]
    return made if np.ndim(x) > 1 else made[:, 0]
