"""What is an array on a simulated GPU: CuPy's ndarray to look at, a private NumPy array inside.

What an operation does and costs is its device's business; this class holds data, and knows which questions make the
host wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gradviz.devices.sim.pool import Memory, MemoryPointer
from gradviz.errors import ImplicitTransferError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice
    from gradviz.devices.sim.stream import Stream

SCALARS = (bool, int, float, complex, np.generic)

Operator = Callable[[Any, Any], Any]
Method = Callable[..., Any]


def _binary(ufunc: np.ufunc, reflected: bool = False) -> Operator:
    def operate(self: SimArray, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        if other.__class__ is SimArray or isinstance(other, SCALARS):
            return self.device.ufunc(ufunc, "__call__", pair, {})
        if getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        return ufunc(*pair)

    return operate


def _reflected(ufunc: np.ufunc) -> Operator:
    return _binary(ufunc, reflected=True)


def _in_place(ufunc: np.ufunc) -> Operator:
    def operate(self: SimArray, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        return ufunc(self, other, out=(self,))

    return operate


def _comparison(ufunc: np.ufunc) -> Operator:
    operate = _binary(ufunc)

    def compare(self: SimArray, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else operate(self, other)

    return compare


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def operate(self: SimArray) -> Any:
        return self.device.ufunc(ufunc, "__call__", (self,), {})

    return operate


def _method(func: Callable[..., Any]) -> Method:
    def call(self: SimArray, *args: Any, **kwargs: Any) -> Any:
        return self.device.call(func, (self, *args), kwargs)

    call.__name__ = func.__name__
    call.__doc__ = f"As `numpy.ndarray.{func.__name__}`, on the device."
    return call


class Flags:
    """Layout of an array: what CuPy's ``flags`` has, so nothing about writing."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool) -> None:
        self.c_contiguous = c_contiguous
        self.f_contiguous = f_contiguous
        self.owndata = owndata

    @property
    def forc(self) -> bool:
        """Contiguous one way or the other."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Fortran and not C order."""
        return self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())

    def __repr__(self) -> str:
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}\n  OWNDATA : {self.owndata}"


