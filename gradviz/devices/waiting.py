"""Which functions wait to learn how large their result is; CuPy reads a count back, and so does the simulated GPU."""

from __future__ import annotations

SHAPES = frozenset({
    "argwhere", "compress", "delete", "extract", "flatnonzero", "intersect1d", "nonzero", "place", "setdiff1d",
    "setxor1d", "trim_zeros", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
})  # fmt: skip
