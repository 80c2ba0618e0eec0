"""autograd's convolution over chosen axes, with sums over others, as a program of slices and products."""

import itertools

import numpy as np


def convolve(A, B, axes=None, dot_axes=((), ()), mode="full"):
    """The result's axes: those of A that take no part, those of B, and the convolved ones."""
    convolved = axes or (range(np.ndim(A)), range(np.ndim(B)))
    (A, free_A), (B, free_B) = (
        _ordered(x, dot, conv) for x, dot, conv in zip((A, B), dot_axes, convolved, strict=True)
    )
    rank, dots = len(convolved[0]), len(dot_axes[0])
    sizes_A, sizes_B = A.shape[free_A + dots :], B.shape[free_B + dots :]
    padded = np.pad(A, [(0, 0)] * (free_A + dots) + [(n - 1, n - 1) for n in sizes_B])
    full = 0.0
    for offsets in itertools.product(*map(range, sizes_B)):
        window = tuple(slice(n - 1 - k, 2 * n - 2 - k + m) for k, n, m in zip(offsets, sizes_B, sizes_A, strict=True))
        over = list(range(free_A, free_A + dots)), list(range(free_B, free_B + dots))
        full = full + np.tensordot(padded[(..., *window)], B[(..., *offsets)], axes=over)
    full = np.moveaxis(full, range(free_A, free_A + rank), range(-rank, 0)) if rank else full
    kept = [_kept(mode, m, n) for m, n in zip(sizes_A, sizes_B, strict=True)]
    return full[(..., *(slice(start, start + size) for start, size in kept))]


def _ordered(x, dot, conv):
    """Free axes first, then those summed over, then the convolved ones; and how many are free."""
    free = [axis for axis in range(np.ndim(x)) if axis not in dot and axis not in conv]
    return np.transpose(x, [*free, *dot, *conv]), len(free)


def _kept(mode, m, n):
    if mode == "full":
        return 0, m + n - 1
    return ((n - 1) // 2, m) if mode == "same" else (min(m, n) - 1, abs(m - n) + 1)
