"""What does a NumPy ufunc do on a simulated GPU: call, out, where, reduce, accumulate, outer, and at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.sim import indexing, products
from gradviz.devices.sim.array import SCALARS, SimArray
from gradviz.devices.sim.operands import check, host_array
from gradviz.devices.sim.quiet import quietly
from gradviz.devices.sim.special import check_special
from gradviz.errors import UnsupportedOnDeviceError

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

# What the kernel of a reduction or a scan is called.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
SCANS = {"add": "cumsum", "multiply": "cumprod"}

# The ufuncs that have these methods (cupy/_core/_kernel.pyx).
REDUCING = {"reduce": ("add", "multiply"), "accumulate": ("add", "multiply"), "reduceat": ("add",)}
KNOWN = (SimArray, np.ndarray, *SCALARS)

# NumPy 2.2 has these, CuPy 14 has not.
MISSING = {"isnat", "matvec", "spacing", "vecdot", "vecmat"}

# Here CuPy reads a 0-d host array as a scalar.
COMPARISONS = {"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"}

# Assumed: flops of one entry where a ufunc is more than a few instructions.
TRANSCENDENTAL_FLOPS = 20
TRANSCENDENTAL = {
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "exp", "exp2",
    "expm1", "float_power", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "power", "sin", "sinh",
    "tan", "tanh",
}  # fmt: skip


def apply(device: SimDevice, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``__array_ufunc__``."""
    name = ufunc.__name__
    check_there(name, method)
    if getattr(np, name, None) is not ufunc:
        check_special(name, inputs)
    if method == "at":
        if not all(
            isinstance(value, KNOWN) for value in inputs
        ):  # so does CuPy: it takes more only in its own ``add.at``
            return NotImplemented
        return indexing.scatter(device, name, *inputs)

    hosts = []
    for value in inputs:
        if value.__class__ is SimArray:
            if value.device is not device:
                check(device, name, value)
            hosts.append(value._host)
        elif isinstance(value, SCALARS):
            hosts.append(value)
        elif isinstance(value, np.ndarray):
            if value.ndim or name not in COMPARISONS:
                raise host_array(name, value, device, f"argument {len(hosts) + 1}")
            hosts.append(value.item())
        else:
            return NotImplemented

    out = None
    if kwargs:
        kwargs = dict(kwargs)
        out = _take_output(device, name, kwargs)
        if out is NotImplemented:
            return NotImplemented

    if ufunc.signature is not None:
        return products.gufunc(device, ufunc, inputs, hosts, kwargs, out)
    if method in {"__call__", "outer"}:
        result = quietly(ufunc if method == "__call__" else ufunc.outer, hosts, kwargs)
        return _elementwise(device, name, result, out, hosts)
    result = _reduced(ufunc, method, hosts, kwargs)
    return _reduction(device, name, method, result, out, hosts)


def check_there(name: str, method: str) -> None:
    """Refuse a ufunc, or a method of one, that CuPy lacks."""
    if name in MISSING:
        raise UnsupportedOnDeviceError(f"CuPy has no {name}; write it with other functions, such as multiply and sum.")
    if method in REDUCING and name not in REDUCING[method]:
        raise UnsupportedOnDeviceError(
            f"`cupy_{name}.{method}` is not supported yet: CuPy's ufuncs {method} only {' and '.join(REDUCING[method])}."
        )


def _reduced(ufunc: np.ufunc, method: str, hosts: list[Any], kwargs: dict[str, Any]) -> Any:
    """What a method gives; an axis of a 0-d array is refused, where NumPy lets 0 and -1 pass."""
    axis = kwargs.get("axis", 0)
    if method == "reduce" and axis is not None and axis != () and not np.ndim(hosts[0]):
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension 0")
    return quietly(getattr(ufunc, method), hosts, kwargs)


def _take_output(device: SimDevice, name: str, kwargs: dict[str, Any]) -> Any:
    """The device array given as ``out``; in ``kwargs`` its host array takes its place."""
    where = kwargs.get("where", True)
    if where.__class__ is SimArray:
        kwargs["where"] = where._host
    elif isinstance(where, np.ndarray):
        raise host_array(name, where, device, "where=")
    out = kwargs.pop("out", None)
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError("The 'out' parameter must have exactly one array value")
        out = out[0]
    if out is None:
        return None
    if isinstance(out, np.ndarray):
        raise host_array(name, out, device, "out=")
    if out.__class__ is not SimArray:
        return NotImplemented
    check(device, name, out)
    kwargs["out"] = out._host
    return out


def _elementwise(device: SimDevice, name: str, result: Any, out: SimArray | None, hosts: list[Any]) -> Any:
    """Allocate what is new, launch the kernel, hand out device arrays."""
    if result.__class__ is tuple:
        arrays = tuple(map(device.new, result))
        first = arrays[0]._host
        nbytes = sum(array._host.nbytes for array in arrays)
    else:
        arrays = device.new(result) if out is None else out
        first = arrays._host
        nbytes = first.nbytes
    for host in hosts:
        if host.__class__ is np.ndarray:
            nbytes += host.nbytes
    flops = first.size * TRANSCENDENTAL_FLOPS if name in TRANSCENDENTAL else first.size
    device.launch(name, nbytes, device.preset.ufunc_ns, flops, first.dtype.char)
    return arrays


def _reduction(device: SimDevice, name: str, method: str, result: Any, out: SimArray | None, hosts: list[Any]) -> Any:
    array = device.new(result) if out is None else out
    kernel = (REDUCTIONS if method == "reduce" else SCANS).get(name) or f"{name}.{method}"
    source: np.ndarray = hosts[0]
    nbytes = source.nbytes + array._host.nbytes
    device.launch(kernel, nbytes, device.preset.reduction_ns, source.size, source.dtype.char)
    return array
