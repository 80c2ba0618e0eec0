"""Derivatives of order statistics and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.rule import composed, rule
from gradviz.errors import MissingRuleError
from gradviz.rules.reductions import NONE, axes_of, rows, unrows
from gradviz.rules.selection import place

# ---- quantiles


def in_dtype(a: Any, dtype: Any) -> Any:
    return a if a.dtype == dtype else a.astype(dtype)


def median_to_a(ct, a, axis):
    """Of an even number of entries, each of the middle two has half."""
    axes = axes_of(axis, np.ndim(a))
    joined = rows(a, axes)
    length = joined.shape[-1]
    low, high = (length - 1) // 2, length // 2
    order = np.argpartition(joined, (low, high), axis=-1)[..., low : high + 1]
    share = np.reshape(ct / (high - low + 1), (*joined.shape[:-1], 1))
    return unrows(place(np.broadcast_to(share, order.shape), order, joined.ndim - 1, length), axes, a.shape)


middle = rule(
    lambda a, axis=None, keepdims=False: np.median(a, axis=axis, keepdims=keepdims), median_to_a, name="median"
)


@composed(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return middle(a, axis, keepdims)


def sorted_rows(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The named axes joined at the end and sorted, NaN last; and the shape of a result that keeps its dimensions."""
    axes = axes_of(axis, np.ndim(a))
    return np.sort(rows(np.asanyarray(a) if not hasattr(a, "shape") else a, axes)), axes


def reduced_shape(a: Any, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(np.shape(a)) if keepdims or i not in axes)


@composed(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    ordered, axes = sorted_rows(a, axis)
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    pair = [np.take_along_axis(ordered, k, axis=-1) for k in ((count - 1) // 2, count // 2)]
    return np.reshape((pair[0] + pair[1]) / 2, reduced_shape(a, axes, keepdims is not NONE and keepdims))


@composed(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None):
    if weights is not None:
        raise MissingRuleError("np.quantile and np.percentile with weights= have no derivative in gradviz.")
    ordered, axes = sorted_rows(a, axis)
    ordered = in_dtype(ordered, np.result_type(a.dtype, q if isinstance(q, int | float) else np.asarray(q)))
    length = ordered.shape[-1]
    shape = reduced_shape(a, axes, keepdims)
    last = ordered[..., -1]
    places = np.quantile(np.arange(length, dtype=float), q, method=method)  # where among the sorted entries each is

    def at(place: float) -> Any:
        low = int(place)
        part, value = float(place - low), ordered[..., low]
        value = value if part == 0 else value * (1 - part) + ordered[..., low + 1] * part
        return np.reshape(np.where(np.isnan(last), last, value), shape)

    found = [at(place) for place in np.ravel(places)]
    return np.reshape(np.stack(found), np.shape(places) + shape) if np.ndim(places) else found[0]


@composed(np.percentile)
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method: Any = "linear", keepdims=False, *, weights=None
):
    return quantile(
        a,
        q / 100 if isinstance(q, int | float) else np.true_divide(q, 100),
        axis,
        None,
        False,
        method,
        keepdims,
        weights=weights,
    )


# ---- covariances


@composed(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    variables = observed(m, rowvar)
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
    return np.reshape(m, (1, -1)) if np.ndim(m) < 2 else m if rowvar else np.transpose(m)


@composed(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    return np.clip(c, -1, 1) if c.dtype.kind != "c" else c
