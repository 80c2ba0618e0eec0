"""What stands in a program besides numbers, as JSON: functions and dtypes by name, the arguments of calls as tagged lists.

A name is looked up in the namespaces below and nowhere else, so that a file can say which of NumPy's functions is called, and cannot
say what is imported.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import numpy as np

from gradviz.plan.program import operation
from gradviz.plan.program.operation import Items, Meta, Nth, Sliced, Slot

NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.fft")
OWN = {
    f.__name__: f
    for f in (
        operation.take, operation.take_number, operation.put, operation.put_seen, operation.add_at, operation.updated, operation.viewed,
        operation.pick, operation.in_kind_of, operation.python_number, operation.guard,
    )
}  # fmt: skip
METHODS = frozenset({"reduce", "accumulate", "reduceat", "outer", "at"})
TYPES: dict[str, type] = {"float": float, "int": int, "complex": complex, "bool": bool}
KINDS = "biufc"


class Unnamed(Exception):  # noqa: N818 - not an error: no plan is kept
    """Something that has no name here; the text says what."""


class Damaged(ValueError):  # noqa: N818 - no error: the function is captured instead
    """What was read is no program."""


# ---- functions


def name_of(function: Any) -> Any:
    """The name under which `function_of` finds a function."""
    if isinstance(function, Nth):
        return ["nth", name_of(function.function), function.k]
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and name in METHODS:
        return [name_of(owner), name]
    if OWN.get(name) is function:
        return name
    for space in NAMESPACES:
        if space in modules() and getattr(modules()[space], name, None) is function:
            return f"{space}.{name}"
    raise Unnamed(f"it calls {getattr(function, '__module__', '')}.{name or function}")


def function_of(name: Any) -> Any:
    """The function of a name."""
    match name:
        case ["nth", inner, int(k)]:
            return Nth(function_of(inner), k)
        case [str(inner), str(method)] if method in METHODS:
            found = function_of(inner)
            if not isinstance(found, np.ufunc):
                raise Damaged(name)
            return getattr(found, method)
        case str():
            if name in OWN:
                return OWN[name]
            space, _, last = name.rpartition(".")
            if space in NAMESPACES and not last.startswith("_"):
                found = getattr(modules(space)[space], last, None)
                if isinstance(found, (np.ufunc, types.FunctionType, types.BuiltinFunctionType, type(np.dot))):
                    return found
    raise Damaged(name)


def modules(*wanted: str) -> dict[str, Any]:
    """The namespaces that are loaded; those wanted are loaded first."""
    for space in wanted:
        importlib.import_module(space)
    return {space: sys.modules[space] for space in NAMESPACES if space in sys.modules}


# ---- dtypes and metas


def dtype_name(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in KINDS or not dtype.isnative:
        raise Unnamed(f"it has values of dtype {dtype}")
    return dtype.str[1:]


def dtype_of(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or name[:1] not in KINDS:
        raise Damaged(name)
    return np.dtype(name)


def meta_name(meta: Any) -> Any:
    if meta is None:
        return None
    if isinstance(meta, Meta):
        return [list(meta.shape), dtype_name(meta.dtype), meta.kind]
    return {"of": [meta_name(m) for m in meta]}


def meta_of(told: Any) -> Any:
    match told:
        case None:
            return None
        case {"of": [*metas]}:
            return tuple(map(meta_of, metas))
        case [[*shape], dtype, ("array" | "number" | "weak") as kind]:
            if not all(type(n) is int and 0 <= n < 1 << 48 for n in shape) or (kind != "array" and shape):
                raise Damaged(told)
            return Meta(tuple(shape), dtype_of(dtype), kind)
    raise Damaged(told)


# ---- arguments


def told(value: Any) -> Any:
    """An argument of a call, or a number, as JSON."""
    kind = type(value)
    if kind in (int, str, bool, type(None)):
        return value
    if kind is Slot:
        return ["slot", value.k, value.integer]
    if kind is Sliced:
        return ["slice", *map(told, value)]
    if kind is tuple or kind is Items:
        return ["tuple" if kind is tuple else "items", *map(told, value)]
    if kind is float:
        return ["float", value.hex()]
    if kind is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if value is Ellipsis:
        return ["..."]
    if isinstance(value, np.dtype):
        return ["dtype", dtype_name(value)]
    if isinstance(value, np.generic):
        return ["number", dtype_name(value.dtype), value.tobytes().hex()]
    if isinstance(value, type):
        if TYPES.get(value.__name__) is value:
            return ["type", value.__name__]
        if issubclass(value, np.generic):
            return ["scalar", dtype_name(np.dtype(value))]
    if callable(value):
        return ["function", name_of(value)]
    raise Unnamed(f"it calls something with a {kind.__name__}")


def value_of(found: Any) -> Any:
    """What `told` was given."""
    if isinstance(found, (int, str, bool, type(None))):
        return found
    match found:
        case ["slot", int(k), bool(integer)] if k >= 0:
            return Slot(k, integer)
        case ["slice", start, stop, step]:
            return Sliced(value_of(start), value_of(stop), value_of(step))
        case ["tuple", *items]:
            return tuple(map(value_of, items))
        case ["items", *items]:
            return Items(map(value_of, items))
        case ["float", str(text)]:
            return float.fromhex(text)
        case ["complex", str(real), str(imaginary)]:
            return complex(float.fromhex(real), float.fromhex(imaginary))
        case ["..."]:
            return Ellipsis
        case ["dtype", name]:
            return dtype_of(name)
        case ["number", name, str(text)]:
            return np.frombuffer(bytes.fromhex(text), dtype_of(name))[0]
        case ["type", str(name)] if name in TYPES:
            return TYPES[name]
        case ["scalar", name]:
            return dtype_of(name).type
        case ["function", name]:
            return function_of(name)
    raise Damaged(found)


def slots_of(template: Any) -> list[int]:
    """The numbers of the slots in a template."""
    if type(template) is Slot:
        return [template.k]
    return [k for part in template for k in slots_of(part)] if isinstance(template, tuple) else []
