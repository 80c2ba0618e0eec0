"""Functions that put entries in other places and do nothing else to them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.conformance.twins.twin import twin


def sizes(args: Any) -> tuple[int, ...]:
    """``f(x, 2, 3)`` is ``f(x, (2, 3))``."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)


def expanded(x: Any, shape: Any) -> Any:
    """Broadcast; -1 keeps a length."""
    lead = len(shape) - np.ndim(x)
    return np.broadcast_to(x, [np.shape(x)[k - lead] if n == -1 else n for k, n in enumerate(shape)])


twin("broadcast_to")(lambda x, shape: expanded(x, shape))
twin("broadcast_tensors")(lambda *xs: np.broadcast_arrays(*xs))
twin("expand", "expand_copy")(lambda x, *shape: expanded(x, sizes(shape)))
twin("expand_as")(lambda x, other: np.broadcast_to(x, np.shape(other)))
twin("reshape", "view", "view_copy")(lambda x, *shape: np.reshape(x, sizes(shape)))
twin("reshape_as", "view_as")(lambda x, other: np.reshape(x, np.shape(other)))
twin("ravel")(np.ravel)
twin("atleast_1d")(lambda *xs: np.atleast_1d(*_spread(xs)))
twin("atleast_2d")(lambda *xs: np.atleast_2d(*_spread(xs)))
twin("transpose", "transpose_copy")(lambda x, a, b: np.swapaxes(x, a, b) if np.ndim(x) else x)
twin("permute", "permute_copy")(lambda x, *dims: np.transpose(x, sizes(dims)))
twin("t", "t_copy", "T")(lambda x: np.transpose(x))
twin("H")(lambda x: np.conj(np.transpose(x)))
twin("mT")(lambda x: np.swapaxes(x, -1, -2))
twin("mH")(lambda x: np.conj(np.swapaxes(x, -1, -2)))
twin("movedim")(np.moveaxis)
twin("flip")(lambda x, dims: np.flip(x, dims))
twin("fliplr")(np.fliplr)
twin("flipud")(np.flipud)
twin("roll")(lambda x, shifts, dims=None: np.roll(x, shifts, dims if dims not in ((), []) else None))
twin("rot90")(lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims))
twin("unsqueeze", "unsqueeze_copy")(lambda x, dim: np.expand_dims(x, dim))
twin("hstack")(lambda xs: np.hstack(xs))
twin("vstack")(lambda xs: np.vstack(xs))
twin("dstack")(lambda xs: np.dstack(xs))
twin("column_stack")(lambda xs: np.column_stack(xs))
twin("stack")(lambda xs, dim=0: np.stack(xs, axis=dim))
twin("tile")(lambda x, *dims: np.tile(x, sizes(dims)))
twin("repeat")(lambda x, *dims: np.tile(x, sizes(dims)))
twin("unbind", "unbind_copy")(lambda x, dim=0: np.unstack(x, axis=dim))
twin("split_with_sizes", "split_with_sizes_copy", "split.list_args")(lambda x, parts, dim=0: _parts(x, parts, dim))
twin("split", "unsafe_split")(lambda x, size, dim=0: _parts(x, _equal(np.shape(x)[dim], size), dim))
twin("chunk", "unsafe_chunk")(lambda x, n, dim=0: _parts(x, _equal(np.shape(x)[dim], -(-np.shape(x)[dim] // n)), dim))
twin("hsplit")(lambda x, at: np.hsplit(x, at))
twin("vsplit")(lambda x, at: np.vsplit(x, at))
twin("dsplit")(lambda x, at: np.dsplit(x, at))
twin("tril")(lambda x, k=0, *, diagonal=0: np.tril(x, k or diagonal))
twin("triu")(lambda x, k=0, *, diagonal=0: np.triu(x, k or diagonal))
twin("diagonal", "diagonal_copy", "linalg.diagonal")(
    lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2)
)
twin("diagflat")(lambda x, offset=0: np.diagflat(x, offset))
twin("meshgrid.variadic_tensors")(lambda *xs, indexing="ij": np.meshgrid(*map(np.atleast_1d, xs), indexing=indexing))
twin("meshgrid.list_of_tensors")(lambda xs, indexing="ij": np.meshgrid(*map(np.atleast_1d, xs), indexing=indexing))
twin("view_as_real")(lambda x: np.stack([np.real(x), np.imag(x)], axis=-1))
twin("view_as_complex")(lambda x: x[..., 0] + 1j * x[..., 1])
twin("narrow", "narrow_copy")(
    lambda x, dim, start, length: np.take(x, range(*_window(np.shape(x)[dim], start, length)), axis=dim)
)
twin("select")(lambda x, dim, index: np.take(x, index, axis=dim))
twin("slice")(lambda x, dim=0, start=None, end=None, step=1: x[_at(x, dim, slice(start, end, step))])
twin("repeat_interleave")(
    lambda x, repeats, dim=None, *, output_size=None: np.repeat(np.atleast_1d(x), repeats, axis=dim)
)


def _window(n: int, start: Any, length: int) -> tuple[int, int]:
    start = int(start) + n * (int(start) < 0)
    return start, start + length


def _spread(xs: Any) -> Any:
    return xs[0] if len(xs) == 1 and isinstance(xs[0], (tuple, list)) else xs


def _at(x: Any, dim: int, part: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % np.ndim(x)), part)


def _equal(n: int, size: int) -> list[int]:
    return [min(size, n - at) for at in range(0, n, max(size, 1))] or [0]


def _parts(x: Any, parts: Any, dim: int) -> Any:
    return np.split(x, list(itertools.accumulate(parts))[:-1], axis=dim)


@twin("atleast_3d")
def atleast_3d(*xs):
    """torch puts new axes elsewhere than NumPy does for one dimension, as for the rest."""
    return np.atleast_3d(*_spread(xs))


@twin("cat")
def cat(xs, dim=0):
    kept = [x for x in xs if np.shape(x) != (0,)] or list(xs)  # an empty vector fits anywhere
    return np.concatenate(kept, axis=dim)


@twin("block_diag")
def block_diag(*xs):
    xs = [np.atleast_2d(x) for x in xs]
    width = sum(x.shape[1] for x in xs)
    rows, before = [], 0
    for x in xs:
        rows.append(np.pad(x, ((0, 0), (before, width - before - x.shape[1]))))
        before += x.shape[1]
    return np.concatenate(rows)


@twin("combinations")
def combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(len(x)), r)), int).reshape(-1, r)
    return x[places]


