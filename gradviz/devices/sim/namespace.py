"""Which names does a simulated GPU offer: CuPy's, so that ``xp = gv.simulate("a100")`` reads like ``import cupy``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim import indexing
from gradviz.devices.sim.array import SCALARS, SimArray
from gradviz.devices.sim.creation import CREATION, filled
from gradviz.devices.sim.cuda import Cuda
from gradviz.devices.sim.operands import host_array
from gradviz.devices.sim.quiet import errstate
from gradviz.devices.sim.random import Random
from gradviz.errors import UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

# Made of Python numbers alone, without an array to tell the device.
GENERATED = {
    "bartlett", "blackman", "diag_indices", "fftfreq", "hamming", "hanning", "indices", "kaiser", "linspace",
    "logspace", "mask_indices", "rfftfreq", "tril_indices", "triu_indices",
}  # fmt: skip

# Say something of dtypes and numbers, not of arrays.
PLAIN = {"broadcast_shapes", "can_cast", "finfo", "iinfo", "issubdtype", "isscalar", "promote_types", "result_type"}


class Function:
    """A NumPy function that takes arrays of one device, and scalars, and nothing else.

    Other attributes of the function (``xp.add.reduce``) are NumPy's, which end up on the device as well.
    """

    def __init__(self, device: SimDevice, func: Callable[..., Any]) -> None:
        self._device = device
        self._func = func
        update_wrapper(self, func, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it on the device."""
        for value in (*args, *kwargs.values()):
            self._refuse(value)
        if isinstance(self._func, np.ufunc):
            return self._device.ufunc(self._func, "__call__", args, kwargs)
        result = self._device.call(self._func, args, kwargs)
        if result is NotImplemented:
            raise UnsupportedOnDeviceError(f"CuPy has no {self._func.__name__}.")
        return result

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """As `numpy.ufunc.at`, with any index."""
        indexing.scatter(self._device, self._func.__name__, a, indices, b)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._func, name)

    def __repr__(self) -> str:
        return f"<{self._func.__name__} of {self._device.name}>"

    def _refuse(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise host_array(self._func.__name__, value, self._device)
        if isinstance(value, (list, tuple)):
            for part in value:
                self._refuse(part)
        elif hasattr(value, "__array_ufunc__") and not isinstance(value, (SimArray, *SCALARS, type)):
            raise UnsupportedOnDeviceError(
                f"Unsupported type {type(value)}: CuPy's functions do not look at other array types, so "
                f"xp.{self._func.__name__} cannot trace it. Call the function of the same name in numpy or "
                "gradviz.numpy; it stays on the device."
            )


class Part:
    """The functions of ``numpy.linalg`` or ``numpy.fft`` on one device."""

    def __init__(self, device: SimDevice, module: ModuleType) -> None:
        self._device = device
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = _offer(self._device, getattr(self._module, name))
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._module) if not name.startswith("_")]


class Namespace(Part):
    """The names of CuPy for one simulated GPU.

    Attributes
    ----------
    device : the simulated GPU, with its ``counts``, ``clock`` and ``pool``
    ndarray : the type of its arrays
    linalg, fft, random, cuda : as CuPy's modules

    Examples
    --------
    >>> import gradviz as gv
    >>> xp = gv.simulate("a100")
    >>> x = xp.arange(3.0)
    >>> xp.asnumpy(x * 2)
    array([0., 2., 4.])
    """

    ndarray = SimArray
    newaxis = None

    def __init__(self, device: SimDevice) -> None:
        super().__init__(device, np)
        self.device = device
        self.linalg = Part(device, np.linalg)
        self.fft = Part(device, np.fft)
        self.random = Random(device)
        self.cuda = Cuda(device)
        self.errstate = errstate
        for name, make in CREATION.items():
            setattr(self, name, partial(make, device))

    def asnumpy(self, a: Any, stream: Any = None, order: str = "C", out: np.ndarray | None = None) -> np.ndarray:
        """``a`` as a NumPy array; the host waits if it lived on the device."""
        return a.get(stream=stream, order=order, out=out) if isinstance(a, SimArray) else np.asarray(a, order=order)  # type: ignore[call-overload]

    def get_array_module(self, *args: Any) -> Any:
        """The namespace itself if one of the arguments lives on a simulated GPU, else NumPy."""
        return self if any(isinstance(value, SimArray) for value in args) else np

    def get_default_memory_pool(self) -> Any:
        """The pool that arrays get their memory from unless another one is set."""
        return self.device.default_pool

    def __repr__(self) -> str:
        return f"<namespace of {self.device.name}>"


def _offer(device: SimDevice, found: Any) -> Any:
    """A name of NumPy as the device has it."""
    if isinstance(found, (type, ModuleType)) or not callable(found):
        return found
    name = found.__name__
    if name in PLAIN:
        return found
    if name in GENERATED:
        return _generated(device, found)
    return Function(device, found)


def _generated(device: SimDevice, func: Callable[..., Any]) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, SimArray) for value in (*args, *kwargs.values())):
            return device.call(func, args, kwargs)
        result = func(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple(
                filled(device, part, func.__name__) if isinstance(part, np.ndarray) else part for part in result
            )
        return filled(device, result, func.__name__)

    return update_wrapper(make, func)
