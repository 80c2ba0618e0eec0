import numpy as np
from scipy.special import betainc, betaln


def logpdf(x, a, b):
    return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b)


def pdf(x, a, b):
    return np.exp(logpdf(x, a, b))


def cdf(x, a, b):
    return betainc(a, b, x)
