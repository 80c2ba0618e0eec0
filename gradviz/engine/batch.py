"""Many arrays of one shape in one: how a whole Jacobian is pulled back, or pushed forward, in one sweep.

To a pullback a `Batch` looks like one of its rows: it has that row's shape, and NumPy's functions treat all rows at once
(`gradviz.engine.batch_functions`). A function that nobody has told how is called for each row. What cannot be done at all, such as
asking a batch for its truth value, raises `NotBatchedError`, and then the pullback runs row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradviz.engine.array import Array, strip
from gradviz.engine.cotangent import owned

FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # NumPy's functions -> what they do to batches
BESIDE: dict[Any, Callable[..., Any]] = {}  # functions that make an array near a batch, which is their first argument


class NotBatchedError(Exception):
    """Something that has no meaning for many rows at once; never seen by users."""


class Batch(NDArrayOperatorsMixin):
    """Arrays of one shape.

    Attributes
    ----------
    rows : ndarray of shape (count, *shape), where ``shape`` is what the batch says of itself
    """

    __slots__ = ("rows",)
    __array_priority__ = 300
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    # ---- facts, as of one row

    count = property(lambda self: len(self.rows))
    shape = property(lambda self: self.rows.shape[1:])
    strides = property(lambda self: self.rows.strides[1:])
    ndim = property(lambda self: self.rows.ndim - 1)
    dtype = property(lambda self: self.rows.dtype)
    itemsize = property(lambda self: self.rows.itemsize)
    nbytes = property(lambda self: self.rows.nbytes)
    size = property(lambda self: self.rows.size // max(len(self.rows), 1))
    base = property(lambda self: self.rows)
    T = property(np.transpose)
    real = property(lambda self: Batch(self.rows.real))
    imag = property(lambda self: Batch(self.rows.imag))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def _owned(self) -> bool:
        """Whether nobody else can reach the memory; see `gradviz.engine.cotangent.owned`."""
        rows = self.rows
        return owned(rows, 1)

    def refuse(self, *_: Any, **__: Any) -> Any:
        raise NotBatchedError

    __bool__ = __float__ = __int__ = __complex__ = __index__ = __array__ = __contains__ = item = tolist = refuse

    # ---- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        check(inputs)
        if method == "__call__" and ufunc.signature is None:
            return elementwise(ufunc, inputs, kwargs)
        handler = FUNCTIONS.get(ufunc) if method == "__call__" else FUNCTIONS.get(method)
        if handler is None:
            return row_by_row(getattr(ufunc, method), inputs, kwargs)
        return handler(*inputs, **kwargs) if method == "__call__" else handler(ufunc, *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        check(args)
        if function in BESIDE:
            return BESIDE[function](self, *args, **kwargs)
        handler = FUNCTIONS.get(function)
        return row_by_row(function, args, kwargs) if handler is None else handler(*args, **kwargs)

    # ---- parts

    def __getitem__(self, index: Any) -> Any:
        index = index if type(index) is tuple else (index,)
        if apart(index):
            return row_by_row(lambda row: row[index], (self,), {})
        return Batch(self.rows[(slice(None), *index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if type(index) is tuple else (index,)
        if isinstance(value, Array):
            raise NotBatchedError
        if apart(index):
            for k, row in enumerate(self.rows):
                row[index] = value.rows[k] if isinstance(value, Batch) else value
            return
        whole = (slice(None), *index)
        if isinstance(value, Batch):
            ndim = self.rows[whole].ndim - 1
            lost = max(value.ndim - ndim, 0)  # leading axes of length 1, which an assignment drops
            value = value.rows.reshape((value.count, *(1,) * (ndim - value.ndim), *value.shape[lost:]))
        self.rows[whole] = value

    # ---- methods

    def astype(self, dtype: Any, copy: bool = True) -> Batch:
        return Batch(self.rows.astype(dtype, copy=copy))

    def view(self, dtype: Any) -> Batch:
        if not self.ndim:
            raise NotBatchedError
        return Batch(self.rows.view(dtype))

    def copy(self, order: Any = "C") -> Batch:
        return Batch(self.rows.copy(order=order))

    def conj(self) -> Any:
        return np.conj(self)

    conjugate = conj

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def ravel(self, order: Any = "C") -> Any:
        return np.ravel(self, order=order)

    def swapaxes(self, first: int, second: int) -> Any:
        return np.swapaxes(self, first, second)

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return np.sum(self, *args, **kwargs)


def check(arguments: Any) -> None:
    """Batches do not mix with arrays that a derivative traces: who comes first would decide what is inside what."""
    for argument in arguments:
        if isinstance(argument, Array) or (
            type(argument) in (list, tuple) and any(isinstance(a, Array) for a in argument)
        ):
            raise NotBatchedError


def apart(index: tuple[Any, ...]) -> bool:
    """Whether NumPy would put the axes that an index makes in front of all others, or the index is one we leave to NumPy."""
    arrays = [
        k for k, i in enumerate(index) if not (i is None or i is Ellipsis or isinstance(i, (int, np.integer, slice)))
    ]
    if any(isinstance(index[k], (Batch, bool, np.bool_)) or np.ndim(index[k]) == 0 for k in arrays):
        if any(isinstance(index[k], Batch) for k in arrays):
            raise NotBatchedError
        return True
    if not arrays:
        return False
    places = [k for k, i in enumerate(index) if k in arrays or isinstance(i, (int, np.integer))]
    return places != list(range(places[0], places[-1] + 1))


def elementwise(function: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that broadcasts its inputs: axes are counted from the last, so shorter rows get axes of length 1 in front."""
    where, out = kwargs.get("where", True), kwargs.get("out")
    ndim = max(np.ndim(x) for x in inputs)
    kwargs = {name: value for name, value in kwargs.items() if name not in ("where", "out")}
    if where is not True:
        kwargs["where"] = lined_up(where, ndim)
    if out is not None:
        if not all(isinstance(o, Batch) for o in out):
            raise NotBatchedError
        kwargs["out"] = tuple(o.rows for o in out)
    made = function(*(lined_up(x, ndim) for x in inputs), **kwargs)
    if out is not None:
        return out[0]
    return tuple(map(Batch, made)) if type(made) is tuple else Batch(made)


