"""Sums and their kin: functions that make one number of many, and running ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.scipy import special
from tests.conformance.twins.twin import twin


def reducing(function: Any) -> Any:
    """A reduction with torch's names of the options; no axes mean all."""

    def reduced(x, dim=None, keepdim=False, *, dtype=None):
        if dim in ((), []):
            dim = None
        x = x if dtype is None else x.astype(dtype)
        return function(x, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim)

    return reduced


def mean(x, axis, keepdims):
    return np.mean(x, axis if np.ndim(x) else None, keepdims=keepdims)


def logsumexp(x, axis, keepdims):
    return special.logsumexp(x, axis, keepdims=keepdims) if np.ndim(x) else special.logsumexp(x)


for name, function in {
    "sum": np.sum, "mean": mean, "amax": np.max, "amin": np.min, "nansum": np.nansum, "nanmean": np.nanmean, "prod": np.prod,
    "logsumexp": logsumexp, "max.reduction_no_dim": np.max, "min.reduction_no_dim": np.min,
}.items():  # fmt: skip
    twin(name)(reducing(function))


def _corrected(function: Any) -> Any:
    def reduced(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):  # the overload var(x, unbiased)
            dim, unbiased = None, dim
        ddof = correction if correction is not None else 1 if unbiased is None else int(unbiased)
        axis = None if dim in ((), [], None) else tuple(dim) if isinstance(dim, (list, tuple)) else dim
        return function(x, axis=axis, keepdims=keepdim, ddof=ddof)

    return reduced


twin("var", "var.unbiased")(_corrected(np.var))
twin("std", "std.unbiased")(_corrected(np.std))


def _with_mean(function: Any) -> Any:
    def both(x, *args, **kwargs):
        def centre(x, axis, keepdims, ddof):
            return np.mean(x, axis=axis, keepdims=keepdims)

        return _corrected(function)(x, *args, **kwargs), _corrected(centre)(x, *args, **kwargs)

    return both


twin("var_mean", "var_mean.unbiased")(_with_mean(np.var))
twin("std_mean", "std_mean.unbiased")(_with_mean(np.std))


@twin("max.reduction_with_dim")
def max_along(x, dim, keepdim=False):
    return np.max(x, axis=dim, keepdims=keepdim)


@twin("min.reduction_with_dim")
def min_along(x, dim, keepdim=False):
    return np.min(x, axis=dim, keepdims=keepdim)


@twin("aminmax")
def aminmax(x, *, dim=None, keepdim=False):
    return np.min(x, axis=dim, keepdims=keepdim), np.max(x, axis=dim, keepdims=keepdim)


twin("cumsum")(lambda x, dim, *, dtype=None: np.cumsum(np.atleast_1d(x), axis=dim).reshape(np.shape(x)))
twin("cumprod")(lambda x, dim, *, dtype=None: np.cumprod(np.atleast_1d(x), axis=dim).reshape(np.shape(x)))
twin("cummax")(lambda x, dim: np.maximum.accumulate(np.atleast_1d(x), axis=dim).reshape(np.shape(x)))
twin("cummin")(lambda x, dim: np.minimum.accumulate(np.atleast_1d(x), axis=dim).reshape(np.shape(x)))
twin("logcumsumexp", real=True)(lambda x, dim: np.logaddexp.accumulate(np.atleast_1d(x), axis=dim).reshape(np.shape(x)))


@twin("diff")
def diff(x, n=1, dim=-1, prepend=None, append=None):
    given = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return np.diff(x, n, axis=dim, **given)


def _quantile(function: Any) -> Any:
    def of(x, q, dim=None, keepdim=False, *, interpolation="linear"):
        return function(x, q, axis=dim if np.ndim(x) else None, keepdims=keepdim, method=interpolation)

    return of


twin("quantile")(_quantile(np.quantile))
twin("nanquantile")(_quantile(np.nanquantile))


@twin("corrcoef")
def corrcoef(x):
    return np.corrcoef(x)


@twin("cov")
def cov(x, *, correction=1, fweights=None, aweights=None):
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


@twin("trapz", "trapezoid")
def trapezoid(y, x=None, dx=1.0, dim=-1):
    return np.trapezoid(y, x, dx, axis=dim)


@twin("cumulative_trapezoid")
def cumulative_trapezoid(y, x=None, dx=1.0, dim=-1):
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x) if np.ndim(x) == 1 else np.diff(np.moveaxis(x, dim, -1), axis=-1)
    return np.moveaxis(np.cumsum(steps * (y[..., 1:] + y[..., :-1]) / 2, axis=-1), -1, dim)


