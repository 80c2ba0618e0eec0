"""Derivatives of `scipy.signal`'s spectra, as compositions: segments, trend, window, FFT, squares, mean.

The formulas are those of Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Trans. Audio 15 (1967).
Complex signals give two-sided spectra. Frequencies and times are plain arrays. Options that are not supported raise
`NotImplementedError` with their name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from gradviz.engine.rule import composed
from gradviz.engine.slope import conj
from gradviz.rules.scipy.signal import detrend as without_trend


class Segments:
    """How signals of ``size`` samples are cut, windowed and scaled."""

    def __init__(
        self, size: int, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, scaling: str, one: bool, part=2
    ) -> None:
        named = isinstance(window, str | tuple)
        length = min(256 if nperseg is None else int(nperseg), size) if named else len(window)
        if length > size or (nperseg is not None and not named and nperseg != length):
            raise ValueError("window must be as long as nperseg, and no longer than the signal")
        self.length, self.fs, self.one = length, fs, one
        self.window = np.asarray(signal.get_window(window, length) if named else window)
        overlap = length // part if noverlap is None else int(noverlap)
        self.nfft = length if nfft is None else int(nfft)
        if overlap >= length or self.nfft < length:
            raise ValueError("noverlap must be less than nperseg, and nfft no less")
        if scaling not in ("density", "spectrum"):
            raise ValueError(f"scaling is 'density' or 'spectrum', not {scaling!r}")
        squares = fs * np.sum(self.window**2) if scaling == "density" else np.sum(self.window) ** 2
        self.scale, self.step = 1 / squares, length - overlap
        self.starts = np.arange(0, size - length + 1, self.step)

    def frequencies(self) -> Any:
        """In units of ``fs``, shape (frequencies,)."""
        return (np.fft.rfftfreq if self.one else np.fft.fftfreq)(self.nfft, 1 / self.fs)

    def transformed(self, x: Any, trend: Any) -> Any:
        """The FFT of every segment of the last axis: shape (..., segments, frequencies)."""
        cut = x[..., self.starts[:, None] + np.arange(self.length)]
        if trend:
            if callable(trend):
                raise NotImplementedError("spectra of traced arrays: detrend is False or a name, not a function.")
            cut = without_trend(cut, type=trend)
        return (np.fft.rfft if self.one else np.fft.fft)(cut * self.window.astype(_precision(x)), self.nfft)

    def power(self, x: Any, y: Any, trend: Any) -> Any:
        """The cross spectrum of every segment; frequencies that stand for two count twice."""
        weight = np.full(len(self.frequencies()), self.scale)
        if self.one:
            weight[1 : None if self.nfft % 2 else -1] *= 2
        first = self.transformed(x, trend)
        if x is y:
            return (first.real**2 + first.imag**2) * weight.astype(_precision(x))
        return conj(first) * self.transformed(y, trend) * weight.astype(_precision(x))


def _precision(x: Any) -> Any:
    """Of the real numbers that go with ``x``, double for integers."""
    return np.finfo(np.result_type(x.dtype, np.float32)).dtype


def _one(wanted: bool, *signals: Any) -> bool:
    return wanted and not any(np.iscomplexobj(x) for x in signals)


@composed(signal.csd)
def csd(
    x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", return_onesided=True,
    scaling="density", axis=-1, average="mean",
):  # fmt: skip
    if average != "mean":
        raise NotImplementedError(
            f"spectra of traced arrays are means of segments: average={average!r} is not supported."
        )
    same = x is y
    x = np.moveaxis(x, axis, -1)
    y = x if same else np.moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise NotImplementedError("cross spectra of traced arrays need x and y of the same length.")
    cut = Segments(x.shape[-1], fs, window, nperseg, noverlap, nfft, scaling, _one(return_onesided, x, y))
    return cut.frequencies(), np.moveaxis(np.mean(cut.power(x, y, detrend), -2), -1, axis)


@composed(signal.welch)
def welch(x, *args, **options):
    return csd(x, x, *args, **options)


@composed(signal.periodogram)
def periodogram(
    x, fs=1.0, window="boxcar", nfft=None, detrend="constant", return_onesided=True, scaling="density", axis=-1
):
    size = np.shape(x)[axis]
    if nfft is not None and nfft < size:
        raise NotImplementedError("periodograms of traced arrays need nfft no less than the signal's length.")
    window = "boxcar" if window is None else window
    return csd(x, x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)


@composed(signal.coherence)
def coherence(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant", axis=-1):
    cut = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    f, both = csd(x, y, *cut)
    if np.iscomplexobj(x) != np.iscomplexobj(y):
        raise NotImplementedError("coherence of traced arrays needs x and y both real or both complex.")
    return f, (both.real**2 + both.imag**2) / welch(x, *cut)[1] / welch(y, *cut)[1]


@composed(signal.spectrogram)
def spectrogram(
    x, fs=1.0, window=("tukey", 0.25), nperseg=None, noverlap=None, nfft=None, detrend="constant",
    return_onesided=True, scaling="density", axis=-1, mode="psd",
):  # fmt: skip
    if mode != "psd" or axis not in (-1, np.ndim(x) - 1):
        raise NotImplementedError(f"spectrograms of traced arrays: mode={mode!r} with axis={axis} is not supported.")
    cut = Segments(x.shape[-1], fs, window, nperseg, noverlap, nfft, scaling, _one(return_onesided, x), 8)
    times = (cut.starts + cut.length / 2) / fs
    return cut.frequencies(), times, np.swapaxes(cut.power(x, x, detrend), -1, -2)
