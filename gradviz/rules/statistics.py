"""Derivatives of covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.rule import composed
from gradviz.rules.joining import gathered


def in_dtype(a: Any, dtype: Any) -> Any:
    return a if a.dtype == dtype else a.astype(dtype)


@composed(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    fweights, aweights = (None if weights is None else gathered(weights) for weights in (fweights, aweights))
    variables = observed(m, rowvar)
    if not variables.shape[0]:
        return np.zeros((0, 0), variables.dtype)
    if y is not None:
        variables = np.concatenate([variables, observed(y, rowvar)])
    weights: Any = fweights if aweights is None else aweights if fweights is None else aweights * fweights
    count = variables.shape[1] if weights is None else np.sum(weights)
    ddof = ddof if ddof is not None else 0 if bias else 1
    lost = ddof if aweights is None else ddof * np.sum(weights * aweights) / count
    variables = variables - np.average(variables, axis=1, weights=weights, keepdims=True)
    weighted = variables if weights is None else variables * weights
    result = np.matmul(variables, np.conj(np.transpose(weighted))) / (count - lost)
    return np.squeeze(result if dtype is None else in_dtype(result, dtype))


def observed(m: Any, rowvar: bool) -> Any:
    m = gathered(m)
    return np.reshape(m, (1, -1)) if np.ndim(m) < 2 else m if rowvar else np.transpose(m)


@composed(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    return np.clip(c, -1, 1) if c.dtype.kind != "c" else c
