"""What does a NumPy function do on a simulated GPU, when it is no ufunc."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from gradviz.devices.sim import cost, indexing, products
from gradviz.devices.sim.array import SCALARS, SimArray
from gradviz.devices.sim.creation import CREATION, filled
from gradviz.devices.sim.operands import unwrap
from gradviz.devices.sim.quiet import LINALG_RAISES, quietly
from gradviz.devices.sim.reads import hidden_reads
from gradviz.devices.sim.signatures import check_arguments
from gradviz.errors import UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

# Answered from shape and dtype alone; these also take host arrays.
ABOUT = {
    "can_cast", "common_type", "iscomplexobj", "isrealobj", "may_share_memory", "min_scalar_type", "ndim",
    "result_type", "shape", "size",
}  # fmt: skip

# Give the array itself or a view of it where they can; then nothing runs on the device.
VIEWS = {
    "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "conj", "conjugate", "diag", "diagonal",
    "dsplit", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "imag", "matrix_transpose", "moveaxis",
    "permute_dims", "ravel", "real", "real_if_close", "reshape", "rollaxis", "rot90", "split", "squeeze", "swapaxes",
    "transpose", "vsplit",
}  # fmt: skip

# NumPy 2.4 has these, CuPy 14 has not; the last line because they would run a host function on the data.
MISSING = {
    "block", "datetime_as_string", "einsum_path", "geomspace", "histogram_bin_edges", "insert", "nanpercentile",
    "nanquantile", "polyder", "polydiv", "polyint", "save", "savetxt", "savez", "savez_compressed", "unstack",
    "apply_along_axis", "apply_over_axes", "piecewise",
}  # fmt: skip
MISSING_LINALG = {
    "diagonal", "matrix_norm", "multi_dot", "outer", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
}  # fmt: skip

# Join arrays, and nothing else: CuPy takes no numbers there.
JOINS = {"column_stack", "concat", "concatenate", "dstack", "hstack", "stack", "vstack"}

# Tell, for a look at the values.
PRINTED = {"array2string", "array_repr", "array_str"}

COPIES = {"astype": "copy", "copy": "copy", "flatten": "copy", "ravel": "copy", "reshape": "copy", "conj": "conjugate"}


def call(device: SimDevice, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``__array_function__``; methods of ``numpy.ndarray`` come this way too."""
    name = func.__name__
    module = getattr(func, "__module__", "") or ""
    if name in MISSING or (name in MISSING_LINALG and module == "numpy.linalg"):
        return NotImplemented
    check_arguments(name, module, args, kwargs)
    if name in JOINS:
        check_pieces(name, args)
    special = SPECIAL.get(name)
    return run(device, name, module, func, args, kwargs) if special is None else special(device, *args, **kwargs)


