"""How an `Array` answers NumPy: ufuncs, functions, operators, indexing and methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom, is_number
from gradviz.engine.call import call, call_without_gradient, innermost, missing, stacked, wrap_constant
from gradviz.engine.core_axes import along_last
from gradviz.engine.cotangent import may_repeat
from gradviz.engine.methods import DEFINED
from gradviz.engine.mutate import add_into, adopt, assign, below_index, overwrite
from gradviz.engine.rounds import update_in_rounds
from gradviz.engine.rule import COMPOSED, CREATING, NO_GRADIENT, OUT_POSITION, RULES
from gradviz.engine.straight import BINARY, REFLECTED, UNARY, get_item, shortened, write_straight_paths
from gradviz.errors import ConversionError, UnsupportedOnDeviceError


def general(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """A ufunc called without options on any mixture of arguments."""
    rule = RULES.get(ufunc)
    if rule is not None:
        return call(rule, inputs)
    if ufunc in COMPOSED:
        return COMPOSED[ufunc](*inputs)
    if ufunc in NO_GRADIENT:
        return call_without_gradient(ufunc, inputs, {})
    if innermost(inputs) is None:
        return wrap_constant(call_without_gradient(ufunc, inputs, {}))
    raise missing(ufunc)


def in_place(ufunc: np.ufunc, operate: Callable[[Array, Any], Any]) -> Callable[[Array, Any], Any]:
    """``self <op>= other``, into the memory of ``self`` where nobody needs what it holds."""

    def update(self: Array, other: Any) -> Any:
        if is_number(self):
            return operate(self, other)
        if not overwrite(self, ufunc, other):
            adopt(self, as_array(operate(self, other)))
        return self

    return update


def as_array(result: Any) -> Any:
    if result is NotImplemented:
        raise TypeError("unsupported operand for an in-place update")
    return result


# ---- ufuncs


def answer_ufunc(self: Array, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if not kwargs and method == "__call__":
        if len(inputs) == 1:
            straight = UNARY.get(ufunc)
            return straight(self) if straight is not None else general(ufunc, inputs)
        if len(inputs) == 2 and ufunc in BINARY:
            x, y = inputs
            return BINARY[ufunc](x, y) if isinstance(x, Array) else general(ufunc, inputs)
        return general(ufunc, inputs)
    if method == "at":
        return update_at(ufunc, *inputs)
    out = kwargs.pop("out", (None,))
    for target in out:
        if target is not None and not isinstance(target, Array):
            raise ConversionError(
                f"np.{ufunc.__name__}(..., out=plain array) cannot hold a traced result: its gradient would be lost. Make the "
                "array with gradviz.numpy.zeros(...), np.zeros_like(x) or x.copy()."
            )
    result = with_options(ufunc, method, inputs, kwargs, out[0])
    if all(target is None for target in out):
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(out, results, strict=True):
        if target is not None:
            adopt(target, value)
    kept = [value if target is None else target for target, value in zip(out, results, strict=True)]
    return kept[0] if len(kept) == 1 else tuple(kept)


def with_options(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
    """A ufunc, or one of its methods, with keyword options other than ``out``."""
    if method == "outer":
        x, y = inputs
        return ufunc(np.reshape(x, np.shape(x) + (1,) * np.ndim(y)), y, **kwargs)
    if method != "__call__":
        return answer_function(inputs[0], getattr(ufunc, method), (), inputs, kwargs)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    for name in ("casting", "order", "subok", "signature"):
        kwargs.pop(name, None)
    if dtype is not None:
        inputs = tuple(x.astype(dtype) if hasattr(x, "dtype") else x for x in inputs)
    result = ufunc(*inputs) if ufunc.signature is None else along_last(ufunc, inputs, kwargs)
    if kwargs:
        raise TypeError(f"np.{ufunc.__name__} of a traced array takes no {', '.join(kwargs)}")
    if where is True:
        return result
    return np.where(where, result, 0 if out is None else out)


def update_at(ufunc: np.ufunc, target: Any, index: Any, *values: Any) -> None:
    """``ufunc.at``: an update in which repeated positions all count."""
    if not isinstance(target, Array):
        raise ConversionError(
            f"np.{ufunc.__name__}.at(plain array, ...) cannot take a traced value: its gradient would be lost. Make the array with "
            "gradviz.numpy.zeros(...), np.zeros_like(x) or x.copy()."
        )
    index = below_index(index)
    values = tuple(stacked(value) if type(value) in (list, tuple) else value for value in values)
    if ufunc is not np.add and ufunc is not np.subtract:
        return update_in_rounds(ufunc, target, index, values)
    value = values[0] if ufunc is np.add else -values[0]
    if type(index) is list:
        index = np.asarray(index, like=bottom(target))  # on a device: sent once, not again for the pullback
    if not may_repeat(index):
        target[index] += value
    elif not add_into(target, index, value):
        adopt(target, RULES[np.add.at](target, index, value))
    return None


# ---- functions


def answer_function(self: Any, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.get("out")
    if out is not None:
        return into(out, answer_function(self, function, types, args, {k: v for k, v in kwargs.items() if k != "out"}))
    found = RULES.get(function)
    if found is not None:
        arguments = found.bind(*args, **kwargs)
        if "out" in found.parameters and arguments[found.parameters.index("out")] is not None:
            position = found.parameters.index("out")
            return into(arguments[position], call(found, (*arguments[:position], None, *arguments[position + 1 :])))
        return call(found, arguments)
    create = CREATING.get(function)
    if create is not None:  # NumPy has taken ``like=self`` out of the arguments
        return create(self, *args, **kwargs)
    definition = COMPOSED.get(function)
    if definition is not None:
        position = OUT_POSITION.get(function, len(args))
        if position < len(args) and args[position] is not None:
            return into(args[position], definition(*args[:position], None, *args[position + 1 :], **kwargs))
        return definition(*args, **kwargs)
    if function in NO_GRADIENT:
        return call_without_gradient(function, args, kwargs)
    if innermost((*args, *kwargs.values())) is None:  # nothing is traced, so nothing can be lost
        return wrap_constant(call_without_gradient(function, args, kwargs))
    raise missing(function)


def into(out: Any, result: Any) -> Any:
    if type(out) is tuple:
        (out,) = out
    if not isinstance(out, Array):
        raise ConversionError(
            "out= must be an array that can hold traced values: make it with gradviz.numpy.zeros or np.zeros_like(x)."
        )
    adopt(out, result)
    return out


def not_by_cupy(name: str) -> str:
    """What to do instead of calling a function of CuPy."""
    return (
        f"cupy.{name} was given a traced array, which it cannot trace: CuPy's functions look at CuPy's own arrays only. Call "
        f"np.{name} or gradviz.numpy.{name}; given CuPy's arrays they run on the device."
    )


def refuse_kernel(self: Array, kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """CuPy asks before it runs a ufunc or a kernel on an array that is not its own."""
    raise UnsupportedOnDeviceError(not_by_cupy(getattr(kernel, "name", "kernel").removeprefix("cupy_")))


# ---- put on the class

OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "pow": np.power, "matmul": np.matmul,
    "mod": np.remainder, "floordiv": np.floor_divide, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def operator_of(ufunc: np.ufunc) -> Callable[[Array, Any], Any]:
    return BINARY.get(ufunc) or (lambda self, other: general(ufunc, (self, other)))


def reflected(ufunc: np.ufunc) -> Callable[[Array, Any], Any]:
    """``other <op> self`` where ``other`` is no traced array."""
    return lambda self, other: general(ufunc, (other, self))


def compare(ufunc: np.ufunc) -> Callable[[Array, Any], Any]:
    return lambda self, other: call_without_gradient(ufunc, (self, other), {})


def install() -> None:
    """Give `Array` its operators, protocols and methods; done when all rules are known."""
    write_straight_paths(general)
    for name, ufunc in OPERATORS.items():
        setattr(Array, f"__{name}__", operator_of(ufunc))
        setattr(Array, f"__r{name}__", REFLECTED.get(ufunc) or reflected(ufunc))
        setattr(Array, f"__i{name}__", in_place(ufunc, operator_of(ufunc)))
    for name, ufunc in COMPARISONS.items():
        setattr(Array, f"__{name}__", compare(ufunc))
    for name, ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
        setattr(Array, f"__{name}__", lambda self, ufunc=ufunc: answer_ufunc(self, ufunc, "__call__", self))
    for name in METHODS:
        setattr(Array, name, method(name, getattr(np, name)))
    for name, value in {**OWN, "__array_ufunc__": shortened(answer_ufunc)}.items():
        setattr(Array, name, value)


# methods that are the function of the same name with the array first
METHODS = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "choose",
    "clip",
    "compress",
    "conj",
    "conjugate",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ravel",
    "repeat",
    "round",
    "searchsorted",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "trace",
    "var",
]


def method(name: str, function: Any) -> Callable[..., Any]:
    def apply(self: Array, *args: Any, **kwargs: Any) -> Any:
        return (
            answer_function(self, function, (), (self, *args), kwargs)
            if not isinstance(function, np.ufunc)
            else function(self, *args, **kwargs)
        )

    apply.__name__ = name
    apply.__doc__ = f"``np.{name}(self, ...)``"
    return apply


OWN: dict[str, Any] = {
    "__array_function__": answer_function, "__getitem__": get_item, "__setitem__": assign,
    "__copy__": lambda self: np.copy(self),  # noqa: PLW0108 - a function binds, np.copy does not
    "__deepcopy__": lambda self, memo: np.copy(self),
    "__cupy_override_elementwise_kernel__": refuse_kernel, "__cupy_override_reduction_kernel__": refuse_kernel,
    "__divmod__": lambda self, other: (self // other, self % other),
    **DEFINED,
}  # fmt: skip
