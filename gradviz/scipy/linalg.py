"""`scipy.linalg` for traced arrays. See `gradviz.rules.scipy.linalg` for what has a derivative."""

from __future__ import annotations

from scipy import linalg

from gradviz.rules.scipy import linalg as rules  # noqa: F401 - fills the table
from gradviz.scipy.namespace import attribute_of

__getattr__ = attribute_of(linalg)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(linalg)})
