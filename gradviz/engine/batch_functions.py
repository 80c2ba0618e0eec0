"""What NumPy's functions do to a `Batch`: the same, with the axis of rows in front."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.batch import (
    BESIDE,
    FUNCTIONS,
    Batch,
    NotBatchedError,
    as_batch,
    counts,
    elementwise,
    lined_up,
    row_by_row,
)
from gradviz.engine.entering import entering

does = entering(FUNCTIONS)


def shifted(axis: Any, ndim: int) -> Any:
    """Axes of a row as axes of all rows."""
    if isinstance(axis, (tuple, list)):
        return tuple(shifted(a, ndim) for a in axis)
    if not -ndim <= axis < ndim:
        raise NotBatchedError
    return axis % ndim + 1


# ---- reductions and scans


def reducing(function: Any) -> None:
    @does(function)
    def reduce(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs.get("out") is not None or not isinstance(a, Batch):
            return row_by_row(function, (a, axis, *args), kwargs)
        axis = tuple(range(1, a.ndim + 1)) if axis is None else shifted(axis, a.ndim)
        if "where" in kwargs:
            kwargs["where"] = lined_up(kwargs["where"], a.ndim)
        return Batch(function(a.rows, axis=axis, **kwargs))


for _function in (
    np.sum,
    np.prod,
    np.mean,
    np.max,
    np.min,
    np.amax,
    np.amin,
    np.any,
    np.all,
    np.var,
    np.std,
    np.count_nonzero,
):
    reducing(_function)


@does("reduce")
def ufunc_reduce(
    ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **kwargs: Any
) -> Any:
    if out is not None or kwargs:
        raise NotBatchedError
    axis = tuple(range(1, a.ndim + 1)) if axis is None else shifted(axis, a.ndim)
    return Batch(ufunc.reduce(a.rows, axis=axis, dtype=dtype, keepdims=keepdims))


@does("at")
def ufunc_at(ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    if not isinstance(target, Batch):
        raise NotBatchedError
    for k, row in enumerate(target.rows):
        ufunc.at(row, index, *(value.rows[k] if isinstance(value, Batch) else value for value in values))


def scanning(function: Any) -> None:
    @does(function)
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise NotBatchedError
        rows = a.rows.reshape(a.count, -1) if axis is None else a.rows
        return Batch(function(rows, axis=1 if axis is None else shifted(axis, a.ndim), dtype=dtype))


scanning(np.cumsum)
scanning(np.cumprod)

# ---- shapes


@does(np.shape)
def shape_of(a: Any) -> Any:
    return a.shape


@does(np.ndim)
def ndim_of(a: Any) -> int:
    return a.ndim


@does(np.size)
def size_of(a: Any, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


@does(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return x.dtype.kind == "c"


@does(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return x.dtype.kind != "c"


@does(np.reshape)
def reshape(a: Any, shape: Any, order: str = "C", copy: Any = None) -> Any:
    if order != "C" or copy is not None:
        return row_by_row(np.reshape, (a, shape, order), {})
    return Batch(a.rows.reshape((a.count, *(shape if isinstance(shape, (tuple, list)) else (shape,)))))


@does(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    return Batch(a.rows.reshape(a.count, a.size)) if order == "C" else row_by_row(np.ravel, (a, order), {})


@does(np.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    axes = range(a.ndim)[::-1] if axes is None else axes
    return Batch(np.transpose(a.rows, (0, *shifted(tuple(axes), a.ndim))))


@does(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return Batch(np.swapaxes(a.rows, shifted(axis1, a.ndim), shifted(axis2, a.ndim)))


@does(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return Batch(np.moveaxis(a.rows, shifted(source, a.ndim), shifted(destination, a.ndim)))


@does(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    ndim = a.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    return Batch(np.expand_dims(a.rows, shifted(axis, ndim)))


@does(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    axis = tuple(k for k, n in enumerate(a.shape) if n == 1) if axis is None else axis
    return Batch(np.squeeze(a.rows, shifted(axis, a.ndim)))


@does(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return Batch(np.broadcast_to(lined_up(array, len(shape)), (array.count, *shape)))


@does(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    return Batch(np.flip(m.rows, shifted(tuple(range(m.ndim)) if axis is None else axis, m.ndim)))


@does(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return Batch(np.diagonal(a.rows, offset, shifted(axis1, a.ndim), shifted(axis2, a.ndim)))


def last_two(function: Any) -> None:
    @does(function)
    def of_matrices(m: Any, k: int = 0) -> Any:
        return Batch(function(m.rows, k)) if m.ndim >= 2 else row_by_row(function, (m, k), {})


last_two(np.tril)
last_two(np.triu)


@does(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return Batch(np.copy(a.rows, order="C" if order == "C" else "K"))


@does(np.real)
def real(val: Any) -> Any:
    return val.real


@does(np.imag)
def imag(val: Any) -> Any:
    return val.imag


@does(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        raise NotBatchedError
    return elementwise(np.where, (condition, x, y), {})


@does(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    if out is not None or axis is None:
        raise NotBatchedError
    rows = [as_batch(a, counts(tuple(arrays))).rows for a in arrays]
    return Batch(np.concatenate(rows, shifted(axis, rows[0].ndim - 1), **kwargs))


@does(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **kwargs: Any) -> Any:
    if out is not None:
        raise NotBatchedError
    rows = [as_batch(a, counts(tuple(arrays))).rows for a in arrays]
    return Batch(np.stack(rows, shifted(axis, rows[0].ndim), **kwargs))


# ---- creation: of arrays like a batch, or beside one


def creating_like(function: Any) -> None:
    @does(function)
    def make(a: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("shape") is not None:
            raise NotBatchedError
        return Batch(function(a.rows, *args, **kwargs))


for _function in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    creating_like(_function)


def creating_beside(function: Any) -> None:
    def make(batch: Batch, shape: Any, *args: Any, **kwargs: Any) -> Any:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        return Batch(function((batch.count, *shape), *args, **kwargs))

    BESIDE[function] = make


def plain_beside(function: Any) -> None:
    BESIDE[function] = lambda batch, *args, **kwargs: function(*args, **kwargs)


for _function in (np.zeros, np.ones, np.empty, np.full):
    creating_beside(_function)
for _function in (np.asarray, np.arange, np.eye, np.identity, np.tri):
    plain_beside(_function)

# ---- products


@does(np.matmul)
def matmul(a: Any, b: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise NotBatchedError
    m, n = np.ndim(a), np.ndim(b)
    if min(m, n) == 1 and max(m, n) > 2:
        return row_by_row(np.matmul, (a, b), {})
    if m == 1 and n == 1:
        return np.sum(a * b)
    if isinstance(a, Batch) and isinstance(b, Batch):
        if m == 1:
            return Batch(np.matmul(a.rows[:, None], b.rows)[:, 0])
        if n == 1:
            return Batch(np.matmul(a.rows, b.rows[..., None])[..., 0])
    elif m == 1 and isinstance(a, Batch):
        return Batch(np.matmul(a.rows, b))  # one product of two matrices
    elif n == 1 and isinstance(b, Batch):
        return Batch(np.matmul(b.rows, np.swapaxes(a, 0, 1)))
    elif min(m, n) == 1:  # the vector is the same for all rows
        rows = a.rows if isinstance(a, Batch) else b.rows
        return Batch(np.matmul(rows, b) if n == 1 else np.matmul(a, rows))
    return Batch(np.matmul(lined_up(a, max(m, n)), lined_up(b, max(m, n))))


@does(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise NotBatchedError
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return matmul(a, b) if np.ndim(a) <= 2 and np.ndim(b) <= 2 else row_by_row(np.dot, (a, b), {})


@does(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        raise NotBatchedError
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


@does(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    return np.sum(np.conj(np.reshape(a, (-1,))) * np.reshape(b, (-1,)))


@does(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if np.ndim(axes) == 0 and not isinstance(axes, (tuple, list)):
        axes = list(range(np.ndim(a) - axes, np.ndim(a))), list(range(axes))
    first, second = ([axis] if isinstance(axis, (int, np.integer)) else list(axis) for axis in axes)
    if not isinstance(b, Batch):
        return Batch(np.tensordot(a.rows, b, (shifted(first, a.ndim), second)))
    if not isinstance(a, Batch):
        made = np.tensordot(a, b.rows, (first, shifted(second, b.ndim)))
        return Batch(np.moveaxis(made, np.ndim(a) - len(first), 0))
    return row_by_row(np.tensordot, (a, b, axes), {})


@does(np.einsum)
def einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    if not isinstance(subscripts, str) or "." in subscripts or "->" not in subscripts or kwargs.get("out") is not None:
        return row_by_row(np.einsum, (subscripts, *operands), kwargs)
    left, _, right = subscripts.replace(" ", "").partition("->")
    letter = next(letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if letter not in subscripts)
    terms = [letter * isinstance(x, Batch) + term for term, x in zip(left.split(","), operands, strict=True)]
    kwargs["optimize"] = kwargs.get("optimize", len(operands) > 2)
    return Batch(
        np.einsum(f"{','.join(terms)}->{letter}{right}", *(lined_up(x, np.ndim(x)) for x in operands), **kwargs)
    )


@does(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    if isinstance(a, Batch) or np.ndim(a) != 2:
        return row_by_row(np.linalg.solve, (a, b), {})
    return Batch(np.linalg.solve(a, b.rows.T).T if b.ndim == 1 else np.linalg.solve(a, b.rows))


def transforming(function: Any) -> None:
    @does(function)
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return Batch(function(a.rows, n, shifted(axis, a.ndim), norm))


for _function in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft):
    transforming(_function)
