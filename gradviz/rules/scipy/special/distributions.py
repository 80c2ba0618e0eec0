"""Distribution functions and their inverses: the slope is the density, or one over it.

Where an inverse solves ``F(parameter, x) = p`` for a parameter in which F has a slope, its own slopes follow from the implicit function
theorem. Degrees of freedom, shapes and counts have none in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.gamma import beta_density, gamma_density
from gradviz.rules.scipy.special.number import number, settled

# ---- binomial and negative binomial: incomplete beta functions of the probability (26.5.24, 26.5.26)


def _successes(k: Any, n: Any) -> tuple[Any, Any]:
    k = number(np.floor(k), k)
    return k + 1, n - k


slope(special.bdtr, signature="k, n, p", p=lambda k, n, p: -beta_density(*_successes(k, n), p))
slope(special.bdtrc, signature="k, n, p", p=lambda k, n, p: beta_density(*_successes(k, n), p))
slope(special.bdtri, signature="k, n, y", y=lambda k, n, out: -1 / beta_density(*_successes(k, n), out))
slope(special.nbdtr, signature="k, n, p", p=lambda k, n, p: beta_density(n, k + 1, p))
slope(special.nbdtrc, signature="k, n, p", p=lambda k, n, p: -beta_density(n, k + 1, p))
slope(special.nbdtri, signature="k, n, y", y=lambda k, n, out: 1 / beta_density(n, k + 1, out))

# ---- Poisson, χ², gamma: incomplete gamma functions

slope(special.pdtr, signature="k, m", m=lambda k, m: -gamma_density(k + 1, m))
slope(special.pdtrc, signature="k, m", m=lambda k, m: gamma_density(k + 1, m))
slope(special.pdtri, signature="k, y", y=lambda k, out: -1 / gamma_density(k + 1, out))
slope(special.chdtr, signature="v, x", x=lambda v, x: gamma_density(v / 2, x / 2) / 2)
slope(special.chdtrc, signature="v, x", x=lambda v, x: -gamma_density(v / 2, x / 2) / 2)
slope(special.chdtri, singular=True, signature="v, p", p=lambda v, out: -2 / gamma_density(v / 2, out / 2))
slope(
    special.gdtr,
    signature="a, b, x",
    a=lambda a, b, x: x * gamma_density(b, a * x),
    x=lambda a, b, x: a * gamma_density(b, a * x),
)
slope(
    special.gdtrc,
    signature="a, b, x",
    a=lambda a, b, x: -x * gamma_density(b, a * x),
    x=lambda a, b, x: -a * gamma_density(b, a * x),
)
slope(
    special.gdtria,
    signature="p, b, x",
    p=lambda b, x, out: 1 / (x * gamma_density(b, out * x)),
    x=lambda x, out: -out / x,
)
slope(
    special.gdtrix,
    signature="a, b, p",
    a=lambda a, out: -out / a,
    p=lambda a, b, out: 1 / (a * gamma_density(b, a * out)),
)

# ---- F and Student's t


def f_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """``x = dfd q / (dfn (1 - q))`` of a ``q`` that is beta distributed."""
    share = dfn / (dfd + dfn * x)
    return beta_density(dfn / 2, dfd / 2, share * x) * share * dfd / (dfd + dfn * x)


def t_density(df: Any, t: Any) -> Any:
    scale = number(np.exp(-special.betaln(df / 2, 0.5)) / np.sqrt(df), df)
    return scale * (1 + t * t / df) ** (-(df + 1) / 2)


slope(special.fdtr, signature="dfn, dfd, x", x=f_density)
slope(special.fdtrc, signature="dfn, dfd, x", x=lambda dfn, dfd, x: -f_density(dfn, dfd, x))
slope(special.fdtri, singular=True, signature="dfn, dfd, p", p=lambda dfn, dfd, out: 1 / f_density(dfn, dfd, out))
slope(special.stdtr, signature="df, t", t=t_density)
slope(special.stdtrit, singular=True, signature="df, p", p=lambda df, out: 1 / t_density(df, out))

# ---- noncentral χ², F and t: Poisson mixtures of the central ones (Johnson, Kotz, Balakrishnan 1995, chapters 29 to 31)


def noncentral_chi2_density(x: Any, df: Any, nc: Any) -> Any:
    """By the scaled Bessel function, so that nothing overflows."""
    root_x, root_nc = np.sqrt(x), np.sqrt(nc)
    bell = np.exp(-((root_x - root_nc) ** 2) / 2)
    return settled(bell / 2 * (x / nc) ** (df / 4 - 0.5) * special.ive(df / 2 - 1, root_x * root_nc), x, df, nc)


slope(
    special.chndtr,
    signature="x, df, nc",
    x=noncentral_chi2_density,
    nc=lambda x, df, nc: -noncentral_chi2_density(x, df + 2, nc),
)
slope(
    special.chndtrix,
    signature="p, df, nc",
    p=lambda df, nc, out: 1 / noncentral_chi2_density(out, df, nc),
    nc=lambda df, nc, out: noncentral_chi2_density(out, df + 2, nc) / noncentral_chi2_density(out, df, nc),
)
slope(
    special.chndtrinc,
    signature="x, df, p",
    x=lambda x, df, out: noncentral_chi2_density(x, df, out) / noncentral_chi2_density(x, df + 2, out),
    p=lambda x, df, out: -1 / noncentral_chi2_density(x, df + 2, out),
)


def noncentral_f_to_f_slope(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    a, b, q = dfn / 2, dfd / 2, dfn * f / (dfd + dfn * f)
    return settled(f_density(dfn, dfd, f) * np.exp(-nc / 2) * special.hyp1f1(a + b, a, nc * q / 2), dfn, dfd, nc, f)


def noncentral_f_to_nc_slope(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    a, b, q = dfn / 2, dfd / 2, dfn * f / (dfd + dfn * f)
    weight = beta_density(a + 1, b + 1, q) * number(special.beta(a + 1, b + 1) / special.beta(a, b) / a, a, b)
    return settled(-weight / 2 * np.exp(-nc / 2) * special.hyp1f1(a + b, a + 1, nc * q / 2), dfn, dfd, nc, f)


slope(
    special.ncfdtr,
    signature="dfn, dfd, nc, f",
    nc=noncentral_f_to_nc_slope,
    f=noncentral_f_to_f_slope,
)
slope(
    special.ncfdtri,
    signature="dfn, dfd, nc, p",
    nc=lambda dfn, dfd, nc, out: (
        -noncentral_f_to_nc_slope(dfn, dfd, nc, out) / noncentral_f_to_f_slope(dfn, dfd, nc, out)
    ),
    p=lambda dfn, dfd, nc, out: 1 / noncentral_f_to_f_slope(dfn, dfd, nc, out),
)
slope(
    special.ncfdtrinc,
    signature="dfn, dfd, p, f",
    p=lambda dfn, dfd, out, f: 1 / noncentral_f_to_nc_slope(dfn, dfd, out, f),
    f=lambda dfn, dfd, out, f: -noncentral_f_to_f_slope(dfn, dfd, out, f) / noncentral_f_to_nc_slope(dfn, dfd, out, f),
)


def noncentral_t_density(df: Any, nc: Any, t: Any) -> Any:
    """By distribution functions, away from 0, where it is given by gamma functions."""
    away = np.where(t == 0, 1, t)
    stretched = away * number(np.sqrt(1 + 2 / df), df)
    rise = special.nctdtr(df + 2, nc, stretched) - special.nctdtr(df, nc, away)
    at_zero = np.exp(-nc * nc / 2) * number(special.rgamma(df / 2) * special.gamma((df + 1) / 2), df)
    return settled(np.where(t == 0, at_zero / np.sqrt(np.pi * df), rise * df / away), df, nc, t)


slope(special.nctdtr, signature="df, nc, t", t=noncentral_t_density)
slope(special.nctdtrit, signature="df, nc, p", p=lambda df, nc, out: 1 / noncentral_t_density(df, nc, out))

# ---- Tukey's lambda, and Smirnov's


def tukey_to_x_slope(lmbda: Any, out: Any) -> Any:
    return 1 / (out ** (lmbda - 1) + (1 - out) ** (lmbda - 1))


slope(special.tklmbda, signature="x, lmbda", x=tukey_to_x_slope)
slope(special.smirnov, signature="n, d", d=lambda n, d: special._ufuncs._smirnovp(n, d))
slope(special.smirnovi, singular=True, signature="n, p", p=lambda n, out: 1 / special._ufuncs._smirnovp(n, out))