def lined_up(value: Any, ndim: int) -> Any:
    """The rows of a batch with as many axes as ``ndim`` says, so that they broadcast against plain arrays."""
    if not isinstance(value, Batch):
        return value
    rows = value.rows
    return rows if value.ndim == ndim else rows.reshape((len(rows), *(1,) * (ndim - value.ndim), *value.shape))


def rows_of(value: Any, k: int) -> Any:
    """The k-th row of every batch in a value."""
    if isinstance(value, Batch):
        return value.rows[k]
    if type(value) in (list, tuple):
        return type(value)(rows_of(item, k) for item in value)
    return value


def counts(value: Any) -> int:
    """How many rows the batches in a value have; 0 if there are none."""
    if isinstance(value, Batch):
        return value.count
    if type(value) in (list, tuple):
        return max(map(counts, value), default=0)
    return 0


def row_by_row(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function called for each row, and what it gives put together."""
    count = counts(args) or counts(tuple(kwargs.values()))
    return joined(
        [
            function(*rows_of(args, k), **{name: rows_of(value, k) for name, value in kwargs.items()})
            for k in range(count)
        ]
    )


def joined(results: list[Any]) -> Any:
    """What a function gave for each row, as one."""
    results = [strip(result, 0) if isinstance(result, Array) and result.tape is None else result for result in results]
    first = results[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        items = [joined(list(items)) for items in zip(*results, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if isinstance(first, Array) or len({np.shape(result) for result in results}) > 1:
        raise NotBatchedError
    return Batch(np.stack(results))


def near(value: Any, count: int) -> Batch:
    """Zeros for ``count`` rows of the shape, dtype and layout of an array."""
    order = sorted(range(np.ndim(value)), key=lambda axis: -abs(value.strides[axis]))
    rows = np.zeros((count, *(value.shape[axis] for axis in order)), getattr(value, "dtype", type(value)))
    back = np.argsort(order).tolist()
    return Batch(np.transpose(rows, (0, *(axis + 1 for axis in back))))


def as_batch(value: Any, count: int) -> Any:
    """A plain array or number as a batch of equal rows."""
    if isinstance(value, Batch) or value is None:
        return value
    if isinstance(value, Array):
        raise NotBatchedError
    return Batch(np.broadcast_to(value, (count, *np.shape(value))).copy())
