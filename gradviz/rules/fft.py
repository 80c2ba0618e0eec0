"""Derivatives of the Fourier transforms in `numpy.fft`.

A transform is linear, and its adjoint is the transform back with the other normalization, cut or padded to the input's length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.cotangent import zeros
from gradviz.engine.rule import Like, composed, rule

OTHER: dict[Any, Any] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}

ONE_AXIS = "a, n=None, axis=-1, norm=None"
SEVERAL = "a, s=None, axes=None, norm=None"
TWO = "a, s=None, axes=(-2, -1), norm=None"


def resized(ct: Any, shape: tuple[int, ...]) -> Any:
    """``ct`` with each axis cut, or padded with zeros, to ``shape``: the adjoint of the same done the other way round."""
    if ct.shape == shape:
        return ct
    part = tuple(slice(0, min(n, m)) for n, m in zip(ct.shape, shape, strict=True))
    if all(n >= m for n, m in zip(ct.shape, shape, strict=True)):
        return ct[part]
    whole = zeros(Like(shape, ct.dtype), ct)
    whole[part] = ct[part]
    return whole


def fft_to_a(ct, a_like, axis, norm):
    return resized(np.fft.ifft(ct, axis=axis, norm=OTHER[norm]), a_like.shape)


def ifft_to_a(ct, a_like, axis, norm):
    return resized(np.fft.fft(ct, axis=axis, norm=OTHER[norm]), a_like.shape)


def rfft_to_a(ct, a_like, n, axis, norm):
    n = a_like.shape[axis] if n is None else n
    return resized(np.fft.irfft(inner_times(ct, 0.5, n, axis), n, axis, OTHER[norm]), a_like.shape)


def irfft_to_a(ct, a_like, axis, norm):
    made = resized(inner_times(np.fft.rfft(ct, axis=axis, norm=OTHER[norm]), 2.0, ct.shape[axis], axis), a_like.shape)
    return made if a_like.dtype.kind == "c" else np.real(made)


def inner_times(half: Any, factor: float, n: int, axis: int) -> Any:
    """Half a spectrum with those entries scaled that stand for two of the whole one: all but the first, and the last if n is even."""
    made = half * factor
    lead = (slice(None),) * (axis % half.ndim)
    for alone in (0, n // 2) if n % 2 == 0 and n > 0 else (0,):
        made[(*lead, alone)] = half[(*lead, alone)]
    return made


def fftn_to_a(ct, a_like, s, axes, norm):
    return resized(np.fft.ifftn(ct, axes=_axes(ct, s, axes), norm=OTHER[norm]), a_like.shape)


def ifftn_to_a(ct, a_like, s, axes, norm):
    return resized(np.fft.fftn(ct, axes=_axes(ct, s, axes), norm=OTHER[norm]), a_like.shape)


def fft2_to_a(ct, a_like, axes, norm):
    return resized(np.fft.ifftn(ct, axes=axes, norm=OTHER[norm]), a_like.shape)


def ifft2_to_a(ct, a_like, axes, norm):
    return resized(np.fft.fftn(ct, axes=axes, norm=OTHER[norm]), a_like.shape)


def _axes(a: Any, s: Any, axes: Any) -> tuple[int, ...]:
    if axes is not None:
        return tuple(axes)
    return tuple(range(a.ndim)) if s is None else tuple(range(a.ndim - len(s), a.ndim))


rule(np.fft.fft, fft_to_a, signature=ONE_AXIS, linear="each")
rule(np.fft.ifft, ifft_to_a, signature=ONE_AXIS, linear="each")
rule(np.fft.rfft, rfft_to_a, signature=ONE_AXIS, linear="each")
rule(np.fft.irfft, irfft_to_a, signature=ONE_AXIS, linear="each")
rule(np.fft.fftn, fftn_to_a, signature=SEVERAL, linear="each")
rule(np.fft.ifftn, ifftn_to_a, signature=SEVERAL, linear="each")
rule(np.fft.fft2, fft2_to_a, signature=TWO, linear="each")
rule(np.fft.ifft2, ifft2_to_a, signature=TWO, linear="each")


def _real(function: Any, axes: Any, transform: Callable[..., Any]) -> None:
    @composed(function)
    def several(a: Any, s: Any = None, axes: Any = axes, norm: Any = None) -> Any:
        axes = _axes(a, s, axes)
        return transform(
            a, [None] * len(axes) if s is None else [None if n in (None, -1) else int(n) for n in s], axes, norm
        )


def _rfftn(a: Any, s: list[Any], axes: tuple[int, ...], norm: Any) -> Any:
    half = np.fft.rfft(a, s[-1], axes[-1], norm)
    return half if len(axes) == 1 else np.fft.fftn(half, _lengths(half, s, axes), axes[:-1], norm)


def _irfftn(a: Any, s: list[Any], axes: tuple[int, ...], norm: Any) -> Any:
    half = a if len(axes) == 1 else np.fft.ifftn(a, _lengths(a, s, axes), axes[:-1], norm)
    return np.fft.irfft(half, s[-1], axes[-1], norm)


def _lengths(a: Any, s: list[Any], axes: tuple[int, ...]) -> list[int]:
    return [a.shape[axis] if n is None else n for n, axis in zip(s[:-1], axes[:-1], strict=True)]


_real(np.fft.rfftn, None, _rfftn)
_real(np.fft.rfft2, (-2, -1), _rfftn)
_real(np.fft.irfftn, None, _irfftn)
_real(np.fft.irfft2, (-2, -1), _irfftn)


@composed(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.fft.irfft(np.conj(a), n, axis, OTHER[norm])


@composed(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
    return np.conj(np.fft.rfft(a, n, axis, OTHER[norm]))


def _shift(function: Any, sign: int) -> None:
    @composed(function)
    def shift(x: Any, axes: Any = None) -> Any:
        axes = tuple(range(x.ndim)) if axes is None else (axes,) if np.ndim(axes) == 0 else tuple(axes)
        return np.roll(x, tuple(sign * (x.shape[axis] // 2) for axis in axes), axes)


_shift(np.fft.fftshift, 1)
_shift(np.fft.ifftshift, -1)
