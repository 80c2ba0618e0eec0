"""Entries for `gradviz.rules.fft`."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.rules.check import entry, real


def transform(name, n=None, norm=None, **options):
    """A transform along one axis, cut or padded to ``n``."""
    f = getattr(np.fft, name)
    return entry(f"{name} n={n} norm={norm}", lambda x: f(x, n, axis=0, norm=norm), real(5, 2), exact=False, **options)


def several(name, shape=(2, 3, 4), **options):
    is_complex = options.pop("is_complex", True)
    text = f"{name} {options}" if options else name
    return entry(text, lambda x: getattr(np.fft, name)(x, **options), real(*shape), exact=False, is_complex=is_complex)


NORMS = (None, "ortho", "forward")

ENTRIES = [
    *(transform(name, n, norm, is_complex=True) for name, n, norm in product(("fft", "ifft"), (None, 3, 7), NORMS)),
    *(transform(name, n, norm) for name, n, norm in product(("rfft", "ihfft"), (None, 4, 7), NORMS)),
    *(
        transform(name, n, norm, is_complex=True)
        for name, n, norm in product(("irfft", "hfft"), (None, 3, 6, 9), NORMS)
    ),
    *(several(name) for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")),
    *(several(name, s=(3, 5), axes=(0, 2), norm="ortho") for name in ("fft2", "fftn", "ifftn", "irfftn")),
    *(several(name, is_complex=False) for name in ("rfft2", "rfftn")),
    several("rfftn", s=(3, 5), axes=(0, 2), norm="forward", is_complex=False),
    several("fftshift"),
    several("fftshift", axes=1),
    several("ifftshift"),
    several("ifftshift", axes=(0, 1)),
]
