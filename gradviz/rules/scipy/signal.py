"""Derivatives of `scipy.signal`: convolutions, correlations, linear filters, for `gradviz.scipy.signal` to use.

All of them are linear in the signal. The convolutions are slices of the full one, whose pullback is such a convolution again.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import signal

from gradviz.engine.converting import converting_rule
from gradviz.engine.rule import composed
from gradviz.engine.slope import conj

# ---- the full convolution


def _full_convolution(x: Any, y: Any, method: str) -> Any:
    return signal.convolve(x, y, "full", method)


def convolve_to_x(ct, x_like, y, method):
    return _back(ct, x_like, y, method)


def convolve_to_y(ct, x, y_like, method):
    return _back(ct, y_like, x, method)


def _back(ct: Any, want: Any, other: Any, method: str) -> Any:
    """The part of the convolution with the other one, turned round, where both overlap in full."""
    whole = _full(ct, _turned(other), method)
    return whole[tuple(slice(m - 1, m - 1 + n) for m, n in zip(other.shape, want.shape, strict=True))]


def _turned(x: Any) -> Any:
    return conj(np.flip(x))


_full = converting_rule(_full_convolution, convolve_to_x, convolve_to_y, name="convolve", linear="each")


# ---- its parts


def _part(whole: Any, first: tuple[int, ...], second: tuple[int, ...], mode: str, late: int = 0) -> Any:
    """What ``mode`` leaves of a full convolution of arrays of these shapes; of even ones the middle is early, or late."""
    if mode == "full":
        return whole
    if mode == "same":
        return whole[
            tuple(slice((m - 1 + late) // 2, (m - 1 + late) // 2 + n) for n, m in zip(first, second, strict=True))
        ]
    if mode != "valid":
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    pairs = list(zip(first, second, strict=True))
    if not (all(n >= m for n, m in pairs) or all(m >= n for n, m in pairs)):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    return whole[tuple(slice(min(n, m) - 1, max(n, m)) for n, m in pairs)]


def _convolved(x: Any, y: Any, mode: str, method: str) -> Any:
    return _part(_full(x, y, method), np.shape(x), np.shape(y), mode)


@composed(signal.convolve)
def convolve(in1, in2, mode="full", method="auto"):
    return _convolved(in1, in2, mode, method)


@composed(signal.correlate)
def correlate(in1, in2, mode="full", method="auto"):
    return _convolved(in1, _turned(in2), mode, method)


@composed(signal.fftconvolve)
def fftconvolve(in1, in2, mode="full", axes=None):
    _all_axes(in1, axes)
    return _convolved(in1, in2, mode, "fft")


@composed(signal.oaconvolve)
def oaconvolve(in1, in2, mode="full", axes=None):
    _all_axes(in1, axes)
    return _convolved(in1, in2, mode, "fft")


def _all_axes(x: Any, axes: Any) -> None:
    if axes is not None and sorted(np.atleast_1d(axes) % np.ndim(x)) != list(range(np.ndim(x))):
        raise NotImplementedError("convolutions of traced arrays are along all axes: leave out axes=.")


@composed(signal.convolve2d)
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    return _in_two(in1, in2, mode, boundary, fillvalue, 0)


@composed(signal.correlate2d)
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    return _in_two(in1, _turned(in2), mode, boundary, fillvalue, 1)


def _in_two(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any, late: int) -> Any:
    if boundary == "fill" and fillvalue == 0:
        return _part(_full(in1, in2, "direct"), in1.shape, in2.shape, mode, late)
    kinds = {
        "fill": {"mode": "constant", "constant_values": fillvalue},
        "wrap": {"mode": "wrap"},
        "symm": {"mode": "symmetric"},
    }
    margins = [(m - 1, m - 1) for m in in2.shape]
    whole = _full(np.pad(in1, margins, **kinds[boundary]), in2, "direct")
    shapes = zip(in1.shape, in2.shape, strict=True)
    return _part(whole[tuple(slice(m - 1, 2 * m - 2 + n) for n, m in shapes)], in1.shape, in2.shape, mode, late)


# ---- filters: a[0] y[n] + a[1] y[n-1] + ... = b[0] x[n] + b[1] x[n-1] + ...


def _along_last(b: Any, a: Any, x: Any) -> Any:
    return signal.lfilter(b, a, x)


def lfilter_to_x(ct, b, a):
    """The same filter, backwards in time."""
    return np.flip(_filter(conj(b), conj(a), np.flip(ct, -1)), -1)


def lfilter_to_b(ct, b_like, a, x):
    return _lags(ct, _filter(np.ones(1, x.dtype), a, x), b_like.shape[0])


def lfilter_to_a(ct, a, out):
    return -_lags(ct, _filter(np.ones(1, out.dtype), a, out), a.shape[0])


def _lags(ct: Any, x: Any, count: int) -> Any:
    """For each lag the sum of ``ct`` times the conjugate of ``x`` so much earlier."""
    n = x.shape[-1]
    return np.stack(
        [np.sum(ct[..., k:] * conj(x[..., : n - k])) if k < n else np.sum(ct[..., :0]) for k in range(count)]
    )


_filter = converting_rule(_along_last, lfilter_to_x, lfilter_to_b, lfilter_to_a, name="lfilter")


@composed(signal.lfilter)
def lfilter(b, a, x, axis=-1, zi=None):
    if zi is not None:
        raise NotImplementedError("lfilter of traced arrays starts at rest: leave out zi.")
    b, a = (np.atleast_1d(c) for c in (b, a))
    made = _filter(b, a, np.moveaxis(x, axis, -1))
    return np.moveaxis(made, -1, axis)


# ---- trends


@composed(signal.detrend)
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=False):
    if type in ("constant", "c"):
        return data - np.mean(data, axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = np.moveaxis(data, axis, -1)
    n = x.shape[-1]
    cuts = sorted({0, *np.atleast_1d(bp).tolist(), n})
    parts = []
    for start, stop in itertools.pairwise(cuts):
        line = np.linalg.qr(np.stack([np.ones(stop - start), np.arange(stop - start)], -1))[0].astype(x.dtype)
        part = x[..., start:stop]
        parts.append(part - np.matmul(np.matmul(part, line), line.T))
    return np.moveaxis(np.concatenate(parts, -1), -1, axis)