@twin("gradient")
def gradient(x, *, spacing=1, dim=None, edge_order=1):
    axes = tuple(range(np.ndim(x))) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    spacing = 1 if spacing is None else spacing
    spacings = [spacing] * len(axes) if not isinstance(spacing, (list, tuple)) else list(spacing)
    made = np.gradient(x, *spacings, axis=axes, edge_order=edge_order)
    return [made] if len(axes) == 1 else list(made)


def _norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    axis = tuple(dim) if isinstance(dim, list) else dim
    if np.ndim(x) == 0:
        return np.abs(x)
    if p is None or p == "fro":
        p = 2 if axis is None or np.ndim(axis) == 0 or len(axis) != 2 or p is None else "fro"
    if p == "nuc":
        axis = axis or (-2, -1)
        return np.linalg.norm(x, "nuc", axis=axis, keepdims=keepdim)
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdim, ord=2 if p == "fro" else p)


twin("norm", "norm.nuc", "norm.fro", "norm.inf")(_norm)


@twin("linalg.vector_norm")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):  # noqa: A002
    made = np.linalg.vector_norm(
        np.atleast_1d(x),
        axis=tuple(dim) if isinstance(dim, (list, tuple)) else dim,
        keepdims=keepdim and np.ndim(x) > 0,
        ord=ord,
    )
    return np.reshape(made, ()) if np.ndim(x) == 0 else made


@twin("dist")
def dist(x, y, p=2):
    return np.linalg.vector_norm(x - y, ord=p)


def softmax(x, dim=-1, *args, dtype=None, **kwargs):
    x = x if dtype is None else x.astype(dtype)
    return special.softmax(x, axis=dim) if np.size(x) else 1 * x


twin("softmax", "softmax.with_dtype")(softmax)
twin("nn.functional.softmin", "nn.functional.softmin.with_dtype")(
    lambda x, dim=-1, dtype=None: softmax(-x, dim, dtype=dtype)
)


@twin("log_softmax", "log_softmax.with_dtype")
def log_softmax(x, dim=-1, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    return special.log_softmax(x, axis=dim) if np.size(x) else 1 * x


@twin("trace")
def trace(x):
    return np.trace(x)


@twin("median")
def median(x, dim=None, keepdim=False):
    """torch's is the lower of the two in the middle."""
    n = x.size if dim is None else x.shape[dim] if x.ndim else 1
    ordered = np.sort(x.reshape(-1) if dim is None else np.atleast_1d(x), axis=-1 if dim is None else dim)
    picked = np.take(ordered, [(n - 1) // 2], axis=-1 if dim is None else dim)
    return picked[0] if dim is None else picked if keepdim and x.ndim else np.squeeze(picked, axis=dim)


@twin("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    picked = np.take(np.partition(np.atleast_1d(x), k - 1, axis=dim), [k - 1], axis=dim)
    return picked if keepdim and np.ndim(x) else np.squeeze(picked, axis=dim)


@twin("sort")
def sort(x, dim=-1, descending=False, stable=False):
    made = np.sort(np.atleast_1d(x), axis=dim)
    return (np.flip(made, dim) if descending else made).reshape(np.shape(x))


@twin("msort")
def msort(x):
    return np.sort(x, axis=0)


@twin("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):  # noqa: A002
    ordered = np.sort(np.atleast_1d(x), axis=dim)
    ordered = np.flip(ordered, dim) if largest else ordered
    made = np.take(ordered, range(k), axis=dim)
    return made if np.ndim(x) else made[0]


@twin("renorm")
def renorm(x, p, dim, maxnorm):
    axes = tuple(axis for axis in range(np.ndim(x)) if axis != dim % np.ndim(x))
    size = np.linalg.vector_norm(x, axis=axes, keepdims=True, ord=p)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


@twin("nanmedian")
def nanmedian(x, dim=None, keepdim=False):
    return median(x, dim, keepdim)  # the samples hold no NaN


@twin("sum_to_size")
def sum_to_size(x, *shape):
    shape = tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else shape
    lead = np.ndim(x) - len(shape)
    axes = tuple(k for k in range(np.ndim(x)) if k < lead or shape[k - lead] != np.shape(x)[k])
    return np.reshape(np.sum(x, axis=axes), shape)
