"""Cholesky, QR, eigenvalues (of pencils too), singular values, polar decomposition: by NumPy's where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gradviz.engine.array import bottom
from gradviz.engine.converting import converting_rule
from gradviz.engine.rule import composed
from gradviz.rules.decompositions import eigh_to_a
from gradviz.rules.products import adjoint, column, row
from gradviz.rules.scipy.linalg.systems import _completed, _triangular, pinv

# ---- Cholesky and QR


@composed(linalg.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    return np.linalg.cholesky(_completed(a, "her", lower), upper=not lower)


@composed(linalg.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """Zeros stand in the other triangle, where SciPy leaves what was there."""
    return cholesky(a, lower), lower


@composed(linalg.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if mode not in ("full", "economic", "r"):
        raise NotImplementedError(
            f"scipy.linalg.qr of a traced array with mode={mode!r}: use 'full', 'economic' or 'r'."
        )
    order = None
    if pivoting:
        order = linalg.qr(bottom(a), mode="r", pivoting=True)[-1]
        a = np.take_along_axis(a, row(order), -1)
    q, r = np.linalg.qr(a, "reduced" if mode == "economic" else "complete")
    made = (r,) if mode == "r" else (q, r)
    return made if order is None else (*made, order)


# ---- singular values


@composed(linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    return tuple(np.linalg.svd(a, full_matrices)) if compute_uv else np.linalg.svdvals(a)


composed(linalg.svdvals)(lambda a, overwrite_a=False, check_finite=True: np.linalg.svdvals(a))


@composed(linalg.orth)
def orth(A, rcond=None):
    """Only what does not depend on the choice of basis (the projection ``Q Qᴴ``) has a derivative."""
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    return u[..., : _rank(bottom(s), A.shape, rcond)]


@composed(linalg.null_space)
def null_space(A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """Only what does not depend on the choice of basis (the projection ``Q Qᴴ``) has a derivative."""
    _, s, vh = np.linalg.svd(A)
    return adjoint(vh[..., _rank(bottom(s), A.shape, rcond) :, :])


def _rank(s: Any, shape: tuple[int, ...], rcond: float | None) -> int:
    if s.ndim > 1:
        raise NotImplementedError("orth and null_space of traced arrays take one matrix.")
    cutoff = np.finfo(s.dtype).eps * max(shape) if rcond is None else rcond
    return int(np.sum(s > cutoff * np.max(s, initial=0.0)))


@composed(linalg.pinvh)
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    return pinv(_completed(a, "her", lower), atol=atol, rtol=rtol, return_rank=return_rank)


# ---- eigenvalues


def _relatively_robust(a: Any) -> Any:
    """By another algorithm than NumPy's, so that signs of vectors may differ."""
    return linalg.eigh(a)


_eigh = converting_rule(_relatively_robust, eigh_to_a, name="eigh", outputs=True)


@composed(linalg.eigh)
def eigh(
    a,
    b=None,
    *,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    """A pencil is reduced by the Cholesky factor of ``b``, as LAPACK does: with b = L Lᴴ, L⁻¹ a L⁻ᴴ has the eigenvalues of type 1."""
    a = _completed(a, "her", lower)
    if b is None:
        w, v = _eigh(a)
    else:
        factor = np.linalg.cholesky(_completed(b, "her", lower))
        if type == 1:
            a = _triangular(factor, adjoint(_triangular(factor, a, 0, True)), 0, True)
        else:
            a = np.matmul(np.matmul(adjoint(factor), a), factor)
        w, v = np.linalg.eigh((a + adjoint(a)) / 2)
        v = np.matmul(factor, v) if type == 3 else _triangular(factor, v, 2, True)
    if subset_by_index is not None:
        chosen = slice(subset_by_index[0], subset_by_index[1] + 1)
        w, v = w[..., chosen], v[..., chosen]
    elif subset_by_value is not None:
        (chosen,) = np.nonzero((bottom(w) > subset_by_value[0]) & (bottom(w) <= subset_by_value[1]))
        w, v = w[chosen], v[:, chosen]
    return w if eigvals_only else (w, v)


@composed(linalg.eigvalsh)
def eigvalsh(a, b=None, *, lower=True, **options):
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@composed(linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    if select not in ("a", 0, "all"):
        raise NotImplementedError("eigh_tridiagonal of traced arrays finds all eigenvalues: take a slice of them.")
    w, v = np.linalg.eigh(np.diag(d) + np.diag(e, -1) + np.diag(e, 1))
    return w if eigvals_only else (w, v)


@composed(linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d, e, *options, **more):
    return eigh_tridiagonal(d, e, True, *options, **more)


@composed(linalg.eig)
def eig(
    a,
    b=None,
    left=False,
    right=True,
    overwrite_a=False,
    overwrite_b=False,
    check_finite=True,
    homogeneous_eigvals=False,
):
    if left or homogeneous_eigvals:
        raise NotImplementedError(
            "scipy.linalg.eig of traced arrays gives no left eigenvectors: use those of the adjoint matrix."
        )
    w, v = np.linalg.eig(a if b is None else np.linalg.solve(b, a))
    w = w if np.iscomplexobj(w) else w + 0j
    return (w, v) if right else w


@composed(linalg.eigvals)
def eigvals(a, b=None, *options, **more):
    return eig(a, b, right=False)


# ---- polar decomposition


def _polar(a: Any) -> tuple[Any, Any]:
    return linalg.polar(a)


def polar_to_a(ct, a):
    """U and P of a tall matrix by its singular vectors; the sums of singular values never vanish, so equal ones do no harm."""
    to_u, to_p = ct
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    v, sums = adjoint(vh), column(s) + row(s)
    made = np.zeros_like(a)
    if to_u is not None:
        inside = np.matmul(np.matmul(adjoint(w), to_u), v)
        made = np.matmul(w, np.matmul((inside - adjoint(inside)) / sums, vh))
        if a.shape[-2] > a.shape[-1]:
            outside = np.matmul(to_u, v) - np.matmul(w, inside)
            made = made + np.matmul(outside / row(s), vh)
    if to_p is not None:
        inside = np.matmul(np.matmul(vh, to_p), v)
        made = made + np.matmul(w * row(s), np.matmul((inside + adjoint(inside)) / sums, vh))
    return made


_tall_polar = converting_rule(_polar, polar_to_a, name="polar", outputs=True)


@composed(linalg.polar)
def polar(a, side="right"):
    """From a tall matrix: with A = U P, a wide one is the adjoint of P U, and the P of the other side is U P Uᴴ."""
    wide = a.shape[-2] < a.shape[-1]
    u, p = _tall_polar(adjoint(a) if wide else a)
    u = adjoint(u) if wide else u
    if wide == (side == "left"):
        return u, p
    return u, np.matmul(np.matmul(adjoint(u), p), u) if wide else np.matmul(np.matmul(u, p), adjoint(u))


@composed(linalg.orthogonal_procrustes)
def orthogonal_procrustes(A, B, check_finite=True):
    product = np.matmul(np.swapaxes(A, -1, -2), B) if not np.iscomplexobj(A) else np.matmul(adjoint(A), B)
    return polar(product)[0], np.sum(np.linalg.svdvals(product), axis=-1)