class SimArray:
    """An array in the memory of a simulated GPU.

    Made by the functions of `gradviz.simulate`'s namespace. NumPy cannot read it: it is no subclass of
    `numpy.ndarray` and offers no buffer, so everything that would move data shows.
    """

    __slots__ = ("__weakref__", "_host", "_memory", "base", "device")
    __array_priority__ = 100
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, host: np.ndarray, memory: Memory, device: SimDevice, base: SimArray | None = None) -> None:
        self._host = host
        self._memory = memory
        self.device = device
        self.base = base

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.device.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        for kind in types:
            if kind is not SimArray and not issubclass(kind, np.ndarray):
                return NotImplemented
        return self.device.call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ImplicitTransferError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            f"explicitly. (An array of shape {self.shape} on {self.device.name} met a function that only reads "
            "NumPy arrays.)"
        )

    # What is known without asking the device

    shape = property(attrgetter("_host.shape"), doc="Lengths of the axes.")
    dtype = property(attrgetter("_host.dtype"), doc="NumPy dtype.")
    ndim = property(attrgetter("_host.ndim"), doc="Number of axes.")
    size = property(attrgetter("_host.size"), doc="Number of entries.")
    itemsize = property(attrgetter("_host.itemsize"), doc="Bytes of an entry.")
    nbytes = property(attrgetter("_host.nbytes"), doc="Bytes of all entries.")
    strides = property(attrgetter("_host.strides"), doc="Bytes from one entry to the next along each axis.")

    @property
    def flags(self) -> Flags:
        """Layout."""
        flags = self._host.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self.base is None)

    @property
    def data(self) -> MemoryPointer:
        """Where it begins on the device."""
        owner = self if self.base is None else self.base
        offset = self._host.ctypes.data - owner._host.ctypes.data
        return MemoryPointer(self._memory, self._memory.ptr + offset, self.device)

    def __len__(self) -> int:
        if not self._host.ndim:
            raise TypeError("len() of unsized object")
        return self._host.shape[0]

    def __iter__(self) -> Iterator[SimArray]:
        if not self._host.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self._host.shape[0]))

    # What makes the host wait

    def get(
        self, stream: Stream | None = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True
    ) -> np.ndarray:
        """Copy to the host: a NumPy array. Waits (``blocking=False`` too: the copy lands in pageable memory)."""
        return self.device.get(self, stream=stream, order=order, out=out)

    def item(self, *index: Any) -> Any:
        """One entry as a Python scalar. Waits."""
        return self.device.read(self, "item", lambda host: host.item(*index))

    def tolist(self) -> Any:
        """All entries as nested lists. Waits."""
        return self.device.read(self, "tolist", np.ndarray.tolist)

    def tobytes(self, order: str = "C") -> bytes:
        """All entries as bytes. Waits."""
        return self.device.read(self, "get", lambda host: host.tobytes(order))  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        if self.size == 0:
            return bool(self._host)
        return self.device.read(self, "bool", bool)

    def __int__(self) -> int:
        return self.device.read(self, "int", int)

    def __float__(self) -> float:
        return self.device.read(self, "float", float)

    def __complex__(self) -> complex:
        return self.device.read(self, "complex", complex)

    def __repr__(self) -> str:
        return self.device.read(self, "print", repr)

    def __str__(self) -> str:
        return self.device.read(self, "print", str)

    def __format__(self, spec: str) -> str:
        return self.device.read(self, "print", lambda host: format(host, spec))

    def set(self, arr: np.ndarray, stream: Stream | None = None) -> None:
        """Copy from a NumPy array of the same shape and dtype. Waits: the memory is not pinned."""
        self.device.set(self, arr, stream)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.device.preset.name, self.get())

    # Parts

    def __getitem__(self, index: Any) -> SimArray:
        return self.device.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.device.setitem(self, index, value)

    @property
    def real(self) -> SimArray:
        """A view of the real parts; the array itself if it is real."""
        return self.device.call(np.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.device.setitem(self.real, ..., value)

    @property
    def imag(self) -> SimArray:
        """A view of the imaginary parts; new zeros if it is real."""
        return self.device.call(np.imag, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("cannot set imag of a real array")
        self.device.setitem(self.imag, ..., value)

    T = property(lambda self: self.device.view(self._host.T, self), doc="A view with the axes reversed.")
    mT = property(lambda self: self.device.view(self._host.mT, self), doc="A view with the last two axes swapped.")  # noqa: N815

    def view(self, dtype: Any = None) -> SimArray:
        """The same memory, read as another dtype."""
        return self.device.view(self._host.view() if dtype is None else self._host.view(dtype), self)

    def squeeze(self, axis: Any = None) -> SimArray:
        """Without axes of length one; the array itself if there are none."""
        return self if 1 not in self._host.shape else self.device.view(self._host.squeeze(axis), self)

    def copy(self, order: Any = "C") -> SimArray:
        """The same values in new memory."""
        return self.device.call(np.ndarray.copy, (self, order), {})

    def __copy__(self) -> SimArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> SimArray:
        return self.copy()

    def dot(self, b: Any, out: SimArray | None = None) -> Any:
        """As `numpy.dot`."""
        return self.device.call(np.dot, (self, b, out), {})

    all = _method(np.ndarray.all)
    any = _method(np.ndarray.any)
    argmax = _method(np.ndarray.argmax)
    argmin = _method(np.ndarray.argmin)
    argpartition = _method(np.ndarray.argpartition)
    argsort = _method(np.ndarray.argsort)
    astype = _method(np.ndarray.astype)
    choose = _method(np.ndarray.choose)
    clip = _method(np.ndarray.clip)
    compress = _method(np.ndarray.compress)
    conj = _method(np.ndarray.conj)
    conjugate = _method(np.ndarray.conjugate)
    cumprod = _method(np.ndarray.cumprod)
    cumsum = _method(np.ndarray.cumsum)
    diagonal = _method(np.ndarray.diagonal)
    fill = _method(np.ndarray.fill)
    flatten = _method(np.ndarray.flatten)
    max = _method(np.ndarray.max)
    mean = _method(np.ndarray.mean)
    min = _method(np.ndarray.min)
    nonzero = _method(np.ndarray.nonzero)
    partition = _method(np.ndarray.partition)
    prod = _method(np.ndarray.prod)
    put = _method(np.ndarray.put)
    ravel = _method(np.ndarray.ravel)
    repeat = _method(np.ndarray.repeat)
    reshape = _method(np.ndarray.reshape)
    round = _method(np.ndarray.round)
    searchsorted = _method(np.ndarray.searchsorted)
    sort = _method(np.ndarray.sort)
    std = _method(np.ndarray.std)
    sum = _method(np.ndarray.sum)
    swapaxes = _method(np.ndarray.swapaxes)
    take = _method(np.ndarray.take)
    trace = _method(np.ndarray.trace)
    transpose = _method(np.ndarray.transpose)
    var = _method(np.ndarray.var)

    # Operators

    __add__, __radd__, __iadd__ = _binary(np.add), _reflected(np.add), _in_place(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract), _reflected(np.subtract), _in_place(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply), _reflected(np.multiply), _in_place(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.divide), _reflected(np.divide), _in_place(np.divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __mod__, __rmod__, __imod__ = _binary(np.remainder), _reflected(np.remainder), _in_place(np.remainder)
    __pow__, __rpow__, __ipow__ = _binary(np.power), _reflected(np.power), _in_place(np.power)
    __matmul__, __rmatmul__, __imatmul__ = _binary(np.matmul), _reflected(np.matmul), _in_place(np.matmul)
    __and__, __rand__, __iand__ = _binary(np.bitwise_and), _reflected(np.bitwise_and), _in_place(np.bitwise_and)
    __or__, __ror__, __ior__ = _binary(np.bitwise_or), _reflected(np.bitwise_or), _in_place(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _binary(np.bitwise_xor), _reflected(np.bitwise_xor), _in_place(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _binary(np.left_shift), _reflected(np.left_shift), _in_place(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift), _reflected(np.right_shift)
    __irshift__ = _in_place(np.right_shift)
    __divmod__, __rdivmod__ = _binary(np.divmod), _reflected(np.divmod)
    __lt__, __le__ = _comparison(np.less), _comparison(np.less_equal)
    __gt__, __ge__ = _comparison(np.greater), _comparison(np.greater_equal)
    __eq__, __ne__ = _comparison(np.equal), _comparison(np.not_equal)  # type: ignore[assignment]
    __neg__, __pos__ = _unary(np.negative), _unary(np.positive)
    __abs__, __invert__ = _unary(np.absolute), _unary(np.invert)


def _restore(preset: str, host: np.ndarray) -> SimArray:
    from gradviz.devices.sim import simulate

    return simulate(preset).asarray(host)