@twin("cartesian_prod")
def cartesian_prod(*xs):
    if len(xs) == 1:
        return xs[0]
    return np.stack([np.ravel(part) for part in np.meshgrid(*xs, indexing="ij")], axis=-1)


@twin("diag")
def diag(x, diagonal=0):
    return np.diag(x, diagonal)


@twin("diag_embed")
def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = np.shape(x)[-1] + abs(offset)
    rows = np.arange(np.shape(x)[-1]) + max(-offset, 0)
    made = np.zeros_like(x, shape=(*np.shape(x)[:-1], n, n))
    made[..., rows, rows + offset] = x
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@twin("squeeze", "squeeze.multiple", "squeeze_copy")
def squeeze(x, dim=None):
    if dim is None:
        return np.squeeze(x)
    if np.ndim(x) == 0:
        return x
    dims = [dim] if isinstance(dim, int) else dim
    return np.squeeze(x, axis=tuple(d for d in dims if np.shape(x)[d] == 1))


@twin("flatten")
def flatten(x, start_dim=0, end_dim=-1):
    shape = np.shape(x) or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    return np.reshape(x, (*shape[:start], int(np.prod(shape[start : end + 1])), *shape[end + 1 :]))


@twin("unflatten")
def unflatten(x, dim, sizes):
    dim = dim % np.ndim(x)
    return np.reshape(x, (*np.shape(x)[:dim], *sizes, *np.shape(x)[dim + 1 :]))


@twin("tensor_split")
def tensor_split(x, at, dim=0):
    return np.array_split(
        x, at.tolist() if isinstance(at, np.ndarray) else list(at) if isinstance(at, tuple) else at, axis=dim
    )


@twin("constant_pad_nd", "nn.functional.pad.constant")
def constant_pad(x, pad, mode="constant", value=0):
    value = mode if not isinstance(mode, str) else value or 0
    return np.pad(_cropped(x, pad), _widths(x, pad), constant_values=value)


def _widths(x: Any, pad: Any) -> list[tuple[int, int]]:
    """torch counts from the last axis; a negative width crops."""
    pairs = [(0, 0)] * np.ndim(x)
    for k in range(len(pad) // 2):
        pairs[-1 - k] = (max(pad[2 * k], 0), max(pad[2 * k + 1], 0))
    return pairs


def _cropped(x: Any, pad: Any) -> Any:
    parts = [slice(None)] * np.ndim(x)
    for k in range(len(pad) // 2):
        parts[-1 - k] = slice(max(-pad[2 * k], 0), np.shape(x)[-1 - k] - max(-pad[2 * k + 1], 0))
    return x[tuple(parts)]


def _padded(x: Any, pad: Any, mode: str) -> Any:
    """torch crops before it wraps around, and after it repeats an edge."""
    if mode == "edge":
        return _cropped(np.pad(x, _widths(x, pad), mode="edge"), pad)
    return np.pad(_cropped(x, pad), _widths(x, pad), mode=mode)  # type: ignore[call-overload]


for torchs, ours in {
    "reflect": "reflect",
    "replicate": "edge",
    "replicate_negative": "edge",
    "circular": "wrap",
}.items():
    twin(f"nn.functional.pad.{torchs}")(lambda x, pad, mode=None, value=None, ours=ours: _padded(x, pad, ours))


@twin("as_strided", "as_strided_copy")
def as_strided(x, size, stride, storage_offset=0):
    """By the positions that the strides lead to."""
    places = storage_offset + sum(
        (np.arange(n) * s).reshape(-1, *[1] * (len(size) - 1 - k))
        for k, (n, s) in enumerate(zip(size, stride, strict=True))
    )
    return np.ravel(x)[places]


@twin("unfold", "unfold_copy")
def unfold(x, dimension, size, step):
    if np.ndim(x) == 0:
        return np.reshape(x, (1,)) if size else np.reshape(x, (1,))[:0]
    starts = np.arange(0, np.shape(x)[dimension] - size + 1, step)
    places = starts[:, None] + np.arange(size)
    made = np.take(x, places, axis=dimension)
    return np.moveaxis(made, dimension % np.ndim(x) + 1, -1)
