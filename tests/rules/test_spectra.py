"""Spectra of traced signals are SciPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal as scipy_signal

import gradviz as gv
from gradviz.scipy import signal

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(2, 3, 23))
OPTIONS = [
    {},
    {"window": "hamming", "detrend": "linear", "fs": 3.0},
    {"detrend": False, "nfft": 31},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["periodogram", "welch", "csd", "coherence", "spectrogram"])
def test_values_are_scipys(name, options):
    signals = (X, Y) if name in ("csd", "coherence") else (X,)
    if name != "periodogram":
        options = {"nperseg": 8, "noverlap": 3, **options}
    theirs = getattr(scipy_signal, name)(*signals, **options)
    ours = []

    def run(*traced):
        frequencies, *_, made = getattr(signal, name)(*traced, **options)
        ours.append(frequencies)
        return made

    made, _ = gv.vjp(run, *signals)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-13)
    np.testing.assert_allclose(made, theirs[-1], rtol=1e-10, atol=1e-13)


def test_an_option_that_is_not_supported_is_named():
    with pytest.raises(NotImplementedError, match="average='median'"):
        gv.vjp(lambda x: signal.welch(x, nperseg=8, average="median")[1], X)
    with pytest.raises(NotImplementedError, match="mode='phase'"):
        gv.vjp(lambda x: signal.spectrogram(x, nperseg=8, mode="phase")[2], X)


def test_a_plain_signal_of_integers_beside_a_traced_one():
    whole = np.arange(20) % 7
    made, _ = gv.vjp(lambda x: signal.csd(whole, x, nperseg=8)[1].real, X[0, :20])
    np.testing.assert_allclose(made, scipy_signal.csd(whole, X[0, :20], nperseg=8)[1].real, rtol=1e-10)
