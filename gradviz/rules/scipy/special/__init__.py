"""Derivatives of `scipy.special`: ufuncs by their slopes, the rest in terms of them. Numbers such as 10.6.1 are DLMF equations.

SciPy's ufuncs take traced arrays as they are. Its Python functions (`logsumexp`, `softmax`, `polygamma`, ...) read
their arguments first; what they do to traced arrays is entered here, for `gradviz.scipy.special` to use. A parameter without a slope
(the order of a Bessel function) has no derivative in closed form; differentiating with respect to it is an error that names it.

DLMF: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov.
"""

from gradviz.rules.scipy.special import (
    airy,
    bessel,
    distributions,
    elementary,
    elliptic,
    gamma,
    hypergeometric,
    integrals,
    normal,
    polynomials,
    sums,
    waves,
)

__all__ = [
    "airy",
    "bessel",
    "distributions",
    "elementary",
    "elliptic",
    "gamma",
    "hypergeometric",
    "integrals",
    "normal",
    "polynomials",
    "sums",
    "waves",
]
