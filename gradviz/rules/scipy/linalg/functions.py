"""Functions of matrices.

The derivative of f at A along E is the upper right block of f([[A, E], [0, A]]) (Mathias 1996; Higham 2008, theorem 3.6), so the pullback
is that block for the adjoint of A, and needs nothing but f itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from gradviz.engine.array import bottom
from gradviz.engine.converting import converting_rule
from gradviz.engine.rule import composed
from gradviz.rules.products import adjoint, row
from gradviz.rules.scipy.linalg.equations import _sylvester


def along(f: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """The derivative of a matrix function at ``a`` along ``e``, which is scaled to the size of ``a`` for the function's error bounds."""
    size = float(np.max(np.abs(bottom(e)), initial=0.0)) if type(bottom(e)) is np.ndarray else 1.0
    scale = 1.0 if size == 0 else size / max(float(np.max(np.abs(bottom(a)), initial=0.0)), 1e-3)
    n = a.shape[-1]
    e = np.broadcast_to(e / scale, a.shape)
    block = np.concatenate([np.concatenate([a, e], -1), np.concatenate([np.zeros_like(a), a], -1)], -2)
    return f(block)[..., :n, n:] * scale


def _in_kind(made: Any, a: Any) -> Any:
    """A real matrix has a real gradient, although the function of its block may be computed in complex numbers."""
    return made if np.iscomplexobj(a) or not np.iscomplexobj(made) else np.real(made)


# ---- exponential, logarithm, roots and powers


def expm_to_A(ct, A):
    return along(_expm, adjoint(A), ct)


_expm = converting_rule(linalg.expm, expm_to_A)


def logm_to_A(ct, A):
    return _in_kind(along(_logm, adjoint(A), ct), A)


_logm = converting_rule(linalg.logm, logm_to_A)


def sqrtm_to_A(ct, A, out):
    """From X X = A: a Sylvester equation."""
    back = adjoint(out)
    return _in_kind(_sylvester(back, back, ct), A)


_sqrtm = converting_rule(linalg.sqrtm, sqrtm_to_A, signature="A")


def fractional_matrix_power_to_A(ct, A, t):
    return _in_kind(along(lambda block: _power(block, t), adjoint(A), ct), A)


def fractional_matrix_power_to_t(ct, A, out):
    return np.real(np.sum(np.conj(ct) * np.matmul(_logm(A), out)))


_power = converting_rule(linalg.fractional_matrix_power, fractional_matrix_power_to_A, fractional_matrix_power_to_t)


@composed(linalg.expm_frechet)
def expm_frechet(A, E, method=None, compute_expm=True, check_finite=True):
    derivative = along(_expm, A, E)
    return (_expm(A), derivative) if compute_expm else derivative


# ---- trigonometric and hyperbolic functions, as SciPy defines them


@composed(linalg.cosm)
def cosm(A):
    return np.real(_expm(1j * A)) if not np.iscomplexobj(A) else (_expm(1j * A) + _expm(-1j * A)) / 2


@composed(linalg.sinm)
def sinm(A):
    return np.imag(_expm(1j * A)) if not np.iscomplexobj(A) else (_expm(1j * A) - _expm(-1j * A)) / 2j


composed(linalg.tanm)(lambda A: np.linalg.solve(cosm(A), sinm(A)))
composed(linalg.coshm)(lambda A: (_expm(A) + _expm(-A)) / 2)
composed(linalg.sinhm)(lambda A: (_expm(A) - _expm(-A)) / 2)
composed(linalg.tanhm)(lambda A: np.linalg.solve(_expm(A) + _expm(-A), _expm(A) - _expm(-A)))
composed(linalg.signm)(lambda A, disp=None: np.linalg.solve(_sqrtm(np.matmul(A, A)), A))


@composed(linalg.funm)
def funm(A, func, disp=None):
    """By eigenvectors, so the eigenvalues must differ; ``func`` is made of functions that have rules."""
    w, v = np.linalg.eig(A)
    made = np.matmul(v * row(func(w)), np.linalg.inv(v))
    plain = bottom(made)
    real = not np.iscomplexobj(A) and np.allclose(np.imag(plain), 0, atol=1e3 * np.finfo(plain.dtype).eps)
    return np.real(made) if real else made