def run(
    device: SimDevice, name: str, module: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Compute on the host; then allocate, wait and launch as the device would."""
    if name in ABOUT:
        return func(*_look(args), **{key: _look(value) for key, value in kwargs.items()})
    met: list[SimArray] = []
    hosts = [unwrap(device, name, value, met) for value in args]
    options = {key: unwrap(device, name, value, met) for key, value in kwargs.items()} if kwargs else kwargs
    if name in PRINTED:
        return device.read(met[0], "print", lambda _: func(*hosts, **options))
    result = quietly(func, hosts, options)
    sources = [array._host for array in met]
    reads = hidden_reads(name, args, kwargs)
    if module == "numpy.linalg" and LINALG_RAISES.get():
        reads = (*reads, "int")
    for trigger in reads:
        cost.launch(device, name, module, sources, [])
        device.read_hidden(trigger, name)
    made: list[np.ndarray] = []
    wrapped = _wrap(device, result, met, made)
    if made or name not in VIEWS:
        cost.launch(device, COPIES.get(name, name), module, sources, made)
    return wrapped


def check_pieces(name: str, args: tuple[Any, ...]) -> None:
    """Refuse numbers among arrays that are to be joined."""
    for piece in args[0] if args and isinstance(args[0], (list, tuple)) else ():
        if isinstance(piece, SCALARS):
            raise UnsupportedOnDeviceError(
                f"Only cupy arrays can be joined, and {name} was given a {type(piece).__name__}: make it one, xp.asarray({piece})."
            )


def _look(value: Any) -> Any:
    """Host arrays in place of device arrays, for a function that does not read them."""
    if value.__class__ is SimArray:
        return value._host
    return type(value)(map(_look, value)) if isinstance(value, (list, tuple)) else value


def _wrap(device: SimDevice, result: Any, met: list[SimArray], made: list[np.ndarray]) -> Any:
    """Device arrays in place of host arrays: the same ones, views of them, or new ones, whose data joins ``made``."""
    if isinstance(result, np.ndarray):
        for array in met:
            if result is array._host:
                return array
        if result.base is not None:
            for array in met:
                if np.may_share_memory(result, array._host):
                    return device.view(result, array)
        made.append(result if result.flags.writeable else result.copy())
        return device.new(made[-1])
    if isinstance(result, (list, tuple)):
        parts = [_wrap(device, part, met, made) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, (np.generic, bool, int, float, complex)):
        made.append(np.asarray(result))
        return device.new(made[-1])
    return result


def _like(fill: Any) -> Callable[..., SimArray]:
    def make(
        device: SimDevice, a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any
    ) -> SimArray:
        host = np.empty_like(unwrap(device, "like", a, []), dtype, order, subok, shape)
        if fill is None:
            return device.new(host)
        host.fill(fill)
        return filled(device, host)

    return make


def _full_like(
    device: SimDevice,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
) -> SimArray:
    result = _like(None)(device, a, dtype, order, subok, shape)
    indexing.assign(device, result, fill_value)
    return result


def _broadcast_to(device: SimDevice, array: SimArray, shape: Any, subok: bool = False) -> SimArray:
    """A view that repeats entries, and can be written to as CuPy's can."""
    return device.view(np.broadcast_to(array._host, shape), array)


def _broadcast_arrays(device: SimDevice, *arrays: SimArray, subok: bool = False) -> list[SimArray]:
    hosts = unwrap(device, "broadcast_arrays", arrays, [])
    shape = np.broadcast_shapes(*(host.shape for host in hosts))
    return [_broadcast_to(device, array, shape) for array in arrays]


def _take(
    device: SimDevice, a: SimArray, indices: Any, axis: int | None = None, out: Any = None, mode: str = "wrap"
) -> SimArray:
    """Out of range wraps around, and no mode is looked at."""
    where = np.asarray(indexing.index_array(device, indices))
    result = device.new(np.take(unwrap(device, "take", a, []), where, axis, mode="wrap"))
    cost.launch(device, "take", "numpy", [where, result._host], [result._host])
    if out is None:
        return result
    indexing.assign(device, out, result)
    return out


def _take_along_axis(device: SimDevice, arr: SimArray, indices: SimArray, axis: int | None = -1) -> SimArray:
    """Out of range wraps around."""
    host, where = unwrap(device, "take_along_axis", [arr, indices], [])
    length = host.size if axis is None else host.shape[normalize_axis_index(axis, host.ndim)]
    result = device.new(np.take_along_axis(host, where % max(length, 1), axis))
    cost.launch(device, "take_along_axis", "numpy", [where, result._host], [result._host])
    return result


def _put(device: SimDevice, a: SimArray, ind: Any, v: Any, mode: str = "wrap") -> None:
    """CuPy's method wraps by default; ``raise`` makes it wait for the check."""
    places = np.asarray(indexing.index_array(device, ind))
    values = unwrap(device, "put", v, [])
    if mode == "raise":
        device.read_hidden("bool", "put")
    np.put(a._host, places, values, mode=mode)  # type: ignore[call-overload]
    cost.launch(device, "put", "numpy", [places], [])


def _fill(device: SimDevice, a: SimArray, value: Any) -> None:
    indexing.assign(device, a, value)


def _matmul(device: SimDevice, a: Any, b: Any) -> Any:
    return device.ufunc(np.matmul, "__call__", (a, b), {})


SPECIAL: dict[str, Callable[..., Any]] = {
    **CREATION,
    **products.SPECIAL,
    "broadcast_arrays": _broadcast_arrays,
    "broadcast_to": _broadcast_to,
    "empty_like": _like(None),
    "fill": _fill,
    "full_like": _full_like,
    "matmul": _matmul,
    "ones_like": _like(1),
    "put": _put,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "zeros_like": _like(0),
}
