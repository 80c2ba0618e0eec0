"""Reading and writing at chosen places."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradviz as gv
from tests.conformance.twins.twin import twin

twin("__getitem__")(lambda x, index: x[index])
twin("take")(lambda x, index: np.take(x, index))


@twin("index_select")
def index_select(x, dim, index):
    return x if np.ndim(x) == 0 else np.take(x, np.atleast_1d(index), axis=dim)


@twin("masked_select")
def masked_select(x, mask):
    shape = np.broadcast_shapes(np.shape(x), np.shape(mask))
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


def _rows(x: Any, dim: int, index: Any) -> Any:
    """The index of ``x`` that ``gather`` reads: every position of ``index`` with ``dim`` replaced."""
    grid = list(np.ix_(*map(range, np.shape(index))))
    grid[dim] = index
    return tuple(grid)


@twin("gather")
def gather(x, dim, index):
    if np.ndim(x) == 0:
        return np.reshape(np.atleast_1d(x)[np.atleast_1d(index)], np.shape(index))
    if np.ndim(index) != np.ndim(x):
        return np.zeros_like(x, shape=np.shape(index))
    return x[_rows(x, dim, index)]


@twin("take_along_dim")
def take_along_dim(x, index, dim=None):
    if dim is None:
        return np.take_along_axis(np.ravel(x), np.ravel(index), axis=0)
    shape = np.broadcast_shapes(*(np.delete(np.shape(a), dim % np.ndim(a)).tolist() for a in (x, index)))
    x, index = (
        np.broadcast_to(a, (*shape[: dim % np.ndim(a)], np.shape(a)[dim], *shape[dim % np.ndim(a) :]))
        for a in (x, index)
    )
    return np.take_along_axis(x, index, axis=dim)


def _owned(x: Any) -> Any:
    """A copy that can be written to; of 0 dimensions too."""
    return gv.numpy.array(x)


@twin("masked_scatter")
def masked_scatter(x, mask, source):
    shape = np.broadcast_shapes(np.shape(x), np.shape(mask))
    made, mask = _owned(np.broadcast_to(x, shape)), np.broadcast_to(mask, shape)
    made[mask] = np.ravel(source)[: np.count_nonzero(mask)]
    return made


@twin("scatter")
def scatter(x, dim, index, src=None, *, reduce=None, value=None):
    src = src if src is not None else value
    made = _owned(np.atleast_1d(x))
    index = np.atleast_1d(index)
    where = _rows(x, dim, index)
    put = np.atleast_1d(src)[tuple(slice(n) for n in index.shape)] if np.ndim(src) else src
    if reduce == "add":
        np.add.at(made, where, put)
    elif reduce == "multiply":
        for place in np.ndindex(index.shape):
            at = tuple(np.broadcast_to(w, index.shape)[place] for w in where)
            made[at] *= put[place] if np.ndim(put) else put
    elif index.size:
        made[where] = put
    return np.reshape(made, np.shape(x))


@twin("scatter_add")
def scatter_add(x, dim, index, src):
    return scatter(x, dim, index, src, reduce="add")


@twin("index_put")
def index_put(x, indices, values, accumulate=False):
    made = _owned(x)
    if accumulate:
        np.add.at(made, tuple(indices), values)
    else:
        made[tuple(indices)] = values
    return made


@twin("put")
def put(x, index, source, accumulate=False):
    made = _owned(np.ravel(x))
    if accumulate:
        np.add.at(made, np.ravel(index), np.ravel(source))
    else:
        made[np.ravel(index)] = np.ravel(source)
    return np.reshape(made, np.shape(x))


def _part(x: Any, dim: int, part: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % max(np.ndim(x), 1)), part)


@twin("index_fill")
def index_fill(x, dim, index, value):
    made = _owned(np.atleast_1d(x))
    made[_part(x, dim, np.atleast_1d(index))] = value
    return np.reshape(made, np.shape(x))


@twin("index_copy")
def index_copy(x, dim, index, source):
    made = _owned(np.atleast_1d(x))
    made[_part(x, dim, np.atleast_1d(index))] = source
    return np.reshape(made, np.shape(x))


@twin("index_add")
def index_add(x, dim, index, source, *, alpha=1):
    made = _owned(np.atleast_1d(x))
    np.add.at(made, _part(x, dim, np.atleast_1d(index)), alpha * source)
    return np.reshape(made, np.shape(x))


@twin("select_scatter")
def select_scatter(x, src, dim, index):
    made = _owned(x)
    made[_part(x, dim, index)] = src
    return made


@twin("slice_scatter")
def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    made = _owned(x)
    made[_part(x, dim, slice(start, end, step))] = src
    return made


@twin("diagonal_scatter")
def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    made = _owned(x)
    moved = np.moveaxis(made, (dim1, dim2), (-2, -1))
    n = np.diagonal(np.empty(np.shape(moved)[-2:]), offset).size
    rows = np.arange(n) + max(-offset, 0)
    moved[..., rows, rows + offset] = src
    return made


@twin("as_strided_scatter")
def as_strided_scatter(x, src, size, stride, storage_offset=0):
    places = storage_offset + sum(
        (np.arange(n) * s).reshape(-1, *[1] * (len(size) - 1 - k))
        for k, (n, s) in enumerate(zip(size, stride, strict=True))
    )
    made = _owned(np.ravel(x))
    made[places] = src
    return np.reshape(made, np.shape(x))


@twin("nn.functional.embedding", real=True)
def embedding(weight, index, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if padding_idx is not None or max_norm is not None or scale_grad_by_freq:
        weight = _without_row(weight, padding_idx)
    return weight[index]


def _without_row(weight: Any, row: Any) -> Any:
    """torch lets no gradient into the padding."""
    if row is None:
        return weight
    keep = np.arange(np.shape(weight)[0])[:, None] != row % np.shape(weight)[0]
    return np.where(keep, weight, gv.stop_gradient(weight))


def _reducing_into(x: Any, dim: int, index: Any, source: Any, ufunc: Any, start: float, include_self: bool) -> Any:
    """Every addressed place becomes the reduction of what is sent there, and of what stood there if that counts."""
    made = _owned(np.atleast_1d(x))
    where = _rows(made, dim, np.atleast_1d(index))
    if not include_self:
        made[where] = start
    ufunc.at(made, where, np.atleast_1d(source)[tuple(slice(n) for n in np.atleast_1d(index).shape)])
    return np.reshape(made, np.shape(x))


@twin("scatter_reduce.sum")
def scatter_reduce_sum(x, dim, index, src, reduce, *, include_self=True):
    return _reducing_into(x, dim, index, src, np.add, 0.0, include_self)


@twin("scatter_reduce.mean")
def scatter_reduce_mean(x, dim, index, src, reduce, *, include_self=True):
    total = _reducing_into(x, dim, index, src, np.add, 0.0, include_self)
    ones, zeros = np.ones(np.shape(index)), np.zeros(np.shape(x))
    count = gv.stop_gradient(_reducing_into(zeros, dim, index, ones, np.add, 0.0, include_self=True)) + include_self
    return total / np.maximum(np.asarray(count), 1)
