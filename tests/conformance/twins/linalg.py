"""Matrices. Signs and phases of vectors may be chosen freely, so of those only what does not depend on it is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.twins.twin import twin


def adjoint(xp: Any, x: Any) -> Any:
    return xp.conj(xp.swapaxes(x, -1, -2))


def projections(xp: Any, v: Any) -> Any:
    """|v|² of every entry, and the projection on the first column."""
    first = v[..., :1]
    return xp.abs(v) ** 2, first @ adjoint(xp, first)


def _of_eigh(xp: Any, out: Any) -> Any:
    w, v = out
    return w, xp.abs(v)


def _of_eig(xp: Any, out: Any) -> Any:
    """torch and NumPy may find the eigenvalues in different order."""
    w, v = out
    return xp.sum(w**2, -1), xp.sum(w[..., None, :] * xp.abs(v) ** 2, -1)


def _of_svd(xp: Any, out: Any) -> Any:
    u, s, vh = out
    k = s.shape[-1]
    return s, xp.abs(u[..., :k]), u[..., :k] @ vh[..., :k, :]


def _of_qr(xp: Any, out: Any) -> Any:
    q, r = out
    return q, r


twin("linalg.eigh", after=_of_eigh)(lambda x, UPLO="L": np.linalg.eigh(x, UPLO))
twin("linalg.eigvalsh")(lambda x, UPLO="L": np.linalg.eigvalsh(x, UPLO))
twin("linalg.eig", after=_of_eig)(lambda x: [part + 0j for part in np.linalg.eig(x)])
twin("linalg.svdvals")(lambda x: np.linalg.svdvals(x))
twin("linalg.svd", after=_of_svd)(lambda x, full_matrices=True: np.linalg.svd(x, full_matrices))
twin("linalg.qr")(lambda x, mode="reduced": np.linalg.qr(x, mode))
twin("qr")(lambda x, some=True: np.linalg.qr(x, "reduced" if some else "complete"))


def _of_torchs_svd(xp: Any, out: Any) -> Any:
    u, s, v = out
    return _of_svd(xp, (u, s, adjoint(xp, v)))


@twin("svd", after=_of_torchs_svd)
def svd(x, some=True, compute_uv=True):
    u, s, vh = np.linalg.svd(x, not some)
    return u, s, np.conj(np.swapaxes(vh, -1, -2))


twin("linalg.det")(np.linalg.det)
twin("linalg.eigvals", after=lambda xp, w: xp.sum(w**2, -1))(lambda x: np.linalg.eigvals(x) + 0j)
twin("linalg.slogdet")(lambda x: np.linalg.slogdet(x))
twin("logdet", real=True)(lambda x: _logdet(*np.linalg.slogdet(x)))
twin("linalg.inv")(np.linalg.inv)
twin("linalg.inv_ex")(lambda x, check_errors=False: np.linalg.inv(x))
twin("pinverse")(lambda x, rcond=1e-15: np.linalg.pinv(x, rcond))
twin("linalg.matrix_power")(np.linalg.matrix_power)
twin("linalg.multi_dot")(lambda xs: np.linalg.multi_dot(xs))
twin("linalg.tensorinv")(lambda x, ind=2: np.linalg.tensorinv(x, ind))
twin("linalg.tensorsolve")(lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims))
twin("linalg.cross")(lambda a, b, dim=-1: np.linalg.cross(a, b, axis=dim))
twin("linalg.vecdot")(lambda a, b, dim=-1: np.linalg.vecdot(*np.broadcast_arrays(a, b), axis=dim))
twin("linalg.cond")(lambda x, p=None: np.linalg.cond(x, p))
twin("linalg.cholesky")(lambda x, upper=False: np.linalg.cholesky(x, upper=upper))
twin("linalg.cholesky_ex")(lambda x, upper=False, check_errors=False: np.linalg.cholesky(x, upper=upper))
twin("cholesky")(lambda x, upper=False: np.linalg.cholesky(x, upper=upper))
twin("matmul")(np.matmul)
twin("__rmatmul__")(lambda x, y: y @ x)
twin("mm", "bmm", "mv")(lambda a, b: a @ b)
twin("dot")(np.dot)
twin("vdot")(np.vdot)
twin("inner")(np.inner)
twin("outer")(np.outer)
twin("kron")(np.kron)
twin("addmm", "addmm.decomposed")(lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * (a @ b))
twin("addmv")(lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * (a @ b))
twin("addbmm")(lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.sum(a @ b, axis=0))
twin("baddbmm")(lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * (a @ b))
twin("addr")(lambda c, a, b, *, beta=1, alpha=1: beta * c + alpha * np.outer(a, b))


def _logdet(sign: Any, value: Any) -> Any:
    return np.where(sign > 0, value, np.nan)


@twin("tensordot")
def tensordot(a, b, dims=2):
    """torch repeats an axis of length 1 that meets a longer one."""
    if isinstance(dims, int):
        return np.tensordot(a, b, dims)
    a, b = _fitting(a, b, *dims), _fitting(b, a, *dims[::-1])
    return np.tensordot(a, b, tuple(tuple(d) for d in dims))


def _fitting(a: Any, b: Any, dims: Any, others: Any) -> Any:
    shape = list(np.shape(a))
    for d, other in zip(dims, others, strict=True):
        shape[d] = max(shape[d], np.shape(b)[other])
    return np.broadcast_to(a, shape)


@twin("einsum")
def einsum(operands, equation):
    return np.einsum(equation, *operands)


@twin("cross")
def cross(a, b, dim=None):
    a, b = np.broadcast_arrays(a, b)
    axis = dim if dim is not None else np.shape(a).index(3)
    return np.linalg.cross(a, b, axis=axis)


@twin("linalg.norm", "linalg.norm.subgradients_at_zero")
def norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    if dim is None and ord is not None and np.ndim(x) == 2:
        dim = (0, 1)
    axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    return np.linalg.norm(x, ord, axis, keepdim)


@twin("linalg.matrix_norm")
def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):  # noqa: A002 - torch's name
    return np.linalg.norm(x, ord, tuple(dim), keepdim)


@twin("linalg.pinv", "linalg.pinv.hermitian")
def pinv(x, rcond=None, hermitian=False, *, rtol=None, atol=None):
    return np.linalg.pinv(x, rtol=rtol if rtol is not None else rcond, hermitian=hermitian)


@twin("linalg.pinv.singular")
def pinv_of_product(a, b):
    return np.linalg.pinv(a @ np.swapaxes(b, -1, -2))


@twin("linalg.solve", "linalg.solve_ex")
def solve(a, b, *, left=True, check_errors=False):
    if not left:
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    is_vector = np.ndim(b) == 1 or (np.ndim(a) - 1 == np.ndim(b) and np.shape(b) == np.shape(a)[:-1])
    return np.linalg.solve(a, b[..., None])[..., 0] if is_vector else np.linalg.solve(a, b)


@twin("linalg.lstsq", "linalg.lstsq.grad_oriented", after=lambda xp, out: out if xp is np else out[0])
def lstsq(a, b, *, driver=None, rcond=None):
    return np.linalg.pinv(a) @ b


@twin("linalg.vander")
def vander(x, *, N=None):
    n = np.shape(x)[-1] if N is None else N
    return np.atleast_1d(x)[..., None] ** np.arange(n)


@twin("linalg.solve_triangular")
def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(np.shape(a)[-1])
        a = a * (1 - eye) + eye
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


@twin("triangular_solve", after=lambda xp, out: out[0])
def triangular_solve(b, a, upper=True, transpose=False, unitriangular=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        eye = np.eye(np.shape(a)[-1])
        a = a * (1 - eye) + eye
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, b), a


@twin("cholesky_solve")
def cholesky_solve(b, factor, upper=False):
    if upper:
        factor = np.conj(np.swapaxes(factor, -1, -2))
    return np.linalg.solve(factor @ np.conj(np.swapaxes(factor, -1, -2)), b)


@twin("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    if upper:
        factor = np.conj(np.swapaxes(factor, -1, -2))
    return np.linalg.inv(factor @ np.conj(np.swapaxes(factor, -1, -2)))


@twin("linalg.householder_product")
def householder_product(a, tau):
    m, n = np.shape(a)[-2:]
    q = np.broadcast_to(np.eye(m), (*np.shape(a)[:-2], m, m))
    for k in range(np.shape(tau)[-1]):
        v = np.where(np.arange(m) < k, 0, np.where(np.arange(m) == k, 1, a[..., :, k]))
        q = q - tau[..., k, None, None] * (q @ v[..., :, None]) @ np.conj(v[..., None, :])
    return q[..., :n]


def _of_one(function: Any) -> Any:
    return lambda x, n=None, dim=-1, norm=None: function(x, n, dim, norm)


def _of_many(function: Any, default: Any) -> Any:
    def transform(x, s=None, dim=default, norm=None):
        return function(x, _lengths(x, s, dim), _axes(x, s, dim), norm)

    return transform


for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    twin(f"fft.{name}")(_of_one(getattr(np.fft, name)))
for name in ("fft2", "ifft2", "rfft2", "irfft2"):
    twin(f"fft.{name}")(_of_many(getattr(np.fft, name), (-2, -1)))
for name in ("fftn", "ifftn", "rfftn", "irfftn"):
    twin(f"fft.{name}")(_of_many(getattr(np.fft, name), None))


def _axes(x: Any, s: Any, dim: Any) -> Any:
    if dim is not None:
        return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    return None if s is None else tuple(range(-len(s), 0))


def _lengths(x: Any, s: Any, dim: Any) -> Any:
    """-1 keeps a length."""
    if s is None:
        return None
    axes = (dim if np.ndim(dim) else (dim,)) if dim is not None else range(-len(s), 0)
    return [np.shape(x)[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]


twin("fft.fftshift")(lambda x, dim=None: np.fft.fftshift(x, dim))
twin("fft.ifftshift")(lambda x, dim=None: np.fft.ifftshift(x, dim))
