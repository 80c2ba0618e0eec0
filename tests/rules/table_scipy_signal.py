"""Entries for `gradviz.rules.scipy.signal` and `integrate`, called as users do, through `gradviz.scipy`."""

from __future__ import annotations

import numpy as np

from gradviz.scipy import integrate, signal
from tests.rules.check import entry, positive, real

MODES = ("full", "same", "valid")


def both(name, f, *args, **options):
    """Host only: CuPy's namesakes are in a module of its own."""
    made = (real(*arg) if isinstance(arg, tuple) else arg for arg in args)
    return entry("scipy." + name, f, *made, **{"is_complex": True, "exact": False, "device": False, **options})


def moded(name, first, second):
    f = getattr(signal, name)
    return [both(f"signal.{name} {mode} {first}", lambda x, y, m=mode: f(x, y, m), first, second) for mode in MODES]


ENTRIES = [
    *moded("convolve", (6,), (3,)),
    *moded("convolve", (3, 4), (2, 3)),
    both("signal.convolve of a longer second", lambda x, y: signal.convolve(x, y, "valid"), (3,), (6,)),
    both("signal.convolve by fft", lambda x, y: signal.convolve(x, y, "same", "fft"), (5,), (4,)),
    *moded("correlate", (6,), (4,)),
    *moded("fftconvolve", (5, 3), (2, 3)),
    *moded("oaconvolve", (6,), (3,)),
    *moded("convolve2d", (4, 5), (2, 3)),
    *moded("correlate2d", (4, 5), (2, 3)),
    *(
        both(
            f"signal.convolve2d {kind} {mode}",
            lambda x, y, k=kind, m=mode: signal.convolve2d(x, y, m, k),
            (4, 5),
            (2, 3),
        )
        for kind in ("wrap", "symm")
        for mode in MODES
    ),
    both("signal.convolve2d filled", lambda x, y: signal.convolve2d(x, y, fillvalue=1.5), (3, 3), (2, 2), single=False),
    both("signal.lfilter", lambda b, a, x: signal.lfilter(b, 0.2 * a + [2, 0, 0], x), (2,), (3,), (2, 5)),
    both("signal.lfilter axis", lambda b, x: signal.lfilter(b, [1.0, 0.3], x, axis=0), (3,), (5, 2), single=False),
    both("signal.detrend", signal.detrend, (2, 6), rtol=1e-5),
    both("signal.detrend pieces", lambda x: signal.detrend(x, 0, bp=[3]), (7, 2), single=False),
    both("signal.detrend constant", lambda x: signal.detrend(x, type="constant"), (2, 6)),
    both("signal.periodogram", lambda x: signal.periodogram(x, 2.0, scaling="spectrum")[1], (7,), single=False),
    both("signal.welch", lambda x: signal.welch(x, nperseg=4, nfft=6)[1], (2, 9), single=False),
    both(
        "signal.csd", lambda x, y: signal.csd(x, y, nperseg=4, detrend=False, axis=0)[1], (8, 2), (8, 2), single=False
    ),
    both(
        "signal.coherence",
        lambda x, y: signal.coherence(x, y, nperseg=4)[1],
        (12,),
        (12,),
        single=False,
        is_complex=False,
    ),
    both(
        "signal.spectrogram",
        lambda x: signal.spectrogram(x, nperseg=4, noverlap=1)[2],
        (8,),
        single=False,
        is_complex=False,
    ),
    both(
        "integrate.trapezoid", lambda y, x: integrate.trapezoid(y, np.cumsum(x)), (2, 5), positive(5), is_complex=False
    ),
    both("integrate.cumulative_trapezoid", lambda y: integrate.cumulative_trapezoid(y, dx=0.3, initial=0), (2, 5)),
    both(
        "integrate.cumulative_trapezoid x",
        lambda y, x: integrate.cumulative_trapezoid(y, np.cumsum(x)),
        (5,),
        positive(5),
        is_complex=False,
    ),
    *(both(f"integrate.simpson {n}", lambda y: integrate.simpson(y, dx=0.3), (2, n), single=False) for n in (5, 6)),
    both(
        "integrate.simpson x",
        lambda y: integrate.simpson(y, x=np.array([0.0, 0.1, 0.5, 0.6]), axis=0),
        (4, 2),
        single=False,
    ),
    both(
        "integrate.cumulative_simpson",
        lambda y: integrate.cumulative_simpson(y, dx=0.3),
        (2, 5),
        is_complex=False,
        single=False,
    ),
    both("integrate.romb", lambda y: integrate.romb(y, dx=0.3), (2, 5), single=False),
]
