"""How are contractions done on a simulated GPU: as CuPy does, by transposing, copying where it must, and matmul."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.devices.sim.array import SimArray
from gradviz.devices.sim.operands import unwrap
from gradviz.devices.sim.pool import Memory
from gradviz.devices.sim.quiet import quietly
from gradviz.errors import UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice


def gufunc(
    device: SimDevice,
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    hosts: list[np.ndarray],
    kwargs: dict[str, Any],
    out: SimArray | None,
) -> Any:
    """``matmul``, and any other ufunc that works on whole matrices."""
    if ufunc is np.matmul and hosts[0].ndim == hosts[1].ndim == 1:
        return dot(device, inputs[0], inputs[1], out)
    copies = [_copy(device, host) for host in hosts if not _fits_blas(host)]
    result = quietly(ufunc, hosts, kwargs)
    if isinstance(result, tuple):
        return tuple(map(device.new, result))
    array = device.new(result) if out is None else out
    _launch(device, ufunc.__name__, hosts, array._host, hosts[0].shape[-1])
    del copies  # they lived until the product was queued
    return array


def dot(device: SimDevice, a: Any, b: Any, out: SimArray | None = None) -> Any:
    """``numpy.dot``."""
    _refuse_scalars("dot", a, b)
    if not a.ndim or not b.ndim:
        return device.ufunc(np.multiply, "__call__", (a, b), {} if out is None else {"out": (out,)})
    return tensordot(device, a, b, ([-1], [-2 if b.ndim > 1 else -1]), out)


def inner(device: SimDevice, a: Any, b: Any) -> Any:
    """``numpy.inner``."""
    _refuse_scalars("inner", a, b)
    if not a.ndim or not b.ndim:
        return device.ufunc(np.multiply, "__call__", (a, b), {})
    return tensordot(device, a, b, ([-1], [-1]))


def vdot(device: SimDevice, a: Any, b: Any) -> SimArray:
    """``numpy.vdot``."""
    unwrap(device, "vdot", [a, b], [])
    _refuse_scalars("vdot", a, b)
    if a.size != b.size:
        raise ValueError(f"vdot needs as many entries in both arrays, not {a.size} and {b.size}")
    return _sum_of_products(np.conjugate(a) if a.dtype.kind == "c" else a, b)


def tensordot(device: SimDevice, a: Any, b: Any, axes: Any = 2, out: SimArray | None = None) -> Any:
    """``numpy.tensordot``."""
    unwrap(device, "tensordot", [a, b], [])
    _refuse_scalars("tensordot", a, b)
    if isinstance(axes, (int, np.integer)):
        ours, theirs = tuple(range(-int(axes), 0)), tuple(range(int(axes)))
    else:
        ours, theirs = ((axis,) if isinstance(axis, (int, np.integer)) else tuple(axis) for axis in axes)
    if len(ours) != len(theirs) or any(a.shape[i] != b.shape[j] for i, j in zip(ours, theirs, strict=True)):
        raise ValueError(f"shape-mismatch for sum: axes {ours} of {a.shape} against axes {theirs} of {b.shape}")
    labels = _tensordot_labels(a.ndim, b.ndim, ours, theirs)
    number = a.ndim and not labels[2]
    result = _sum_of_products(a.transpose(ours), b.transpose(theirs)) if number else contract(device, a, b, *labels)
    return result if out is None else _into(device, result, out)


def _sum_of_products(a: SimArray, b: SimArray) -> SimArray:
    """What CuPy does where nothing but a number is left: two kernels."""
    product = a.ravel() * b.ravel()
    return np.add.reduce(product, dtype=product.dtype)


@lru_cache(maxsize=4096)
def _tensordot_labels(a_ndim: int, b_ndim: int, ours: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[str, str, str]:
    a_labels, b_labels = list(ascii_letters[:a_ndim]), list(ascii_letters[a_ndim : a_ndim + b_ndim])
    for i, j in zip(ours, theirs, strict=True):
        b_labels[j] = a_labels[i]
    summed = {a_labels[i] for i in ours}
    kept = "".join(label for label in (*a_labels, *b_labels) if label not in summed)
    return "".join(a_labels), "".join(b_labels), kept


def einsum(device: SimDevice, *args: Any, **kwargs: Any) -> Any:
    """``numpy.einsum``: two operands at a time, from left to right, as CuPy without ``optimize``."""
    met: list[SimArray] = []
    hosts = unwrap(device, "einsum", args, met)
    shapes = tuple(array.shape for array in met)
    if isinstance(args[0], str):
        chain = _subscripts(args[0].replace(" ", ""), shapes)
    else:  # einsum(a, [0, 1], b, [1, 2], [0, 2])
        pairs = [part for shape, labels in zip(shapes, args[1::2], strict=False) for part in (shape, labels)]
        chain = _parse((*pairs, *args[2 * len(shapes) :]), shapes)
    if chain.regular:
        result = chain(met)
    else:
        result = device.new(quietly(np.einsum, hosts, {}))
        device.launch("einsum", result.nbytes + sum(array.nbytes for array in met), device.preset.product_ns)
    dtype, out = kwargs.get("dtype"), kwargs.get("out")
    if dtype is not None and result.dtype != dtype:
        result = result.astype(dtype)
    return result if out is None else _into(device, result, out)


def contract(device: SimDevice, a: SimArray, b: SimArray, a_labels: str, b_labels: str, kept: str) -> SimArray:
    """The product of two arrays, summed over the labels that are not kept; one letter for each axis."""
    layout = _layout(a_labels, b_labels, kept)
    if not layout.summed:
        return device.ufunc(np.multiply, "__call__", (_spread(a, a_labels, kept), _spread(b, b_labels, kept)), {})
    left, left_copy = _matrix(device, a._host, layout.left)
    right, right_copy = _matrix(device, b._host, layout.right)
    product = quietly(np.matmul, (left, right.swapaxes(-1, -2)), {})
    extents = a._host.shape + b._host.shape
    host = product.reshape([extents[axis] for axis in layout.produced]).transpose(layout.axes)
    result = device.new(host)
    _launch(device, "matmul", [a._host, b._host], host, left.shape[-1])
    del left_copy, right_copy  # they lived until the product was queued
    return result


class _Side(NamedTuple):
    """How one operand becomes (batch, free, summed), or (batch, summed, free)."""

    axes: tuple[int, ...]
    swapped: tuple[int, ...]
    batch: int  # number of axes
    free: int
    summed: int


class _Layout(NamedTuple):
    """How a contraction becomes one matmul."""

    left: _Side
    right: _Side
    produced: tuple[int, ...]  # the axes of what matmul gives, as axes of both operands one after the other
    axes: tuple[int, ...]  # how these must be turned
    summed: str


@lru_cache(maxsize=4096)
def _layout(a_labels: str, b_labels: str, kept: str) -> _Layout:
    batch = "".join(label for label in a_labels if label in b_labels and label in kept)
    rows = "".join(label for label in a_labels if label not in b_labels)
    columns = "".join(label for label in b_labels if label not in a_labels)
    summed = "".join(label for label in a_labels if label in b_labels and label not in kept)
    produced = batch + rows + columns
    return _Layout(
        _side(a_labels, batch, rows, summed),
        _side(b_labels, batch, columns, summed),
        tuple((a_labels + b_labels).index(label) for label in produced),
        tuple(produced.index(label) for label in kept),
        summed,
    )


def _side(labels: str, batch: str, free: str, summed: str) -> _Side:
    axes = tuple(labels.index(label) for label in batch + free + summed)
    swapped = tuple(labels.index(label) for label in batch + summed + free)
    return _Side(axes, swapped, len(batch), len(free), len(summed))


def _matrix(device: SimDevice, host: np.ndarray, side: _Side) -> tuple[np.ndarray, Memory | None]:
    """An operand as (batch, free, summed), and the copy that this took if no view will do."""
    matrix = _grouped(host.transpose(side.axes), side.batch, side.free)
    if _fits_blas(matrix) and np.may_share_memory(matrix, host):
        return matrix, None
    swapped = _grouped(host.transpose(side.swapped), side.batch, side.summed)
    if _fits_blas(swapped) and np.may_share_memory(swapped, host):
        return swapped.swapaxes(-1, -2), None
    return matrix, _copy(device, matrix)


def _grouped(host: np.ndarray, batch: int, rows: int) -> np.ndarray:
    """All batch axes as one (or none), the next axes as rows, the rest as columns."""
    shape = host.shape
    down, across = prod(shape[batch : batch + rows]), prod(shape[batch + rows :])
    return host.reshape((prod(shape[:batch]), down, across) if batch else (down, across))


def _fits_blas(host: np.ndarray) -> bool:
    """Whether one of the last two axes is contiguous and the other strides over it."""
    if host.ndim < 2 or host.size == 0:
        return True
    (rows, columns), (down, across), item = host.shape[-2:], host.strides[-2:], host.itemsize
    return ((across == item or columns == 1) and (down >= columns * item or rows == 1)) or (
        (down == item or rows == 1) and (across >= rows * item or columns == 1)
    )


def _copy(device: SimDevice, host: np.ndarray) -> Memory:
    """Count the copy that puts an operand into an order BLAS can take."""
    memory = device.allocate(host.nbytes)
    device.copy_for_layout(host.nbytes)
    return memory


def _launch(device: SimDevice, name: str, inputs: list[np.ndarray], output: np.ndarray, summed: int) -> None:
    nbytes = output.nbytes + sum(host.nbytes for host in inputs)
    flops = 2 * max(output.size, 1) * summed * (4 if output.dtype.kind == "c" else 1)
    device.launch(name, nbytes, device.preset.product_ns, flops, output.dtype.char, matrix=True)


def _spread(array: SimArray, labels: str, kept: str) -> SimArray:
    """A view with the axes in the order of ``kept``, and an axis of length one for each label it lacks."""
    turned = array._host.transpose([labels.index(label) for label in kept if label in labels])
    return array.device.view(turned[(*(slice(None) if label in labels else None for label in kept), ...)], array)


def _refuse_scalars(name: str, *operands: Any) -> None:
    for operand in operands:
        if operand.__class__ is not SimArray and not isinstance(operand, np.ndarray):
            raise UnsupportedOnDeviceError(f"CuPy's {name} takes arrays only, not {type(operand)}; multiply with *.")


def _into(device: SimDevice, result: SimArray, out: SimArray) -> SimArray:
    device.setitem(out, ..., result)
    return out


class _Fold(NamedTuple):
    """What an operand is freed of before it meets another one: repeated labels, and labels nobody else has."""

    diagonal: str  # subscripts, or "" if no label is repeated
    alone: tuple[int, ...]  # axes to sum

    def __call__(self, array: SimArray) -> SimArray:
        if self.diagonal:
            array = array.device.view(np.einsum(self.diagonal, array._host), array)
        if self.alone:
            return array.device.ufunc(np.add, "reduce", (array,), {"axis": self.alone, "dtype": array.dtype})
        return array


def _fold(labels: str, wanted: str) -> tuple[_Fold, str]:
    once = "".join(dict.fromkeys(labels))
    alone = tuple(axis for axis, label in enumerate(once) if label not in wanted)
    left = "".join(label for label in once if label in wanted)
    return _Fold("" if once == labels else f"{labels}->{once}", alone), left


class _Step(NamedTuple):
    """One product of the chain: what is done to either operand, and their labels then."""

    left: _Fold
    right: _Fold
    labels: tuple[str, str, str]


class _Chain(NamedTuple):
    """How an einsum is done, two operands at a time."""

    steps: tuple[_Step, ...]
    last: _Fold
    axes: tuple[int, ...]  # the final order
    regular: bool  # no label has length one here and another there, which no matmul can do

    def __call__(self, operands: list[SimArray]) -> SimArray:
        array = operands[0]
        for step, other in zip(self.steps, operands[1:], strict=True):
            array = contract(array.device, step.left(array), step.right(other), *step.labels)
        array = self.last(array)
        if self.axes == tuple(range(array.ndim)) and array is not operands[0]:
            return array
        return array.device.view(array._host.transpose(self.axes), array)


def _chain(labels: tuple[str, ...], kept: str, regular: bool) -> _Chain:
    steps = []
    ours = labels[0]
    for position, theirs in enumerate(labels[1:], start=2):
        wanted = kept + "".join(labels[position:])
        left, ours = _fold(ours, wanted + theirs)
        right, theirs = _fold(theirs, wanted + ours)
        both = "".join(dict.fromkeys(ours + theirs))
        result = kept if position == len(labels) else "".join(label for label in both if label in wanted)
        steps.append(_Step(left, right, (ours, theirs, result)))
        ours = result
    last, ours = _fold(ours, kept)
    return _Chain(tuple(steps), last, tuple(ours.index(label) for label in kept), regular)


@lru_cache(maxsize=4096)
def _subscripts(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> _Chain:
    return _parse((subscripts, *shapes), shapes)


def _parse(operands: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...]) -> _Chain:
    from opt_einsum.parser import parse_einsum_input

    joined, kept, _ = parse_einsum_input(operands, shapes=True)
    labels = tuple(joined.split(","))
    lengths: dict[str, int] = {}
    regular = all(
        lengths.setdefault(label, length) == length
        for names, shape in zip(labels, shapes, strict=True)
        for label, length in zip(names, shape, strict=True)
    )
    return _chain(labels, kept, regular)


SPECIAL: dict[str, Callable[..., Any]] = {
    "dot": dot,
    "einsum": einsum,
    "inner": inner,
    "tensordot": tensordot,
    "vdot": vdot,
}
