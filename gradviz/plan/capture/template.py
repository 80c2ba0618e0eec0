"""How the arguments of a call become a template: what is fixed stays where it is, and values leave slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.engine.array import Array, strip
from gradviz.plan.capture.captured import CAPTURED, Captured
from gradviz.plan.capture.devices import on_device
from gradviz.plan.program.operation import Items, Sliced, Slot

if TYPE_CHECKING:
    from gradviz.plan.capture.capture import Capture

ndarray = np.ndarray
NUMBERS = frozenset({float, complex})
FIXED = (int, bool, str, bytes, type(None), type(Ellipsis), type, np.dtype)


class Parts:
    """The operands of one call, collected while its arguments become a template.

    Attributes
    ----------
    operands : their numbers, and plain integers in indices
    values : what they are now
    integers : which of them are plain integers
    captured : those that are captured values
    """

    def __init__(self, capture: Capture, numbers: bool = False) -> None:
        self.capture = capture
        self.numbers = numbers  # whether integers are numbers like others, as in a ufunc, and not axes
        self.operands: list[int] = []
        self.values: list[Any] = []
        self.integers: list[bool] = []
        self.captured: list[Captured] = []

    def slot(self, operand: int, value: Any, integer: bool = False) -> Slot:
        self.operands.append(operand)
        self.values.append(value)
        self.integers.append(integer)
        return Slot(len(self.operands) - 1, integer)

    def template(self, argument: Any) -> Any:
        """An argument with slots for the values in it."""
        kind = type(argument)
        if kind in CAPTURED:
            number = argument.number
            self.captured.append(argument)
            return self.slot(number, argument.value)
        if kind is ndarray or kind in NUMBERS or isinstance(argument, np.generic):
            return self.slot(self.capture.constant(argument), argument)
        if kind is int or kind is bool:
            return self.slot(self.capture.constant(argument), argument) if self.numbers else argument
        if kind is tuple:
            return tuple([self.template(item) for item in argument])
        if kind is list:
            return Items(self.template(item) for item in argument)
        if kind is slice:
            return Sliced(self.template(argument.start), self.template(argument.stop), self.template(argument.step))
        if isinstance(argument, FIXED) or callable(argument):
            return argument
        if on_device(argument):
            held = self.capture.of_device(argument)
            return self.slot(held.number, held.value)
        if isinstance(argument, Array):
            if argument.tape is None:
                return self.template(strip(argument, 0))
            return argument.__array__()
        raise self.capture.refused(f"a call with a {kind.__name__} among its arguments", "it cannot be captured")

    def index(self, index: Any) -> Any:
        """The same for an index, in which integers may change from call to call."""
        kind = type(index)
        if kind is tuple:
            return tuple([self.index(item) for item in index])
        if kind is int or isinstance(index, np.integer):
            return self.slot(int(index), int(index), True)
        if kind is slice:
            return Sliced(self.end(index.start), self.end(index.stop), index.step)
        if kind is list and index:
            return self.template(index if holds_captured(index) else np.asarray(index))
        return self.template(index)

    def end(self, end: Any) -> Any:
        return end if end is None else self.slot(int(end), int(end), True)


def holds_captured(items: Any) -> bool:
    """Whether a list has a captured value in it."""
    return any(type(item) in CAPTURED or (type(item) in (list, tuple) and holds_captured(item)) for item in items)
