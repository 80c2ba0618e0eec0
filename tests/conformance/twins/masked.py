"""torch's reductions of masked arrays: what the mask leaves out is replaced by what changes nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradviz.scipy import special
from tests.conformance.twins.reductions import softmax
from tests.conformance.twins.twin import twin


def _shown(x: Any, mask: Any) -> Any:
    return np.ones(np.shape(x), bool) if mask is None else np.broadcast_to(mask, np.shape(x))


def _reducing(neutral: float, function: Any) -> Any:
    def reduced(x, dim=None, *, keepdim=False, dtype=None, mask=None):
        axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
        return function(np.where(_shown(x, mask), x, neutral), axis=axis, keepdims=keepdim)

    return reduced


twin("masked.sum")(_reducing(0, np.sum))
twin("masked.prod")(_reducing(1, np.prod))


@twin("masked.mean")
def mean(x, dim=None, *, keepdim=False, dtype=None, mask=None):
    axis, shown = tuple(dim) if isinstance(dim, (list, tuple)) else dim, _shown(x, mask)
    return np.sum(np.where(shown, x, 0), axis=axis, keepdims=keepdim) / np.sum(shown, axis=axis, keepdims=keepdim)


@twin("masked.cumsum")
def cumsum(x, dim, *, dtype=None, mask=None):
    return np.cumsum(np.where(_shown(x, mask), x, 0), axis=dim) if np.ndim(x) else np.where(_shown(x, mask), x, 0)


@twin("masked.cumprod")
def cumprod(x, dim, *, dtype=None, mask=None):
    return np.cumprod(np.where(_shown(x, mask), x, 1), axis=dim) if np.ndim(x) else np.where(_shown(x, mask), x, 1)


@twin("masked.softmax")
def masked_softmax(x, dim, *, dtype=None, mask=None):
    """Where everything is masked, nothing is left: NaN, in torch."""
    return softmax(np.where(_shown(x, mask), x, -math.inf), dim)


@twin("masked.softmin")
def masked_softmin(x, dim, *, dtype=None, mask=None):
    return softmax(np.where(_shown(x, mask), -x, -math.inf), dim)


@twin("masked.log_softmax")
def masked_log_softmax(x, dim, *, dtype=None, mask=None):
    x = np.where(_shown(x, mask), x, -math.inf)
    return x - special.logsumexp(x, axis=dim, keepdims=True) if np.ndim(x) and np.size(x) else x - x
