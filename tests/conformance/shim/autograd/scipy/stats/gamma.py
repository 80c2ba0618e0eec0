import numpy as np
from scipy.special import gammainc, gammaln


def logpdf(x, a):
    return (a - 1) * np.log(x) - x - gammaln(a)


def pdf(x, a):
    return np.exp(logpdf(x, a))


def cdf(x, a):
    return gammainc(a, x)
