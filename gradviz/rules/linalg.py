"""Derivatives of systems of equations: solve, inverses, determinants, least squares. All on stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.array import bottom
from gradviz.engine.cotangent import unbroadcast
from gradviz.engine.rule import Rule, composed, no_gradient, rule
from gradviz.engine.slope import conj
from gradviz.rules.products import adjoint, column, row

# ---- solve and inverse


def solve_to_b(ct, a, b_like):
    return unbroadcast(_solve_back(ct, a, b_like), b_like.shape)


def solve_to_a(ct, ct_b, a, b_like, out):
    if ct_b.shape != ct.shape or ct_b.dtype != out.dtype:  # summed, or made real, to fit b
        ct_b = _solve_back(ct, a, b_like)
    if len(b_like.shape) == 1:
        ct_b, out = column(ct_b), column(out)
    return unbroadcast(-np.matmul(ct_b, adjoint(out)), a.shape)


def _solve_back(ct: Any, a: Any, b_like: Any) -> Any:
    if len(b_like.shape) > 1:
        return np.linalg.solve(adjoint(a), ct)
    return np.linalg.solve(adjoint(a), column(ct))[..., 0]


def inv_to_a(ct, out):
    back = adjoint(out)
    return -np.matmul(np.matmul(back, ct), back)


rule(np.linalg.solve, solve_to_a, solve_to_b, signature="a, b")
rule(np.linalg.inv, inv_to_a, signature="a")


def pinv_to_a(ct, a, out):
    """Golub and Pereyra (1973); of full rank one of the two projections is zero, which costs two small products."""
    ct_back, pinv_back = adjoint(ct), adjoint(out)
    made = -np.matmul(np.matmul(pinv_back, ct), pinv_back)
    right = np.matmul(np.matmul(ct_back, out), pinv_back)
    left = np.matmul(pinv_back, np.matmul(out, ct_back))
    return made + (right - np.matmul(a, np.matmul(out, right))) + (left - np.matmul(np.matmul(left, out), a))


def _pinv(a: Any, rcond: Any, hermitian: bool) -> Any:
    return np.linalg.pinv(a, rcond, True) if hermitian else np.linalg.pinv(a, rcond)  # CuPy has no hermitian


_pseudoinverse = Rule(_pinv, name="pinv", constant=("rcond",))
_pseudoinverse.pullback(pinv_to_a)


@composed(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rcond is None:
        rcond = rtol if rtol is not None else max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    return _pseudoinverse(a, rcond, hermitian)


# ---- determinants


def det_to_a(ct, a, out):
    """The adjugate, which needs no inverse, so that it is right at singular matrices too."""
    if type(a) is np.ndarray:
        backward = _through_inverse(a, out)
        if backward is not None:
            return column(column(ct)) * backward
    return column(column(ct)) * adjoint(_adjugate(a))


def _through_inverse(a: np.ndarray, det: Any) -> Any:
    """The conjugate adjugate by the inverse, which is ten times faster; None if any of the matrices is near a singular one."""
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    return column(column(conj(det))) * adjoint(inverse) if np.all(condition < np.finfo(a.dtype).eps ** -0.5) else None


def _frame(a: Any) -> tuple[Any, Any, Any, Any]:
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, np.linalg.det(u) * np.linalg.det(vh)


def adjugate(a: Any) -> Any:
    """The adjugate matrix: what det(a) inv(a) tends to where ``a`` becomes singular."""
    u, s, vh, turn = _frame(a)
    return np.matmul(adjoint(vh) * row(column(turn) * without_one(s)), adjoint(u))


def adjugate_to_a(ct, a):
    u, s, vh, turn = _frame(a)
    framed = column(column(conj(turn))) * np.matmul(np.matmul(vh, ct), u)
    two = without_two(s)
    values = np.diagonal(framed, 0, -2, -1)
    on = np.matmul(two, column(values))[..., 0]
    return np.matmul(np.matmul(u, -two * framed) + u * row(on), vh)


_adjugate = Rule(adjugate)
_adjugate.pullback(adjugate_to_a)


def without_one(s: Any) -> Any:
    """For each position the product of the others."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def without_two(s: Any) -> Any:
    """For each pair of positions the product of the others, and 0 on the diagonal."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    all_ones = np.ones_like(column(s) * row(s))
    between = np.cumprod(np.triu(all_ones * row(s), 1) + np.tril(all_ones), -1)
    between = np.concatenate([all_ones[..., :1], between[..., :-1]], -1)
    upper = np.triu(column(before) * between * row(after), 1)
    return upper + np.swapaxes(upper, -1, -2)


rule(np.linalg.det, det_to_a, signature="a")


def slogdet_to_a(ct, a, out):
    to_sign, to_log = ct
    weight = 0 if to_log is None else to_log
    if to_sign is not None and out[0].dtype.kind == "c":
        weight = weight + 1j * np.real(1j * conj(to_sign) * out[0])
    elif to_log is None:
        weight = np.zeros_like(out[1])
    return column(column(weight)) * adjoint(np.linalg.inv(a))


rule(np.linalg.slogdet, slogdet_to_a, signature="a", outputs=True)


# ---- least squares


def lstsq_to_b(ct, a, b, out, rcond):
    to_x, to_residuals = ct[0], ct[1]
    made = np.zeros_like(b) if to_x is None else np.matmul(adjoint(np.linalg.pinv(a, _cutoff(a, rcond))), to_x)
    return (
        made
        if to_residuals is None or not out[1].size
        else made + 2 * _misfit(a, b, out[0]) * _per_column(to_residuals, b)
    )


def lstsq_to_a(ct, a, b, out, rcond):
    to_x, to_residuals, _, to_s = ct
    x = out[0] if len(b.shape) > 1 else column(out[0])
    made = np.zeros_like(a)
    if to_x is not None:
        rhs, to_x = (b, to_x) if len(b.shape) > 1 else (column(b), column(to_x))
        pseudo = np.linalg.pinv(a, _cutoff(a, rcond))
        made = pinv_to_a(np.matmul(to_x, adjoint(rhs)), a, pseudo)
    if to_residuals is not None and out[1].size:
        weighted = _misfit(a, b, out[0]) * _per_column(to_residuals, b)
        made = made - 2 * np.matmul(weighted if len(b.shape) > 1 else column(weighted), adjoint(x))
    if to_s is not None:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        made = made + np.matmul(u * row(to_s), vh)
    return made


def _cutoff(a: Any, rcond: Any) -> float:
    return max(a.shape) * float(np.finfo(a.dtype).eps) if rcond is None else max(rcond, float(np.finfo(a.dtype).eps))


def _misfit(a: Any, b: Any, x: Any) -> Any:
    return b - np.matmul(a, x)


def _per_column(to_residuals: Any, b: Any) -> Any:
    return to_residuals if len(b.shape) > 1 else to_residuals[0]


rule(np.linalg.lstsq, lstsq_to_a, lstsq_to_b, signature="a, b, rcond=None", outputs=True)


# ---- in terms of these


@composed(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    if n == 0:
        return np.zeros_like(a) + namespace(bottom(a)).eye(a.shape[-1], dtype=a.dtype)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    made = None
    while n:
        n, bit = divmod(n, 2)
        if bit:
            made = a if made is None else np.matmul(made, a)
        if n:
            a = np.matmul(a, a)
    return made


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:
        moved = [axis % a.ndim for axis in axes]
        a = np.transpose(a, [axis for axis in range(a.ndim) if axis not in moved] + moved)
    shape = a.shape[np.ndim(b) :]
    return np.reshape(np.linalg.solve(np.reshape(a, (np.size(b), -1)), np.ravel(b)), shape)


@composed(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = int(np.prod(a.shape[ind:]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), a.shape[ind:] + a.shape[:ind])


no_gradient(np.linalg.matrix_rank)
