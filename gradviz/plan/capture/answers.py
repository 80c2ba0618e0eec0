"""How a captured value answers NumPy: ufuncs, functions, operators and methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.flat import Flat
from gradviz.errors import ConversionError
from gradviz.plan.capture.captured import (
    CAPTURED,
    CLASSES,
    FLOAT64,
    NO_STORE,
    Captured,
    CapturedArray,
    CapturedNumber,
    PythonNumber,
    plain,
)  # fmt: skip
from gradviz.plan.program.operation import add_at, updated, viewed

ndarray = np.ndarray
PYTHON_NUMBERS = frozenset({float, int, complex, bool})
MUTATING = frozenset({np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, np.copyto})

FACTS = frozenset(
    {
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        np.can_cast,
        np.min_scalar_type,
        np.common_type,
        np.iscomplexobj,
        np.isrealobj,
    }
    | {np.may_share_memory, np.shares_memory}
)  # about shapes and dtypes, not values


# ---- NumPy's protocols


def answer_ufunc(self: Captured, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A ufunc or one of its methods was called with a captured value among the arguments."""
    if any(isinstance(x, Array) for x in inputs):
        return NotImplemented
    if method == "at":
        target, index, *value = inputs
        if not isinstance(target, CapturedArray):
            raise ConversionError(NO_STORE)
        self.capture.update(target, add_at, (target, index, *value), {"ufunc": ufunc})
        return None
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    if not kwargs:
        return self.capture.call(function, inputs, kwargs)
    out = kwargs.pop("out", None)
    if out is None:
        return self.capture.call(function, inputs, kwargs)
    if not any(isinstance(x, Captured) for x in inputs) and kwargs.get("where", True) is True and len(out) == 1:
        out[0][...] = function(*inputs, **kwargs)
        return out[0]
    target = out[0]
    if len(out) > 1 or not isinstance(target, CapturedArray):
        raise ConversionError(NO_STORE)
    if kwargs.get("where", True) is not True:
        kwargs = {**kwargs, "out": target}
    self.capture.compute_into(target, function, inputs, kwargs)
    return target


def answer_function(self: Captured, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One of NumPy's functions was called with a captured value among the arguments."""
    if any(issubclass(kind, Array) for kind in types):
        return NotImplemented
    capture = self.capture
    if function in FACTS:
        return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
    if function in MUTATING:
        if not isinstance(args[0], CapturedArray):
            raise ConversionError(NO_STORE)
        capture.update(args[0], updated, (function, *args), kwargs)
        return None
    out = kwargs.get("out")
    if isinstance(out, CapturedArray):
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        capture.compute_into(out, function, args, rest)
        return out
    if out is not None:
        raise ConversionError(NO_STORE)
    return capture.call(function, args, kwargs)


Captured.__array_ufunc__ = answer_ufunc  # type: ignore[attr-defined]
Captured.__array_function__ = answer_function  # type: ignore[attr-defined]

# ---- operators


def binary(operate: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x <op> y``, the shortest way: loops over numbers are made of these."""

    def compute(self: Captured, other: Any) -> Any:
        capture = self.capture
        kind = type(other)
        if kind is FLOAT64 or kind in CAPTURED:
            b, y = other.number, other.value
        elif kind in PYTHON_NUMBERS:
            b, y = capture.floats.get(other) if kind is float else None, other
            b = b or capture.constant(other)
        elif isinstance(other, Array) or getattr(other, "__array_ufunc__", True) is None:
            return NotImplemented
        else:
            return capture.call(ufunc, (self, other), {})
        if capture.lazy and capture.leaves(ufunc, self.value, y):
            return capture.call(ufunc, (self, other), {})
        a = self.number
        out = operate(self.value, y)
        kind = type(out)
        key = (ufunc, kind) if kind is not ndarray else (ufunc, out.shape, out.dtype)
        code = capture.codes.get(key) or capture.operands_only(key, ufunc, 2, out)
        rows, operands = capture.rows, capture.operands
        rows.append(code)
        operands.append(a)
        operands.append(b)
        return CLASSES[kind](capture, out, len(rows) - 1)

    return compute


def reflected(operate: Callable[[Any, Any], Any], ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x <op> y`` where only ``y`` is captured."""

    def compute(self: Captured, other: Any) -> Any:
        capture = self.capture
        if type(other) not in PYTHON_NUMBERS:
            return NotImplemented if isinstance(other, Array) else capture.call(ufunc, (other, self), {})
        if capture.lazy and capture.leaves(ufunc, self.value):
            return capture.call(ufunc, (other, self), {})
        return capture.computed(ufunc, (capture.constant(other), self.number), operate(other, self.value))

    return compute


def in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """``x <op>= y``."""

    def compute(self: CapturedArray, other: Any) -> Any:
        if isinstance(other, Array):
            return NotImplemented
        self.capture.compute_into(self, ufunc, (self, other), {})
        return self

    return compute


def unary(operate: Callable[[Any], Any], ufunc: np.ufunc) -> Callable[[Any], Any]:
    """``<op> x``."""

    def compute(self: Captured) -> Any:
        capture = self.capture
        if capture.lazy and capture.leaves(ufunc, self.value):
            return capture.call(ufunc, (self,), {})
        return capture.computed(ufunc, (self.number,), operate(self.value))

    return compute


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power, "matmul": np.matmul,
    "mod": np.remainder, "floordiv": np.floor_divide, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARING = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip

for _name, _ufunc in BINARY.items():
    setattr(Captured, f"__{_name}__", binary(getattr(operator, f"__{_name}__"), _ufunc))
    setattr(Captured, f"__r{_name}__", reflected(getattr(operator, f"__{_name}__"), _ufunc))
    setattr(CapturedArray, f"__i{_name}__", in_place(_ufunc))
for _name, _ufunc in COMPARING.items():
    setattr(Captured, f"__{_name}__", binary(getattr(operator, f"__{_name}__"), _ufunc))
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Captured, f"__{_name}__", unary(getattr(operator, f"__{_name}__"), _ufunc))


# ---- the same for the commonest numbers, written out: loops over numbers are made of nothing else

WRITE = """\
    capture = self.capture
    rows = capture.rows
    made = new(FLOAT64)
    made.capture = capture
    made.value = out
    made.number = len(rows)
    rows.append(capture.short[{place}] or capture.short_code({place}, ufunc, out))
    append = capture.operands.append
"""
SHORT = """
def compute(self, other):
    kind = type(other)
    if kind is FLOAT64:
        b = other.number
        y = other.value
    elif kind is float:
        y = other
        b = self.capture.floats.get(y)
        if b is None:
            b = self.capture.constant(y)
    else:
        return otherwise(self, other)
    out = self.value {symbol} y
@WRITE
    append(self.number)
    append(b)
    return made

def reflect(self, other):
    if type(other) is not float:
        return otherwise_reflected(self, other)
    b = self.capture.floats.get(other)
    if b is None:
        b = self.capture.constant(other)
    out = other {symbol} self.value
@WRITE
    append(b)
    append(self.number)
    return made
""".replace("@WRITE\n", WRITE)
for _place, (_name, _symbol) in enumerate({"add": "+", "sub": "-", "mul": "*", "truediv": "/"}.items()):
    _space: dict[str, Any] = {
        "FLOAT64": FLOAT64, "new": object.__new__, "ufunc": BINARY[_name], "otherwise": getattr(Captured, f"__{_name}__"),
        "otherwise_reflected": getattr(Captured, f"__r{_name}__"),
    }  # fmt: skip
    exec(SHORT.format(symbol=_symbol, place=_place), _space)  # noqa: S102
    setattr(FLOAT64, f"__{_name}__", _space["compute"])
    setattr(FLOAT64, f"__r{_name}__", _space["reflect"])

# ---- methods

METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress", "conj", "conjugate", "cumprod",
    "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze", "std",
    "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip


def method(function: Any) -> Callable[..., Any]:
    """A method that is the function of the same name with the array first."""
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)  # noqa: PLW0108 - a function binds, NumPy's do not


