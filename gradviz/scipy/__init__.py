"""SciPy's functions for traced arrays: ``from gradviz.scipy import linalg, special``.

Every function is SciPy's own, so it gives plain arrays for plain ones. SciPy's Python functions turn their arguments into plain arrays at
once, which traced ones refuse; called from here they are differentiated. (The ufuncs of `scipy.special` need nothing: ``special.erf(x)``
works on traced arrays as it is.) What has no derivative yet raises `MissingRuleError`.

Examples
--------
>>> import numpy as np, gradviz as gv
>>> from gradviz.scipy import special
>>> gv.grad(special.logsumexp)(np.zeros(2))
array([0.5, 0.5])
"""

from __future__ import annotations

import importlib
from typing import Any

MODULES = ("integrate", "linalg", "optimize", "signal", "special")


def __getattr__(name: str) -> Any:
    if name in MODULES:  # imported when needed, as SciPy's own are
        return importlib.import_module(f"gradviz.scipy.{name}")
    raise AttributeError(f"module 'gradviz.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})
