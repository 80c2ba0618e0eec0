"""CuPy arrays without a GPU: the memory is the host's, views and dispatch are CuPy's own, kernels are NumPy's.

`HostArray` is a CuPy array whose memory NumPy can read. What is asked of it goes to CuPy first: its views, its layouts, which
functions it has, which arguments they take, what it refuses. Only where CuPy needs the driver, which is not there, NumPy does the
work instead, and the result is put into new memory from CuPy's allocator.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from functools import wraps
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api.runtime import CUDARuntimeError

NO_DRIVER = (CUDARuntimeError, ImportError)  # no GPU; a library of CUDA that comes with the toolkit
UPLOADING = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
AT_DTYPES = "ilqILQefd"  # cupy/_core/_routines_indexing.pyx: what atomics add


def allocate(size: int) -> cupy.cuda.MemoryPointer:
    """An allocator, as CuPy wants it."""
    memory = np.zeros(max(size, 1), np.uint8)
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(memory.ctypes.data, max(size, 1), memory, 0), 0)


def host(value: Any) -> Any:
    """What NumPy sees of a value: the same memory."""
    if isinstance(value, cupy.ndarray):
        memory, data = value.data.mem, value.data
        if not value.size:
            return np.empty(value.shape, value.dtype)
        whole = (ctypes.c_uint8 * memory.size).from_address(memory.ptr)
        return np.ndarray(value.shape, value.dtype, whole, data.ptr - memory.ptr, value.strides)
    if isinstance(value, (list, tuple)):
        parts = [host(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: host(part) for key, part in value.items()}
    return value


def device(value: Any) -> Any:
    """A result in new device memory."""
    if isinstance(value, (np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "biufc":
        value = np.asarray(value)
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        made = HostArray(value.shape, value.dtype, order=order)
        if value.size:
            host(made)[...] = value
        return made
    if isinstance(value, (list, tuple)):
        parts = [device(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def ours(value: Any) -> Any:
    """A result of CuPy's, of our class."""
    if isinstance(value, cupy.ndarray) and not isinstance(value, HostArray):
        return value.view(type=HostArray) if value.size else device(np.empty(value.shape, value.dtype))
    return type(value)(map(ours, value)) if type(value) in (list, tuple) else value


def refuse_host_arrays(values: Any) -> None:
    for value in values:
        if isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        if isinstance(value, (list, tuple)):
            refuse_host_arrays(value)


KNOWN = (cupy.ndarray, np.ndarray, np.generic, bool, int, float, complex, slice, tuple, list, type(None), type(...))


class HostArray(np.lib.mixins.NDArrayOperatorsMixin, cupy.ndarray):
    """A CuPy array that needs no GPU."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out", ())
        if not all(isinstance(x, KNOWN) for x in (*inputs, *out)):
            return NotImplemented
        try:
            answer = super().__array_ufunc__(ufunc, method, *inputs, **dict(kwargs))
        except NO_DRIVER:
            refuse_host_arrays(inputs[:1] if method == "at" else inputs)
            if method == "at" and inputs[0].dtype.char not in AT_DTYPES and not isinstance(inputs[1], (int, slice)):
                raise TypeError(f"cupy.{ufunc.__name__}.at does not support {inputs[0].dtype}") from None
            with np.errstate(all="ignore"):
                result = getattr(ufunc, method)(*host(inputs), **host(kwargs))
            return out[0] if out else device(result)
        return answer if answer is NotImplemented else ours(answer)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        try:
            answer = super().__array_function__(func, types, args, kwargs)
        except NO_DRIVER:
            if func.__name__ not in UPLOADING:
                refuse_host_arrays((*args, *kwargs.values()))
            with np.errstate(all="ignore"):
                result = func(*host(args), **host(kwargs))
            return kwargs.get("out") if kwargs.get("out") is not None else device(result)
        return answer if answer is NotImplemented else ours(answer)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: Any = True) -> Any:
        try:
            return ours(super().astype(dtype, order="K" if order is None else order, copy=copy))
        except NO_DRIVER:
            return device(host(self).astype(dtype))

    def _scatter_op(self, index: Any, value: Any, op: str) -> None:
        try:
            super()._scatter_op(index, value, op)
        except NO_DRIVER:
            if self.dtype.char not in AT_DTYPES:
                raise TypeError(f"cupy.add.at does not support {self.dtype}") from None
            refuse_host_arrays((value,))
            getattr(np, op).at(host(self), host(index), host(value))

    def __getitem__(self, index: Any) -> Any:
        try:
            return ours(super().__getitem__(index))
        except NO_DRIVER:
            return device(host(self)[host(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        try:
            super().__setitem__(index, value)
        except NO_DRIVER:
            refuse_host_arrays((value,) if np.ndim(host(value)) else ())
            host(self)[host(index)] = host(value)


ABORTING = {"sort", "argsort", "partition", "argpartition"}  # without a driver Thrust ends the process


def method(name: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if name not in ABORTING:
                kwargs = {key: value for key, value in kwargs.items() if value is not None}
                return ours(getattr(super(HostArray, self), name)(*args, **kwargs))
        except NO_DRIVER:
            pass
        while args and args[-1] is None:  # what compiled code passes for a default
            args = args[:-1]
        result = getattr(host(self), name)(*host(args), **host(kwargs))
        return self if result is None else device(result)

    return call


METHODS = {
    "all", "any", "argmax", "argmin", "argsort", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "fill",
    "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "trace", "transpose", "var",
}  # fmt: skip
for _name in METHODS:
    setattr(HostArray, _name, method(_name))
for _name in ("real", "imag"):
    setattr(HostArray, _name, property(lambda self, name=_name: part(self, name)))


def part(array: HostArray, name: str) -> Any:
    try:
        return ours(getattr(super(HostArray, array), name))
    except NO_DRIVER:
        return device(getattr(host(array), name))


def get(self: Any, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
    """`cupy.ndarray.get`, where the device's memory is the host's."""
    made = np.array(host(self), order=order)
    if out is None:
        return made
    out[...] = made
    return out


CREATING = ("arange", "empty", "eye", "full", "identity", "ones", "tri", "zeros")


def creating(name: str, theirs: Any) -> Any:
    @wraps(theirs)
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            return ours(theirs(*args, **kwargs))
        except NO_DRIVER:
            return device(getattr(np, name)(*args, **kwargs))

    return make


@contextmanager
def memory_of_the_host() -> Any:
    """Let CuPy take memory from the host, and read it back, though there is no driver."""
    before, stream = cupy.cuda.memory.get_allocator(), cupy.cuda.get_current_stream
    functions = {name: getattr(cupy, name) for name in CREATING}
    cupy.cuda.set_allocator(allocate)
    cupy.ndarray.get = get
    cupy.cuda.get_current_stream = lambda: cupy.cuda.Stream.null
    for name, theirs in functions.items():
        setattr(cupy, name, creating(name, theirs))
    try:
        yield
    finally:
        for name, theirs in functions.items():
            setattr(cupy, name, theirs)
        cupy.cuda.get_current_stream = stream
        del cupy.ndarray.get
        cupy.cuda.set_allocator(before)
