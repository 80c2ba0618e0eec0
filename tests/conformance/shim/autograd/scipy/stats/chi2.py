import numpy as np

from autograd.scipy.stats import gamma


def logpdf(x, df):
    return gamma.logpdf(x / 2, df / 2) - np.log(2.0)


def pdf(x, df):
    return np.exp(logpdf(x, df))


def cdf(x, df):
    return gamma.cdf(x / 2, df / 2)
