"""gradviz passes through Python's own containers, so these are Python's own; only a traced array has to answer as an ndarray."""

import builtins
from builtins import dict, list, tuple, type

import numpy

import gradviz

__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def isinstance(value, kinds):
    """As Python's, with a traced array being a NumPy array too."""
    kind = numpy.ndarray if builtins.isinstance(value, gradviz.Array) else builtins.type(value)
    return builtins.isinstance(value, kinds) or issubclass(kind, kinds)
