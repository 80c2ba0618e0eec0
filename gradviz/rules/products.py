"""Derivatives of products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradviz.engine.cotangent import unbroadcast
from gradviz.engine.rule import composed, rule
from gradviz.engine.slope import conj


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices; of real ones a view, which BLAS takes as it is."""
    return conj(np.swapaxes(x, -1, -2))


def column(x: Any) -> Any:
    return np.expand_dims(x, -1)


def row(x: Any) -> Any:
    return np.expand_dims(x, -2)


# ---- matmul and its kin


def matmul_to_x(ct, x_like, y):
    if len(x_like.shape) == 2 == len(y.shape):
        return np.matmul(ct, conj(y.T))
    if len(y.shape) == 1:
        return column(ct) * conj(y) if len(x_like.shape) > 1 else ct * conj(y)
    if len(x_like.shape) == 1:
        return unbroadcast(np.matmul(conj(y), column(ct))[..., 0], x_like.shape)
    return unbroadcast(np.matmul(ct, adjoint(y)), x_like.shape)


def flat_rows(x: Any) -> Any:
    """All rows of a stack of matrices as one matrix, which may be empty."""
    return np.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def matmul_to_y(ct, x, y_like):
    if len(x.shape) == 1:
        made = column(conj(x)) * row(ct) if len(y_like.shape) > 1 else ct * conj(x)
        return unbroadcast(made, y_like.shape)
    if len(y_like.shape) == 1:
        if len(x.shape) > 2:
            x, ct = flat_rows(x), np.reshape(ct, -1)
        return conj(np.matmul(conj(ct), x))
    if len(y_like.shape) == 2 and len(x.shape) > 2:  # one product instead of one for each matrix and their sum
        x, ct = flat_rows(x), flat_rows(ct)
    if ct.size < x.size:
        return unbroadcast(conj(np.matmul(np.swapaxes(x, -1, -2), conj(ct))), y_like.shape)
    return unbroadcast(np.matmul(adjoint(x), ct), y_like.shape)


rule(np.matmul, matmul_to_x, matmul_to_y, signature="x, y", linear="each")


def vecdot_to_x(ct, x_like, y):
    return unbroadcast(column(conj(ct)) * y, x_like.shape)


def vecdot_to_y(ct, x, y_like):
    return unbroadcast(column(ct) * x, y_like.shape)


def matvec_to_x(ct, x_like, y):
    return unbroadcast(column(ct) * row(conj(y)), x_like.shape)


def matvec_to_y(ct, x, y_like):
    return unbroadcast(np.matmul(adjoint(x), column(ct))[..., 0], y_like.shape)


def vecmat_to_x(ct, x_like, y):
    return unbroadcast(np.matmul(y, column(conj(ct)))[..., 0], x_like.shape)


def vecmat_to_y(ct, x, y_like):
    return unbroadcast(column(x) * row(ct), y_like.shape)


rule(np.vecdot, vecdot_to_x, vecdot_to_y, signature="x, y", linear="each")
rule(np.matvec, matvec_to_x, matvec_to_y, signature="x, y", linear="each")
rule(np.vecmat, vecmat_to_x, vecmat_to_y, signature="x, y", linear="each")


def vdot_to_a(ct, a_like, b):
    return np.reshape(conj(ct) * b, a_like.shape)


def vdot_to_b(ct, a, b_like):
    return np.reshape(ct * a, b_like.shape)


def squared_norm_to_a(ct, a):
    return 2 * ct.real * a


@rule(name="vdot", linear="each")
def inner_product(a, b):
    return np.vdot(a, b)


@rule(name="squared norm")
def squared_norm(a):
    return np.vdot(a, a)


inner_product.pullback(vdot_to_a)
inner_product.pullback(vdot_to_b)
squared_norm.pullback(squared_norm_to_a)


@composed(np.vdot)
def vdot(a, b):
    """Of an array with itself, one pullback does the work of two and their sum."""
    return squared_norm(a) if a is b else inner_product(a, b)


# ---- in terms of these


def _ndim(x: Any) -> int:
    """As `numpy.ndim`, which would go through the protocols of traced arrays."""
    return len(x.shape) if hasattr(x, "shape") else np.ndim(x)


@composed(np.dot)
def dot(a: Any, b: Any, out: None = None) -> Any:
    if not _ndim(a) or not _ndim(b):
        return np.multiply(a, b)
    if _ndim(b) == 1 or (_ndim(a) <= 2 and _ndim(b) == 2):
        return np.matmul(a, b)
    return np.tensordot(a, b, (-1, -2))


@composed(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    if not _ndim(a) or not _ndim(b):
        return np.multiply(a, b)
    return np.matmul(a, b) if _ndim(b) == 1 else np.tensordot(a, b, (-1, -1))


def outer(a: Any, b: Any, out: None = None) -> Any:
    return np.matmul(np.reshape(a, (-1, 1)), np.reshape(b, (1, -1)))


composed(np.outer)(outer)


@composed(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    if _ndim(x1) != 1 or _ndim(x2) != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={_ndim(x1)} and x2.ndim={_ndim(x2)}."
        )
    return outer(x1, x2)


@composed(np.kron)
def kron(a: Any, b: Any) -> Any:
    ndim = max(_ndim(a), _ndim(b))
    ours = (1,) * (ndim - _ndim(a)) + np.shape(a)
    theirs = (1,) * (ndim - _ndim(b)) + np.shape(b)
    a = np.reshape(a, tuple(m for n in ours for m in (n, 1)))
    b = np.reshape(b, tuple(m for n in theirs for m in (1, n)))
    return np.reshape(a * b, tuple(n * m for n, m in zip(ours, theirs, strict=True)))


@composed(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            f"cross product of vectors of {a.shape[-1]} and {b.shape[-1]} components: both must have 2 or 3"
        )
    ax, ay, bx, by = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    z = ax * by - ay * bx
    if a.shape[-1] == b.shape[-1] == 2:
        return z
    if a.shape[-1] == 2:
        x, y = ay * b[..., 2], -ax * b[..., 2]
    elif b.shape[-1] == 2:
        x, y = -a[..., 2] * by, a[..., 2] * bx
    else:
        x, y = ay * b[..., 2] - a[..., 2] * by, a[..., 2] * bx - ax * b[..., 2]
    return np.moveaxis(np.stack([x, y, z], axis=-1), -1, axisc)


composed(np.linalg.cross)(lambda x1, x2, /, *, axis=-1: np.cross(x1, x2, axis=axis))
composed(np.linalg.matmul)(lambda x1, x2, /: np.matmul(x1, x2))
composed(np.linalg.tensordot)(lambda x1, x2, /, *, axes=2: np.tensordot(x1, x2, axes))


@composed(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if axis == -1:
        return np.vecdot(x1, x2)
    return np.vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))


@composed(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: None = None) -> Any:
    """In the order that takes the fewest multiplications."""
    arrays = list(arrays)
    shapes = [np.shape(a) for a in arrays]
    labels = [chr(97 + k) + chr(98 + k) for k in range(len(arrays))]
    first, last = len(shapes[0]) == 1, len(shapes[-1]) == 1
    labels[0] = labels[0][1:] if first else labels[0]
    labels[-1] = labels[-1][:1] if last else labels[-1]
    kept = ("" if first else labels[0][0]) + ("" if last else labels[-1][-1])
    return np.einsum(f"{','.join(labels)}->{kept}", *arrays)