def reshape(self: Any, *shape: Any, **options: Any) -> Any:
    """``np.reshape(self, shape)``; the shape may be given as separate integers."""
    return np.reshape(self, shape[0] if len(shape) == 1 else shape, **options)


def transpose(self: Any, *axes: Any) -> Any:
    """``np.transpose(self, axes)``; the axes may be given as separate integers."""
    return np.transpose(self, axes[0] if len(axes) == 1 else axes or None)


def flatten(self: Any, order: Any = "C") -> Any:
    """A one-dimensional copy."""
    return np.ravel(self, order=order).copy()


def fill(self: Any, value: Any) -> None:
    """Set every entry to one value."""
    self[...] = value


def set_flat(self: Any, value: Any) -> None:
    """Write all entries in C order, beginning anew when the values run out."""
    Flat(self)[...] = value


def view(self: Any, dtype: Any = None) -> Any:
    """The same memory, with entries of another dtype."""
    return self[...] if dtype is None else self.capture.call(viewed, (self, np.dtype(dtype)), {})


def put(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
    """Set entries of the flattened array."""
    np.put(self, indices, values, mode)


def sort(self: Any, axis: int = -1, **options: Any) -> None:
    """Sort in place."""
    self[...] = np.sort(self, axis=axis, **options)


def missing(self: CapturedArray, name: str) -> Any:
    """What NumPy's arrays have and captured ones have not."""
    if name.startswith("_") or not hasattr(ndarray, name):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
    raise self.capture.refused(f"x.{name}", "it cannot be captured. Compute with np.<function>(x) instead")


ON_BOTH: dict[str, Any] = {
    "reshape": reshape, "transpose": transpose, "flatten": flatten, "T": property(np.transpose),
    "real": property(lambda self: self.capture.call(np.real, (self,), {})),
    "imag": property(lambda self: self.capture.call(np.imag, (self,), {})),
    "__divmod__": lambda self, other: (self // other, self % other),
    **{name: method(getattr(np, name)) for name in METHODS},
}  # fmt: skip
ON_ARRAYS: dict[str, Any] = {
    "fill": fill, "view": view, "put": put, "sort": sort, "flat": property(Flat, set_flat),
    "mT": property(lambda self: np.swapaxes(self, -1, -2)),
    "__getattr__": missing,
}  # fmt: skip

for _name, _value in ON_BOTH.items():
    setattr(CapturedArray, _name, _value)
    setattr(CapturedNumber, _name, _value)
for _name, _value in ON_ARRAYS.items():
    setattr(CapturedArray, _name, _value)
for _name in ("real", "imag"):
    setattr(PythonNumber, _name, ON_BOTH[_name])
