"""Derivatives of matrix decompositions: Cholesky, QR, eigenvalues, singular values. All on stacks of matrices.

Matrices that must be Hermitian get a Hermitian gradient. Where values coincide see `gradviz.rules.coincidence`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import bottom
from gradviz.engine.rule import Rule, composed
from gradviz.engine.slope import conj
from gradviz.rules.coincidence import coupled, coupling, even_part, inverse, limit, must_vanish, skew_part
from gradviz.rules.products import adjoint, column, row

# ---- Cholesky and QR


def cholesky_to_a(ct, out):
    product = np.matmul(adjoint(out), ct)
    lower = (np.tril(product) + np.tril(product, -1)) / 2
    half = np.linalg.solve(adjoint(out), even_part(lower))
    return adjoint(np.linalg.solve(adjoint(out), adjoint(half)))


_cholesky = Rule(np.linalg.cholesky, signature="a")
_cholesky.pullback(cholesky_to_a)


@composed(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return adjoint(_cholesky(adjoint(a))) if upper else _cholesky(a)


def qr_to_a(ct, a, out, mode):
    q, r = out
    to_q, to_r = (np.zeros_like(value) if given is None else given for given, value in zip(ct, out, strict=True))
    m, n = a.shape[-2:]
    if m < n:
        to_q = to_q + np.matmul(a[..., m:], adjoint(to_r[..., m:]))
        return np.concatenate([_qr_square(q, r[..., :m], to_q, to_r[..., :m]), np.matmul(q, to_r[..., m:])], -1)
    if mode == "complete" and m > n:
        q, rest, to_q, to_rest = q[..., :n], q[..., n:], to_q[..., :n], to_q[..., n:]
        must_vanish(
            skew_part(np.matmul(adjoint(rest), to_rest)), ct, "qr", "the columns that complete Q to a square matrix"
        )
        to_q = to_q - np.matmul(rest, np.matmul(adjoint(to_rest), q))
        r, to_r = r[..., :n, :], to_r[..., :n, :]
    return _qr_square(q, r, to_q, to_r)


def _qr_square(q: Any, r: Any, to_q: Any, to_r: Any) -> Any:
    product = np.matmul(to_r, adjoint(r)) - np.matmul(adjoint(q), to_q)
    above = np.triu(product, 1)
    on = np.triu(product) - above
    whole = to_q + np.matmul(q, above + adjoint(above) + even_part(on))
    return adjoint(np.linalg.solve(r, adjoint(whole)))


_qr = Rule(np.linalg.qr, signature="a, mode='reduced'", outputs=True)
_qr.pullback(qr_to_a)


@composed(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(
            f"np.linalg.qr of a traced array with mode={mode!r}: use 'reduced', 'complete' or 'r'."
        )
    return _qr(a, "reduced")[1] if mode == "r" else _qr(a, mode)


# ---- eigenvalues


def eigh_to_a(ct, out):
    to_w, to_v = ct
    w, v = out
    if to_v is None:
        return np.matmul(v * row(to_w), adjoint(v))
    product = np.matmul(adjoint(v), to_v)
    skew, even = skew_part(product), even_part(product)
    apart, near = coupling(w)
    must_vanish(np.where(near, skew, 0), ct, "eigh", "eigenvectors of equal eigenvalues")
    inner = coupled(skew, apart, near) + limit(near, even, to_w, "eigh")
    made = np.matmul(v, inner)
    return np.matmul(made if to_w is None else made + v * row(to_w), adjoint(v))


_eigh = Rule(np.linalg.eigh, signature="a, UPLO='L'", outputs=True)
_eigh.pullback(eigh_to_a)
composed(np.linalg.eigh)(lambda a, UPLO="L": _eigh(a, UPLO))


def eigvalsh_to_a(ct, a, UPLO):
    v = np.linalg.eigh(a, UPLO)[1]
    return np.matmul(v * row(ct), adjoint(v))


_eigvalsh = Rule(np.linalg.eigvalsh, signature="a, UPLO='L'")
_eigvalsh.pullback(eigvalsh_to_a)
composed(np.linalg.eigvalsh)(lambda a, UPLO="L": _eigvalsh(a, UPLO))


def eig_to_a(ct, a_like, out):
    to_w, to_v = ct
    w, v = out
    back = adjoint(v)
    inner = np.zeros_like(v) if to_w is None else column(to_w) * namespace(bottom(v)).eye(v.shape[-1], dtype=v.dtype)
    if to_v is not None:
        product = np.matmul(back, to_v)
        length = np.real(np.diagonal(product, 0, -2, -1))
        change = product - np.matmul(back, v) * row(length)
        apart, near = coupling(w)
        must_vanish(np.where(near, change, 0), ct, "eig", "eigenvectors of equal eigenvalues, or by their phase")
        inner = inner + coupled(change, conj(apart), near)
    made = np.linalg.solve(back, np.matmul(inner, back))
    return made if a_like.dtype.kind == "c" else np.real(made)


_eig = Rule(np.linalg.eig, signature="a", outputs=True)
_eig.pullback(eig_to_a)
composed(np.linalg.eig)(lambda a: _eig(a))
composed(np.linalg.eigvals)(lambda a: _eig(a)[0])


# ---- singular values


def svd_to_a(ct, a_like, out):
    to_u, to_s, to_vh = ct
    u, s, vh = out
    k = s.shape[-1]
    u1, v1h = u[..., :k], vh[..., :k, :]
    made = None if to_s is None else np.matmul(u1 * row(to_s), v1h)
    if to_u is None and to_vh is None:
        return made
    to_u = np.zeros_like(u) if to_u is None else to_u
    to_v = adjoint(np.zeros_like(vh) if to_vh is None else to_vh)
    left, right = np.matmul(adjoint(u1), to_u[..., :k]), np.matmul(v1h, to_v[..., :k])
    differences, near = coupling(s)
    sums, both_zero = coupling(s, -1)
    together, against = skew_part(left) + skew_part(right), skew_part(left) - skew_part(right)
    must_vanish(np.where(near, together, 0), ct, "svd", "singular vectors of equal singular values")
    must_vanish(np.where(both_zero, against, 0), ct, "svd", "singular vectors of singular values that are zero")
    inner = (
        coupled(together, differences, near)
        + coupled(against, sums, both_zero)
        + limit(near, even_part(left) + even_part(right), to_s, "svd")
    )
    inner = np.matmul(np.matmul(u1, inner), v1h)
    made = inner if made is None else made + inner
    one_over, zero = inverse(s)
    if a_like.shape[-2] > k:
        outside = _outside(u, u1, to_u, left, ct)
        must_vanish(np.where(row(zero), outside, 0), ct, "svd", "singular vectors of singular values that are zero")
        made = made + np.matmul(outside * row(one_over), v1h)
    if a_like.shape[-1] > k:
        outside = _outside(adjoint(vh), adjoint(v1h), to_v, right, ct)
        must_vanish(np.where(row(zero), outside, 0), ct, "svd", "singular vectors of singular values that are zero")
        made = made + np.matmul(u1, adjoint(outside * row(one_over)))
    return made


def _outside(u: Any, u1: Any, to_u: Any, inside: Any, ct: Any) -> Any:
    """The part of a cotangent of singular vectors that leaves the space they span, less what the completing vectors take back."""
    k = u1.shape[-1]
    outside = to_u[..., :k] - np.matmul(u1, inside)
    if u.shape[-1] == k:
        return outside
    rest, to_rest = u[..., k:], to_u[..., k:]
    must_vanish(
        skew_part(np.matmul(adjoint(rest), to_rest)), ct, "svd", "the vectors that complete U or V to a square matrix"
    )
    return outside - np.matmul(rest, np.matmul(adjoint(to_rest), u1))


_svd = Rule(np.linalg.svd, signature="a, full_matrices=True", outputs=True)
_svd.pullback(svd_to_a)


def _singular_values(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def svdvals_to_a(ct, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(u * row(ct), vh)


_svdvals = Rule(_singular_values, name="svdvals")
_svdvals.pullback(svdvals_to_a)


@composed(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if compute_uv:
        return _svd(a, full_matrices)
    return _svdvals(a)


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    w, v = np.linalg.eigh(a)
    sign, s = np.sign(w), np.abs(w)
    order = np.argsort(s, axis=-1)[..., ::-1]
    s = np.take_along_axis(s, order, axis=-1)
    if not compute_uv:
        return s
    sign = np.take_along_axis(sign, order, axis=-1)
    u = np.take_along_axis(v, row(order), axis=-1)
    return np.linalg._linalg.SVDResult(u, s, adjoint(u * row(sign)))


composed(np.linalg.svdvals)(lambda x, /: np.linalg.svd(x, compute_uv=False))


# ---- in terms of these


@composed(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        s = np.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))
