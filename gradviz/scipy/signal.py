"""`scipy.signal` for traced arrays. See `gradviz.rules.scipy.signal` and `spectra` for what has a derivative."""

from __future__ import annotations

from scipy import signal

from gradviz.rules.scipy import signal as rules  # noqa: F401 - fills the table
from gradviz.rules.scipy import spectra  # noqa: F401 - fills the table
from gradviz.scipy.namespace import attribute_of

__getattr__ = attribute_of(signal)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(signal)})
