"""What does indexing do on a simulated GPU: views, gathers, masks, writes, and ``ufunc.at``, by CuPy's rules.

They differ from NumPy's: integer arrays out of range wrap around, a mask makes the host wait, indices from the host
are uploaded each time, and which of several values wins one place is undefined (so a seeded generator chooses).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim.array import SCALARS, SimArray
from gradviz.devices.sim.operands import check
from gradviz.errors import HostArrayError, UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

# ufunc.at with an index array: the dtypes of CuPy's atomics (cupy/_core/_routines_indexing.pyx).
AT_DTYPES = {
    "add": "ilqILQefd",
    "subtract": "iI",
    "maximum": "ilqILQfd",
    "minimum": "ilqILQfd",
    "bitwise_and": "ilqILQ",
    "bitwise_or": "ilqILQ",
    "bitwise_xor": "ilqILQ",
}


class Prepared:
    """An index with its arrays on the host side of the model, in range, and counted."""

    __slots__ = ("advanced", "index", "nbytes")

    def __init__(self, device: SimDevice, shape: tuple[int, ...], index: Any) -> None:
        parts = index if isinstance(index, tuple) else (index,)
        self.advanced = False  # whether more than a view is asked for
        self.nbytes = 0
        if not all(map(_is_basic, parts)):
            self.advanced = True
            parts = self._in_range(device, shape, [index_array(device, part) for part in parts])
        self.index = tuple(parts)

    def _in_range(self, device: SimDevice, shape: tuple[int, ...], parts: list[Any]) -> list[Any]:
        taken = sum(map(_axes_of, parts))
        if sum(isinstance(part, np.ndarray) and part.dtype.kind == "b" for part in parts) > 1:
            raise UnsupportedOnDeviceError("CuPy takes one boolean mask in an index, not several; combine them with &.")
        if not any(part is Ellipsis for part in parts):
            parts.append(Ellipsis)
        axis = 0
        for place, part in enumerate(parts):
            if isinstance(part, np.ndarray):
                self.nbytes += part.nbytes
                if part.dtype.kind == "b":
                    device.count_true(part)
                elif part.size and axis < len(shape) and shape[axis]:
                    parts[place] = np.asarray(part % shape[axis])
            axis += len(shape) - taken if part is Ellipsis else _axes_of(part)
        return parts


def getitem(device: SimDevice, array: SimArray, index: Any) -> SimArray:
    """``array[index]``: a view for slices and integers, else new memory."""
    prepared = Prepared(device, array._host.shape, index)
    if not prepared.advanced:
        return device.view(_view(array._host, prepared.index), array)
    taken = array._host[prepared.index]
    result = device.new(taken.copy() if np.may_share_memory(taken, array._host) else taken)
    device.launch("take", 2 * result._host.nbytes + prepared.nbytes, device.preset.ufunc_ns)
    return result


def setitem(device: SimDevice, array: SimArray, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    prepared = Prepared(device, array._host.shape, index)
    if prepared.advanced:
        _scatter_into(device, array._host, prepared, _values(device, array, value))
    else:
        assign(device, device.view(_view(array._host, prepared.index), array), value)


def assign(device: SimDevice, target: SimArray, value: Any) -> None:
    """Write a device array or a scalar into all of a target."""
    host = target._host
    if value.__class__ is SimArray:
        check(device, "assignment", value)
        if _is_same(target, value):  # the last step of ``a[i] += v``
            return
        host[...] = value._host
        device.launch("copy", host.nbytes + value._host.nbytes, device.preset.ufunc_ns)
        return
    if not isinstance(value, SCALARS) and np.ndim(value):
        raise HostArrayError(
            f"non-scalar numpy.ndarray cannot be used for fill: an array of shape {np.shape(value)} on the host was "
            f"assigned to a part of an array on {device.name}. Move it first: a[i] = xp.asarray(value)."
        )
    host[...] = value
    device.launch("fill", host.nbytes, device.preset.ufunc_ns)


def scatter(device: SimDevice, name: str, array: Any, index: Any, value: Any = None) -> None:
    """``ufunc.at(array, index, value)``."""
    if array.__class__ is not SimArray:
        raise HostArrayError(
            f"{name}.at writes into a NumPy array on the host with indices or values on {device.name}; "
            "move one to the other with xp.asarray or .get()."
        )
    if name not in AT_DTYPES:
        raise UnsupportedOnDeviceError(f"CuPy has no {name}.at; it has {', '.join(sorted(AT_DTYPES))}.")
    prepared = Prepared(device, array._host.shape, index)
    ufunc = getattr(np, name)
    if not prepared.advanced:
        part = device.view(_view(array._host, prepared.index), array)
        device.ufunc(ufunc, "__call__", (part, value), {"out": (part,)})
        return
    if array.dtype.char not in AT_DTYPES[name]:
        supported = ", ".join(str(np.dtype(char)) for char in dict.fromkeys(AT_DTYPES[name]))
        remedy = " Add the real and imaginary parts one by one: np.add.at(a.real, i, v.real)."
        raise UnsupportedOnDeviceError(
            f"cupy.{name}.at only supports {supported} as data type, not {array.dtype}."
            + (remedy if array.dtype.kind == "c" else "")
        )
    values = _values(device, array, value)
    ufunc.at(array._host, prepared.index, values)
    device.launch(f"scatter_{name}", 3 * np.asarray(values).nbytes + prepared.nbytes, device.preset.ufunc_ns)


def index_array(device: SimDevice, part: Any) -> Any:
    """One part of an index: arrays as host arrays, uploads counted, the rest as it is."""
    if part.__class__ is SimArray:
        check(device, "indexing", part)
        part = part._host
    elif isinstance(part, (list, tuple, range, np.ndarray)):
        part = _upload(device, part)
    elif isinstance(part, (bool, np.bool_)):
        part = np.asarray(part)
    if isinstance(part, np.ndarray) and part.dtype.kind not in "biu":
        raise IndexError(f"arrays used as indices must be of integer or boolean type. (actual: {part.dtype.type})")
    return part


def _upload(device: SimDevice, index: Any) -> np.ndarray:
    """An index that comes from the host: copied to the device, at each use."""
    host = np.asarray(index)
    if not host.size and not isinstance(index, np.ndarray):
        host = host.astype(np.int32)
    if host.ndim:
        device.upload(host.nbytes, "constant_upload", "host index")
    return host


def _is_basic(part: Any) -> bool:
    kind = part.__class__
    return kind is slice or kind is int or part is None or part is Ellipsis or isinstance(part, np.integer)


def _axes_of(part: Any) -> int:
    """How many axes of the array one part of an index stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _view(host: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    """A view even where NumPy would give a scalar."""
    return host[index] if any(part is Ellipsis for part in index) else host[(*index, ...)]


def _is_same(a: SimArray, b: SimArray) -> bool:
    return (
        a._memory is b._memory
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
        and a._host.ctypes.data == b._host.ctypes.data
    )


def _values(device: SimDevice, array: SimArray, value: Any) -> Any:
    """What is written through an index array: CuPy uploads host arrays here without a word."""
    if value.__class__ is SimArray:
        check(device, "assignment", value)
        return value._host.astype(array.dtype, copy=False)
    host = np.asarray(value, array.dtype)
    if host.ndim:
        device.upload(host.nbytes, "constant_upload", "host values")
    return host


def _scatter_into(device: SimDevice, host: np.ndarray, prepared: Prepared, values: np.ndarray) -> None:
    if values.ndim and _has_duplicates(prepared.index):
        places = np.arange(host.size).reshape(host.shape)[prepared.index]
        order = device.rng.permutation(places.size)
        host.flat[places.ravel()[order]] = np.broadcast_to(values, places.shape).ravel()[order]
    else:
        host[prepared.index] = values
    device.launch("scatter", 2 * values.nbytes + prepared.nbytes, device.preset.ufunc_ns)


def _has_duplicates(index: tuple[Any, ...]) -> bool:
    """Whether an index names a place twice. A mask alone never does."""
    arrays = [part for part in index if isinstance(part, np.ndarray)]
    if len(arrays) == 1:
        return arrays[0].dtype.kind != "b" and np.unique(arrays[0]).size < arrays[0].size
    places = [part for array in arrays for part in (array.nonzero() if array.dtype.kind == "b" else (array,))]
    joint = np.stack([part.ravel() for part in np.broadcast_arrays(*places)])
    return np.unique(joint, axis=1).shape[1] < joint.shape[1]
