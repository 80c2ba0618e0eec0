"""Gamma and beta functions, their incomplete forms, and zeta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from gradviz.engine.rule import composed, no_gradient
from gradviz.engine.slope import slope
from gradviz.rules.scipy.special.number import settled

# ---- gamma, by DLMF 5.2 and 5.15

slope(special.gamma, signature="z", z=lambda z, out: out * special.digamma(z))
slope(special.gammaln, x=lambda x: special.digamma(x))
slope(special.loggamma, signature="z", z=lambda z: special.digamma(z))
slope(special.rgamma, signature="z", z=lambda z, out: -out * special.digamma(z))
slope(special.digamma, signature="z", z=lambda z: _ufuncs._zeta(2.0, z))
slope(_ufuncs._zeta, signature="x, q", q=lambda x, q: -x * _ufuncs._zeta(x + 1, q))
slope(
    special.poch,
    signature="z, m",
    z=lambda z, m, out: out * (special.digamma(z + m) - special.digamma(z)),
    m=lambda z, m, out: out * special.digamma(z + m),
)
slope(
    special.binom,
    signature="n, k",
    n=lambda n, k, out: out * (special.digamma(n + 1) - special.digamma(n - k + 1)),
    k=lambda n, k, out: out * (special.digamma(n - k + 1) - special.digamma(k + 1)),
)
no_gradient(special.gammasgn)

# ---- incomplete gamma (8.8.13)


def gamma_density(a: Any, x: Any) -> Any:
    """Density of the gamma distribution of shape ``a``."""
    return settled(np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a)), a, x)


slope(special.gammainc, signature="a, x", x=gamma_density)
slope(special.gammaincc, signature="a, x", x=lambda a, x: -gamma_density(a, x))
slope(special.gammaincinv, singular=True, signature="a, y", y=lambda a, out: 1 / gamma_density(a, out))
slope(special.gammainccinv, singular=True, signature="a, y", y=lambda a, out: -1 / gamma_density(a, out))

# ---- beta (5.12), incomplete beta (8.17.7)

slope(
    special.beta,
    signature="a, b",
    a=lambda a, b, out: out * (special.digamma(a) - special.digamma(a + b)),
    b=lambda a, b, out: out * (special.digamma(b) - special.digamma(a + b)),
)
slope(
    special.betaln,
    signature="a, b",
    a=lambda a, b: special.digamma(a) - special.digamma(a + b),
    b=lambda a, b: special.digamma(b) - special.digamma(a + b),
)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Density of the beta distribution."""
    return settled(np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b)), a, b, x)


slope(special.betainc, signature="a, b, x", x=beta_density)
slope(special.betaincc, signature="a, b, x", x=lambda a, b, x: -beta_density(a, b, x))
slope(special.betaincinv, singular=True, signature="a, b, y", y=lambda a, b, out: 1 / beta_density(a, b, out))
slope(special.betainccinv, singular=True, signature="a, b, y", y=lambda a, b, out: -1 / beta_density(a, b, out))

# ---- functions that SciPy writes in Python


@composed(special.multigammaln)  # type: ignore[attr-defined]
def multigammaln(a, d):
    constant = d * (d - 1) / 4 * math.log(math.pi)
    return sum(special.gammaln(a - j / 2) for j in range(d)) + constant


@composed(special.polygamma)
def polygamma(n, x):
    if n == 0:
        return special.digamma(x)
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * _ufuncs._zeta(n + 1.0, x)


@composed(special.zeta)
def zeta(x, q=None):
    return _ufuncs._riemann_zeta(x) if q is None else _ufuncs._zeta(x, q)


@composed(special.comb)
def comb(N, k, *, exact=False, repetition=False):
    _refuse_exact(exact, "comb")
    made = special.binom(N + k - 1 if repetition else N, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), made, 0) if not repetition else made


@composed(special.perm)
def perm(N, k, exact=False):
    _refuse_exact(exact, "perm")
    return np.where((k <= N) & (N >= 0) & (k >= 0), special.poch(N - k + 1, k), 0)


@composed(special.factorial)
def factorial(n, exact=False, extend="zero"):
    _refuse_exact(exact, "factorial")
    made = special.gamma(n + 1)
    made = made if np.iscomplexobj(made) else np.astype(made, np.float64)  # as SciPy's is
    return made if extend == "complex" else np.where(n < 0, 0, made)


def _refuse_exact(exact: Any, name: str) -> None:
    if exact:
        raise TypeError(f"scipy.special.{name} with exact=True is a function of integers, which has no derivative.")
