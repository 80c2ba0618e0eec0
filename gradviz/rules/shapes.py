"""Derivatives of functions that rearrange the entries of one array: its axes, their order, and their repetition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom, is_number
from gradviz.engine.call import call, call_without_gradient
from gradviz.engine.cotangent import unbroadcast, zeros
from gradviz.engine.rule import Like, Rule, composed, rule

# ---- axes: views


def transpose_to_a(ct, axes):
    if axes is None:
        return np.transpose(ct)
    inverse = [0] * len(axes)
    for new, old in enumerate(axes):
        inverse[old] = new
    return np.transpose(ct, inverse)


def reshape_to_a(ct, a_like):
    return ct.reshape(a_like.shape) if type(ct) is np.ndarray else np.reshape(ct, a_like.shape)


def squeeze_to_a(ct, a_like):
    return np.reshape(ct, a_like.shape)


def expand_dims_to_a(ct, a_like):
    return np.reshape(ct, a_like.shape)


def broadcast_to_to_array(ct, array_like):
    return unbroadcast(ct, array_like.shape)


rule(np.transpose, transpose_to_a, signature="a, axes=None", view=True, linear="each")
rule(np.squeeze, squeeze_to_a, signature="a, axis=None", view=True, linear="each")
rule(np.expand_dims, expand_dims_to_a, signature="a, axis", view=True, linear="each")
rule(np.broadcast_to, broadcast_to_to_array, signature="array, shape, subok=False", view=True, linear="each")

_reshape = Rule(np.reshape, signature="a, shape", view=True, linear="each")
_reshape.pullback(reshape_to_a)


@composed(np.reshape)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    """In Fortran's order it is the transpose of a reshape in C's, which keeps it a view where memory allows."""
    if order == "C" and not copy:
        return call(_reshape, (a, shape))
    if copy:
        a = np.copy(a)
    if order == "A":
        order = "F" if _fortran(a) else "C"
    if order != "F":
        return _reshape(a, shape)
    return np.transpose(_reshape(np.transpose(a), _whole(shape, a)[::-1]))


def _fortran(a: Any) -> bool:
    flags = getattr(bottom(a), "flags", None)
    return flags is not None and flags.f_contiguous and not flags.c_contiguous


def _whole(shape: Any, a: Any) -> tuple[int, ...]:
    """A shape without -1."""
    shape = tuple(shape) if hasattr(shape, "__len__") else (shape,)
    known = 1
    for n in shape:
        known *= 1 if n == -1 else n
    return tuple(a.size // known if n == -1 else n for n in shape)


@composed(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    if order == "K":  # in the order of memory
        by_stride = sorted(range(a.ndim), key=lambda axis: -abs(a.strides[axis]))
        a, order = np.transpose(a, by_stride), "C"
    flat = np.reshape(a, -1, order=order)
    flags = getattr(bottom(flat), "flags", None)
    return flat if flags is None or flags.c_contiguous else np.copy(flat)  # ravel views contiguous memory only


def _axis(axis: Any, ndim: int) -> int:
    axis = int(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    axes = tuple(axes) if hasattr(axes, "__len__") else (axes,)
    axes = tuple(_axis(axis, ndim) for axis in axes)
    if len(set(axes)) < len(axes):
        raise ValueError("repeated axis")
    return axes


@composed(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    axis1, axis2 = _axis(axis1, len(order)), _axis(axis2, len(order))
    order[axis1], order[axis2] = axis2, axis1
    return np.transpose(a, order)


def matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return np.swapaxes(x, -1, -2)


composed(np.matrix_transpose)(matrix_transpose)
composed(np.linalg.matrix_transpose)(matrix_transpose)


@composed(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    ndim = a.ndim
    source, destination = _axes(source, ndim), _axes(destination, ndim)
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in source]
    for new, old in sorted(zip(destination, source, strict=True)):
        order.insert(new, old)
    return np.transpose(a, order)


@composed(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    ndim = a.ndim
    axis = _axis(axis, ndim)
    start = start + ndim if start < 0 else start
    if not 0 <= start <= ndim:
        raise np.exceptions.AxisError(f"'start' is out of bounds for an array of {ndim} axes")
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


def _atleast(function: Callable[..., Any], promote: Callable[[Any], Any]) -> None:
    @composed(function)
    def atleast(*arys: Any) -> Any:
        made = tuple(promote(a) if isinstance(a, Array) else function(a) for a in arys)
        return made[0] if len(made) == 1 else made


_atleast(np.atleast_1d, lambda a: a if a.ndim else np.reshape(a, (1,)))
_atleast(np.atleast_2d, lambda a: a if a.ndim > 1 else np.reshape(a, (1, a.size)))
_atleast(np.atleast_3d, lambda a: a if a.ndim > 2 else np.reshape(a, ((1, a.size, 1) if a.ndim < 2 else (*a.shape, 1))))


# ---- order along axes


@composed(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    if not isinstance(m, np.ndarray) and is_number(m):
        return +m
    axes = range(m.ndim) if axis is None else _axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


composed(np.flipud)(lambda m: m[::-1])
composed(np.fliplr)(lambda m: m[:, ::-1])


@composed(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = _axes(axes, m.ndim)
    if k % 4 == 0:
        return m[...]
    if k % 4 == 2:
        return np.flip(m, (first, second))
    if k % 4 == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


def roll_to_a(ct, shift, axis):
    back = tuple(-s for s in shift) if hasattr(shift, "__len__") else -shift
    return np.roll(ct, back, axis)


rule(np.roll, roll_to_a, signature="a, shift, axis=None", linear="each")


# ---- diagonals and triangles


def diagonal_to_a(ct, a_like, offset, axis1, axis2):
    ndim = len(a_like.shape)
    last = axis1 % ndim, axis2 % ndim
    rest = tuple(n for axis, n in enumerate(a_like.shape) if axis not in last)
    rows, columns = (a_like.shape[axis] for axis in last)
    start = offset if offset >= 0 else -offset * columns
    whole = zeros(Like((*rest, rows, columns), ct.dtype), ct)
    flat = np.reshape(whole, (*rest, rows * columns))
    flat[..., start : start + ct.shape[-1] * (columns + 1) : columns + 1] = ct
    return whole if last == (ndim - 2, ndim - 1) else np.moveaxis(whole, (-2, -1), last)


rule(np.diagonal, diagonal_to_a, signature="a, offset=0, axis1=0, axis2=1", view=True, linear="each")
composed(np.linalg.diagonal)(lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1))


def diag_to_v(ct, k):
    return np.diagonal(ct, k)


_diag = Rule(np.diag, signature="v, k=0", linear="each")
_diag.pullback(diag_to_v)


@composed(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return _diag(v, k) if v.ndim == 1 else np.diagonal(v, k)


composed(np.diagflat)(lambda v, k=0: np.diag(np.ravel(v), k))


@composed(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    total = np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1)
    return total if dtype is None else total.astype(dtype)


composed(np.linalg.trace)(lambda x, /, *, offset=0, dtype=None: np.trace(x, offset, -2, -1, dtype))


def tril_to_m(ct, k):
    return np.tril(ct, k)


def triu_to_m(ct, k):
    return np.triu(ct, k)


rule(np.tril, tril_to_m, signature="m, k=0", linear="each", elementwise=True)
rule(np.triu, triu_to_m, signature="m, k=0", linear="each", elementwise=True)


# ---- copies and dtypes


def copy_to_a(ct):
    return ct


def astype_to_x(ct):
    return ct


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if hasattr(x, "astype") else np.dtype(dtype).type(x)


rule(np.copy, copy_to_a, signature="a, order='K', subok=False", linear="each")
_cast = Rule(_astype, name="astype", linear="each")
_cast.pullback(astype_to_x)


@composed(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """To another dtype. No gradient flows through integers or booleans."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        return call_without_gradient(_astype, (x, dtype), {})
    return x if not copy and x.dtype == dtype else _cast(x, dtype)


