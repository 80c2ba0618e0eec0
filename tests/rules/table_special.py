"""Entries for `gradviz.rules.special`."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from gradviz import Array
from gradviz.engine.rule import COMPOSED
from tests.rules.check import Real, entry, positive, real

unit = real(2, 3, low=0.1, high=0.9)
both_signs = real(2, 3)


def scipy(name: str, *args, **options):
    """Host only: CuPy has these functions in a module of its own."""
    return entry("special." + name, traceable(getattr(special, name)), *args, device=False, **options)


def traceable(function):
    """SciPy's ufuncs take traced arrays; its Python functions do not, so there our definition answers for them."""
    if isinstance(function, np.ufunc):
        return function
    ours = COMPOSED[function]
    return lambda *xs, **options: (ours if any(isinstance(x, Array) for x in xs) else function)(*xs, **options)


def elementwise(name: str, *args: Real, **options):
    return scipy(name, *args, elementwise=True, **options)


ENTRIES = [
    *(
        elementwise(name, both_signs, is_complex=name in ("erf", "erfc", "wofz"))
        for name in ("erf", "erfc", "erfi", "erfcx", "dawsn", "ndtr", "log_ndtr")
    ),
    *(
        elementwise(name, both_signs)
        for name in ("expit", "log_expit", "exprel", "cosm1", "j0", "j1", "i0", "i1", "i0e", "i1e")
    ),
    *(elementwise(name, unit) for name in ("erfinv", "erfcinv", "ndtri", "logit", "ellipk", "ellipe", "entr")),
    *(
        elementwise(name, positive(2, 3))
        for name in (
            "gamma",
            "gammaln",
            "loggamma",
            "rgamma",
            "digamma",
            "y0",
            "y1",
            "k0",
            "k1",
            "k0e",
            "k1e",
            "exp1",
            "expi",
            "spence",
        )
    ),
    *(
        elementwise(name, positive(2, 3), positive(2, 3))
        for name in ("beta", "betaln", "poch", "binom", "xlogy", "xlog1py", "rel_entr", "kl_div")
    ),
    elementwise("owens_t", both_signs, both_signs),
    *(scipy(name, positive(2, 3), positive(2, 3)) for name in ("boxcox", "boxcox1p")),
    *(
        scipy(name, 1.5, positive(2, 3))
        for name in ("gammainc", "gammaincc", "jv", "yv", "iv", "kv", "ive", "kve", "hyp0f1", "huber", "pseudo_huber")
    ),
    scipy("yn", 2, positive(2, 3)),
    scipy("zeta", 2.5, positive(2, 3)),
    elementwise("wofz", both_signs, is_complex=True),
    scipy("expn", 3, positive(2, 3), order=1),
    scipy("inv_boxcox", unit, 0.7),
    scipy("betainc", 1.5, 2.5, unit),
    scipy("hyp1f1", 1.5, 2.5, unit),
    scipy("hyp2f1", 1.5, 0.5, 2.5, unit),
    *(
        entry(
            f"special.polygamma {n}",
            partial(traceable(special.polygamma), n),
            positive(2, 3),
            single=False,
            device=False,
        )
        for n in (0, 1, 3)
    ),
    scipy("multigammaln", real(3, low=2, high=4), 3, exact=False, single=False),
    scipy("logsumexp", real(2, 3), exact=False, is_complex=True),
    scipy("softmax", real(2, 3), exact=False),
    scipy("log_softmax", real(2, 3), exact=False),
    entry(
        "special.logsumexp, weighted",
        lambda a, b: traceable(special.logsumexp)(a, axis=1, b=b),
        real(2, 3),
        positive(3),
        device=False,
        exact=False,
    ),
    entry("i0", np.i0, real(2, 3), single=False, device=False),
]
