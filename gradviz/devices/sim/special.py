"""Of the ufuncs of `scipy.special`, which does CuPy have, and which of them take complex numbers: by name.

Of `cupyx.scipy.special` in CuPy 14.2, where NumPy's protocol finds them by name; held against the wheels by
``tests/devices/cuda/test_signatures.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.errors import UnsupportedOnDeviceError

UFUNCS = frozenset({
    "bdtr", "bdtrc", "bdtri", "beta", "betainc", "betaincinv", "betaln", "binom", "boxcox", "boxcox1p", "cbrt",
    "chdtr", "chdtrc", "chdtri", "cosdg", "cosm1", "cotdg", "digamma", "ellipeinc", "ellipj", "ellipk", "ellipkinc",
    "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1", "exp10", "exp2", "expi", "expit",
    "expm1", "expn", "exprel", "fdtr", "fdtrc", "fdtri", "gamma", "gammainc", "gammaincc", "gammainccinv",
    "gammaincinv", "gammaln", "gammasgn", "gdtr", "gdtrc", "huber", "i0", "i0e", "i1", "i1e", "inv_boxcox",
    "inv_boxcox1p", "j0", "j1", "k0", "k0e", "k1", "k1e", "kl_div", "log1p", "log_expit", "log_ndtr", "loggamma",
    "logit", "lpmv", "nbdtr", "nbdtrc", "nbdtri", "ndtr", "ndtri", "pdtr", "pdtrc", "pdtri", "poch", "pseudo_huber",
    "psi", "radian", "rel_entr", "rgamma", "round", "shichi", "sici", "sindg", "tandg", "wright_bessel", "xlog1py",
    "xlogy", "y0", "y1", "yn", "zetac",
})  # fmt: skip
COMPLEX = frozenset({
    "digamma", "expm1", "exprel", "gamma", "log1p", "loggamma", "psi", "rgamma", "shichi", "sici", "xlog1py", "xlogy",
})  # fmt: skip


def check_special(name: str, inputs: tuple[Any, ...]) -> None:
    """Refuse a ufunc of SciPy that CuPy lacks, or has for real numbers only."""
    if name not in UFUNCS:
        raise UnsupportedOnDeviceError(f"CuPy has no scipy.special.{name}.")
    if name not in COMPLEX and any(np.iscomplexobj(getattr(value, "_host", value)) for value in inputs):
        raise UnsupportedOnDeviceError(f"CuPy's {name} takes real numbers only.")