# ---- repetition


@composed(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(a if np.shape(a) == shape and hasattr(a, "dtype") else np.broadcast_to(a, shape) for a in args)


@composed(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    made: Sequence[Any] = [
        np.reshape(x, tuple(-1 if axis == place else 1 for axis in range(len(xi))))
        for x, place in zip(xi, places, strict=True)
    ]
    if not sparse:
        made = np.broadcast_arrays(*made)
    return tuple(np.copy(x) for x in made) if copy else tuple(made)


@composed(np.tile)
def tile(A: Any, reps: Any) -> Any:
    reps = tuple(int(r) for r in reps) if hasattr(reps, "__len__") else (int(reps),)
    ndim = max(len(reps), A.ndim)
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - A.ndim) + A.shape
    if all(r == 1 for r in reps):
        return np.copy(np.reshape(A, shape))
    apart = np.reshape(A, tuple(m for n in shape for m in (1, n)))
    spread = np.broadcast_to(apart, tuple(m for n, r in zip(shape, reps, strict=True) for m in (r, n)))
    return np.reshape(spread, tuple(n * r for n, r in zip(shape, reps, strict=True)))


@composed(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = _axis(axis, a.ndim)
    counts = [repeats] if np.ndim(repeats) == 0 else list(repeats)
    n = a.shape[axis]
    if len(counts) == 1:
        spread = np.broadcast_to(
            np.expand_dims(a, axis + 1), (*a.shape[: axis + 1], int(counts[0]), *a.shape[axis + 1 :])
        )
        return np.reshape(spread, (*a.shape[:axis], n * int(counts[0]), *a.shape[axis + 1 :]))
    return a[(slice(None),) * axis + (np.repeat(positions(n, a), repeats),)]


def positions(n: int, near: Any) -> Any:
    """0, 1, ..., n - 1 on the device of ``near``."""
    plain = bottom(near)
    return np.arange(n) if isinstance(plain, (np.ndarray, np.generic, float, complex)) else np.arange(n, like=plain)


@composed(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    x = x.astype(np.promote_types(x.dtype, int), copy=False)
    powers = [np.ones_like(x)]
    for _ in range(1, x.size if N is None else N):
        powers.append(powers[-1] * x if len(powers) > 1 else x)
    powers = powers[: x.size if N is None else N]
    if not powers:
        return np.zeros((x.size, 0), x.dtype, like=x)
    return np.stack(powers if increasing else powers[::-1], axis=1)


@composed(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    near = start if isinstance(start, Array) else stop
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else (stop - start) * np.nan
    place = positions(num, near).astype(step.dtype)
    place = np.reshape(place, (num,) + (1,) * step.ndim)
    made = start + place * step if gaps > 0 else start + place * (stop - start)
    made = made if axis == 0 else np.moveaxis(made, 0, axis)
    made = made if dtype is None else made.astype(dtype)
    return (made, step) if retstep else made


@composed(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    made = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else made.astype(dtype)


@composed(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Between numbers of one sign; in double precision, as NumPy's."""
    start, stop = (
        x.astype(np.promote_types(x.dtype, np.float64), copy=False) if hasattr(x, "dtype") else x for x in (start, stop)
    )
    ratio = stop / start
    exponents = np.linspace(np.zeros_like(ratio), np.ones_like(ratio), num, endpoint)
    made = start * np.power(ratio, exponents)
    made = made if axis == 0 else np.moveaxis(made, 0, axis)
    return made if dtype is None else made.astype(dtype)


@composed(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Entries repeated as often as needed to fill the shape."""
    shape = tuple(new_shape) if hasattr(new_shape, "__len__") else (new_shape,)
    size, flat = math.prod(shape), np.ravel(a)
    if not size or not a.size:
        return np.zeros(shape, a.dtype, like=a)
    return np.reshape(np.tile(flat, -(-size // a.size))[:size], shape)
