"""Capturing without computing: an array inside the function has a shape, a layout and memory, and nothing of meaning in it.

What large arrays hold is of no interest to a capture as long as nobody looks. So a result that has the same shape and dtype whatever the
values are is memory that is never touched; views of it are views, as ever. What needs values gets them: when Python looks at one, when
a result is as large as values say, and when a function could refuse values (`np.linalg`), the rows that lead there are run on
the caller's arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.plan.capture.capture import Capture
from gradviz.plan.capture.captured import CAPTURED
from gradviz.plan.capture.constants import memory
from gradviz.plan.capture.template import Parts
from gradviz.plan.program.operation import in_kind_of, python_number, viewed

ndarray = np.ndarray
LARGE_NBYTES = 1 << 16  # smaller arrays are computed as fast as they are left alone
MOST_NBYTES = 1 << 30  # of values that are kept for the next look

# Functions whose results have the same shapes and dtypes whatever the values are, and that refuse none.
VALUE_FREE: frozenset[Any] = frozenset(
    {np.sum, np.prod, np.max, np.min, np.mean, np.broadcast_to, np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis}
    | {np.expand_dims, np.squeeze, np.concatenate, np.stack, np.where, np.zeros_like, np.ones_like, np.empty_like, np.copy, np.real}
    | {np.imag, np.astype, np.dot, np.tensordot, np.vdot, np.outer, np.cumsum, np.cumprod, np.flip, np.roll, np.tile, np.diagonal}
    | {np.ascontiguousarray, np.atleast_1d, in_kind_of, python_number, viewed}
)  # fmt: skip


def is_value_free(function: Any, dtypes: Sequence[Any], options: Sequence[tuple[str, Any]], args: int) -> bool:
    """Whether the shape and dtype of the result are known without values, and no values are refused."""
    if function in VALUE_FREE:
        return function is not np.where or args == 3
    ufunc = function if isinstance(function, np.ufunc) else getattr(function, "__self__", None)
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
        return False
    if function is not ufunc and getattr(function, "__name__", "") not in ("reduce", "accumulate", "outer"):
        return False
    if ufunc is np.power and not any(dtype.kind in "fc" for dtype in dtypes):
        return False  # integers to negative powers
    return all(name in ("dtype", "axis", "keepdims", "casting", "order") for name, _ in options)


class ByShape(Capture):
    """The capture of a function that is given large arrays."""

    lazy = True

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Any] = {}  # number -> value, of those that were needed
        self.known_nbytes = 0
        self.starts = [0]  # of the operands of each row, as far as they were looked at
        self.made: dict[Any, Callable[[], Any] | None] = {}  # what a call makes, by all that it depends on

    def input(self, value: Any) -> Any:
        if type(value) is not ndarray:
            made = super().input(value)
            self.known[made.number] = made.value
            return made
        made = self._input(standing_for(value))
        self.known[made.number] = value
        return made

    def refer(self, array: ndarray) -> None:
        super().refer(array)
        found = self.outside[id(array)]
        self.known[found.number] = found.value

    # ---- calls

    def run(self, function: Any, templates: Any, options: Any, values: list[Any], operands: Any, integers: Any) -> Any:
        dtypes = [np.result_type(v) for v in values]
        if not is_value_free(function, dtypes, options, len(templates)):
            return self.run_on_values(function, templates, options, values, operands, integers)
        if not any(map(is_large, values)):
            return super().run(function, templates, options, values, operands, integers)
        key = function, templates, options, tuple(map(kind_of, values))
        if (make := self.made.get(key)) is not None:
            return make()
        out = super().run(function, templates, options, values, operands, integers)
        self.made[key] = maker_of(out, values)
        return out

    def run_on_values(
        self, function: Any, templates: Any, options: Any, values: list[Any], operands: Any, integers: Any
    ) -> Any:
        """What stands for the result of a function that has to see its operands."""
        real = [v if whole else self.value(n, v) for n, v, whole in zip(operands, values, integers, strict=True)]
        out = super().run(function, templates, options, real, operands, integers)
        parts = out if isinstance(out, (tuple, list)) else (out,)
        owners = {id(memory(v)) for v in real if type(v) is ndarray}
        if any(type(part) is ndarray and id(memory(part)) in owners for part in parts):
            return super().run(function, templates, options, values, operands, integers)  # a view of what stands there
        if not isinstance(out, (tuple, list)):
            return standing_for(out)
        stand = [standing_for(part) for part in out]
        return type(out)(*stand) if hasattr(out, "_fields") else type(out)(stand)

    def write(self, array: Any, made: Any) -> None:
        """Nothing is written: what is there means nothing."""

    def copy_of(self, array: ndarray, order: Any) -> ndarray:
        return np.empty_like(array, order=order)

    def leaves(self, ufunc: np.ufunc, *values: Any) -> bool:
        return any(map(is_large, values)) or (
            ufunc is np.power and all(np.result_type(v).kind in "bui" for v in values)
        )  # fmt: skip

    # ---- values

    def index_values(self, parts: Parts, first: int) -> list[Any]:
        found = zip(parts.operands, parts.values, parts.integers, strict=True)
        return [v if whole or k < first else self.value(n, v) for k, (n, v, whole) in enumerate(found)]

    def seen(self, value: Any) -> Any:
        """What a captured value really is."""
        if type(value) in CAPTURED:
            return self.value(value.number, value.value)
        if type(value) in (tuple, list):
            return type(value)(map(self.seen, value))
        return value

    def value(self, number: int, stand: Any) -> Any:
        """The value with a number; what stands for a constant is what it is."""
        if number < 0:
            return stand if type(stand) is not ndarray else self.constants.values[-1 - number]
        if number not in self.known:
            self._evaluate(number)
        return self.known[number]

    def _evaluate(self, number: int) -> None:
        """Run the rows that lead to a value."""
        operations, rows, operands = self.operations, self.rows, self.operands
        for code in rows[len(self.starts) - 1 :]:
            self.starts.append(self.starts[-1] + len(operations[code].integers))
        reads: dict[int, list[int]] = {}
        todo = [number]
        while todo:
            n = todo.pop()
            if n in reads or n in self.known:
                continue
            lo, hi = self.starts[n : n + 2]
            reads[n] = [o for o, whole in zip(operands[lo:hi], operations[rows[n]].integers, strict=True) if not whole]
            todo += [o for o in reads[n] if o >= 0]
        left = Counter(o for found in reads.values() for o in found)
        for n in sorted(reads):
            made = operations[rows[n]]
            lo, hi = self.starts[n : n + 2]
            values = [
                o if whole else self.constants.values[-1 - o] if o < 0 else self.known[o]
                for o, whole in zip(operands[lo:hi], made.integers, strict=True)
            ]
            self.known[n] = made.run(values)
            self.known_nbytes += nbytes_of(self.known[n])
            left.subtract(reads[n])
            if self.known_nbytes > MOST_NBYTES:
                self._forget(lambda k, now=n: left[k] > 0 or k in (now, number))

    def _forget(self, wanted: Callable[[int], bool]) -> None:
        """Drop values that can be computed again."""
        for k in [k for k in self.known if k >= len(self.inputs) and not wanted(k)]:
            self.known_nbytes -= nbytes_of(self.known.pop(k))

    def close(self) -> None:
        super().close()
        self.known.clear()
        self.made.clear()


def nbytes_of(value: Any) -> int:
    return sum(map(nbytes_of, value)) if isinstance(value, (tuple, list)) else getattr(value, "nbytes", 8)


def kind_of(value: Any) -> Any:
    return (value.shape, value.strides, value.dtype) if type(value) is ndarray else type(value)


def maker_of(out: Any, values: list[Any]) -> Callable[[], Any] | None:
    """What makes another result like this one; None if it has to be computed each time, as operands and views of them have."""
    if type(out) is not ndarray or any(out is v for v in values):
        return None
    if out.base is not None or not (out.flags.c_contiguous or out.flags.f_contiguous):
        return None
    shape, dtype, order = out.shape, out.dtype, "C" if out.flags.c_contiguous else "F"
    return lambda: np.empty(shape, dtype, order)


def standing_for(value: Any) -> Any:
    """Something of the same kind, in memory of its own and the same layout, with nothing of meaning in it."""
    if type(value) is not ndarray:
        return value
    sizes = [(s, (n - 1) * s) for n, s in zip(value.shape, value.strides, strict=True)]
    low = sum(min(0, reach) for _, reach in sizes)
    high = sum(max(0, reach) for _, reach in sizes)
    if not value.size or value.flags.c_contiguous or value.flags.f_contiguous:
        made = np.empty_like(value)
    else:
        made = ndarray(value.shape, value.dtype, np.empty(high - low + value.itemsize, np.uint8), -low, value.strides)
    made.flags.writeable = value.flags.writeable
    return made


def is_large(value: Any) -> bool:
    """Whether an array is worth being left alone."""
    return type(value) is ndarray and value.nbytes >= LARGE_NBYTES
