"""Sums of exponentials: functions that SciPy writes in Python."""

from __future__ import annotations

import numpy as np
from scipy import special

from gradviz.engine.rule import composed


@composed(special.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    largest = np.max(np.real(a) if a.dtype.kind == "c" else a, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    terms = np.exp(a - largest)
    total = np.sum(terms if b is None else b * terms, axis=axis, keepdims=True)
    sign = np.sign(total)
    result = np.log(np.abs(total) if return_sign else total) + largest
    if not keepdims:
        result, sign = np.squeeze(result, axis), np.squeeze(sign, axis)
    return (result, sign) if return_sign else result


@composed(special.softmax)
def softmax(x, axis=None):
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


@composed(special.log_softmax)
def log_softmax(x, axis=None):
    return x - logsumexp(x, axis=axis, keepdims=True)
