"""NumPy itself. What autograd's wrapper adds is joining lists of traced values, which NumPy's functions cannot see."""

import builtins
import functools

import numpy as _np

import gradviz as _gv


def _holds_traced(value):
    if isinstance(value, (builtins.list, builtins.tuple)):
        return builtins.any(_holds_traced(item) for item in value)
    return isinstance(value, _gv.Array)


def joining(function):
    """The function, with lists of traced values made arrays first."""

    @functools.wraps(function)
    def joined(*args, **kwargs):
        return function(*(_gv.numpy.asarray(x) if _holds_traced(x) else x for x in args), **kwargs)

    return joined


c_, r_ = _gv.numpy.c_, _gv.numpy.r_
append, mean, std, var = (joining(f) for f in (_np.append, _np.mean, _np.std, _np.var))


def array(value, *args, **kwargs):
    return (_gv.numpy if _holds_traced(value) else _np).array(value, *args, **kwargs)


def make_diagonal(d, offset=0, axis1=-1, axis2=-2):
    """The matrices of which ``d`` holds the diagonals."""
    assert offset == 0
    made = _np.einsum("...i,ij->...ij", d, _np.eye(d.shape[-1]))
    return _np.moveaxis(made, (-2, -1), (axis1, axis2))


from autograd.numpy import fft, linalg, random  # noqa: E402 - linalg reads what is above


def __getattr__(name):
    return getattr(_np, name)
