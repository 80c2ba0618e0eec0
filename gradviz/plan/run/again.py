"""Whether a call gets the arrays of the call before: an optimizer gets the same ones at each step."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np

from gradviz.plan.capture.devices import on_device
from gradviz.plan.capture.overlap import address
from gradviz.plan.capture.signature import is_input


class Again:
    """The arguments of a call, to know them by when they come again.

    Of the same arrays it has to be known only that none was given another shape in place; not where they are, nor whether they share
    memory. Numbers may be others.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.last = list(values)
        self.others = [k for k, value in enumerate(values) if type(value) is not np.ndarray and not on_device(value)]
        # of arrays with one entry or none, different ones can be equal; those of a device are not to be compared
        self.small = any(on_device(value) or value.size < 2 for value in values if hasattr(value, "strides"))
        self.kinds = kinds(values)

    def same(self, values: Sequence[Any]) -> bool:
        """Whether the arrays are the same ones, the numbers of the same types, and all else equal."""
        last = self.last
        if len(values) != len(last):
            return False
        for k in self.others:
            value, before = values[k], last[k]
            if type(value) is not type(before) or not (is_input(value) or value == before):
                return False
            last[k] = value
        if self.small:
            return all(map(is_, values, last)) and kinds(values) == self.kinds
        try:
            return (values if type(values) is list else list(values)) == last and kinds(values) == self.kinds
        except ValueError:  # two arrays have no truth value in common
            return False


def kinds(values: Sequence[Any]) -> list[Any]:
    """What may change about an array while it stays the same object."""
    arrays = [value for value in values if type(value) is np.ndarray]
    return [(a.shape, a.strides, a.dtype, a.flags.writeable, address(a)) for a in arrays]
