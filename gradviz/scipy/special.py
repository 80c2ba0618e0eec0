"""`scipy.special` for traced arrays. See `gradviz.rules.scipy.special` for what has a derivative, and with respect to what."""

from __future__ import annotations

from scipy import special

from gradviz.scipy.namespace import attribute_of

__getattr__ = attribute_of(special)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(special)})
