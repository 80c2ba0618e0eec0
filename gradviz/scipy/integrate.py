"""`scipy.integrate` for traced arrays. See `gradviz.rules.scipy.integrate` for what has a derivative."""

from __future__ import annotations

from scipy import integrate

from gradviz.rules.scipy import integrate as rules  # noqa: F401 - fills the table
from gradviz.scipy.namespace import attribute_of

__getattr__ = attribute_of(integrate)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(integrate)})
