"""Derivatives of histograms: their bins hold sums of weights, and bins that follow the data move with its extremes.

Counts are constant in the data. Which bin an entry falls into is constant too, wherever it is smooth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import bottom
from gradviz.engine.call import below, call_without_gradient
from gradviz.engine.rule import composed
from gradviz.rules.joining import gathered


@composed(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    counts = call_without_gradient(np.bincount, (x, None, minlength), {})
    return counts if weights is None else sums_in(x, weights, counts.shape[0], float)


def sums_in(numbers: Any, weights: Any, length: int, dtype: Any) -> Any:
    """The weights added up in bins with these numbers."""
    sums = np.zeros(length, dtype, like=weights)
    np.add.at(sums, numbers, weights)
    return sums


def numbers_of(a: Any, edges: Any) -> Any:
    """The bin that each entry falls into; -1 before the first, and their count behind the last. The last edge belongs to its bin."""
    return np.where(a == edges[-1], len(edges) - 2, np.searchsorted(edges, a, side="right") - 1)


def is_sequence(bins: Any) -> bool:
    return not isinstance(bins, str) and np.ndim(bins) == 1


def limits(range: Any) -> Any:
    """As numbers: NumPy takes no 0-d arrays."""
    return None if range is None else tuple(np.asarray(bottom(limit))[()] for limit in range)


@composed(np.histogram_bin_edges)
def histogram_bin_edges(a, bins: Any = 10, range: Any = None, weights=None):
    """Evenly spaced ones end at the range, or at the smallest and the largest entry, and move with them."""
    plain = np.histogram_bin_edges(bottom(a), below(bins, 0), limits(range), bottom(weights))
    return edges_of(a, bins, range, plain)


def edges_of(a: Any, bins: Any, range: Any, plain: Any) -> Any:
    """The edges as functions of what they were computed from, given their values."""
    if is_sequence(bins):
        return gathered(bins)
    if range is not None:
        low, high = range
    elif not np.size(a):
        return plain
    else:
        low, high = np.min(a), np.max(a)
    if bottom(low) == bottom(high):
        low, high = low - 0.5, high + 0.5
    return np.astype(np.linspace(low, high, len(plain)), plain.dtype, copy=False)


@composed(np.histogram)
def histogram(a, bins: Any = 10, range: Any = None, density=None, weights=None):
    counts, plain = np.histogram(bottom(a), below(bins, 0), limits(range), weights=bottom(weights))
    edges = edges_of(a, bins, range, plain)
    sums = counts
    if weights is not None:
        sums = binned(numbers_of(np.ravel(bottom(a)), plain), np.ravel(weights), len(plain) - 1)
    return (sums / np.diff(edges) / np.sum(sums) if density else sums), edges


def binned(numbers: Any, weights: Any, length: int) -> Any:
    """The sums of those weights that fall into a bin at all."""
    inside = np.flatnonzero((numbers >= 0) & (numbers < length))
    return sums_in(numbers[inside], weights[inside], length, weights.dtype)


@composed(np.histogramdd)
def histogramdd(sample, bins: Any = 10, range: Any = None, density=None, weights=None):
    columns = list(np.transpose(sample)) if hasattr(sample, "shape") else [gathered(column) for column in sample]
    if columns and not np.ndim(columns[0]):
        columns = [np.stack(columns)]  # a single column
    several = hasattr(bins, "__len__")
    counts, plain = np.histogramdd(
        [bottom(column) for column in columns],
        below(list(bins), 0) if several else bins,
        None if range is None else [limits(pair) for pair in range],
    )
    per_axis = [
        (column, bins[k] if several else bins, None if range is None else range[k], plain[k])
        for k, column in enumerate(columns)
    ]
    edges = tuple(edges_of(*each) for each in per_axis)
    sums = counts
    if weights is not None:
        numbers = [numbers_of(bottom(column), edge) for column, edge in zip(columns, plain, strict=True)]
        inside = np.logical_and.reduce([(k >= 0) & (k < n) for k, n in zip(numbers, counts.shape, strict=True)])
        flat = np.ravel_multi_index([np.where(inside, k, 0) for k in numbers], counts.shape)
        made = binned(np.where(inside, flat, -1), np.ravel(weights), counts.size)
        sums = np.reshape(np.astype(made, float, copy=False), counts.shape)
    return (as_density(sums, edges) if density else sums), edges


def as_density(sums: Any, edges: tuple[Any, ...]) -> Any:
    total = np.sum(sums)
    for k, edge in enumerate(edges):
        sums = sums / np.reshape(np.diff(edge), [-1 if k == i else 1 for i in range(len(edges))])
    return sums / total


@composed(np.histogram2d)
def histogram2d(x, y, bins: Any = 10, range: Any = None, density=None, weights=None):
    if np.shape(x)[0] != np.shape(y)[0]:
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    sums, edges = histogramdd([x, y], bins, range, density, weights)
    return sums, *edges
