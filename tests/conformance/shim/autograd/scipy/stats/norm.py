import numpy as np
from scipy.special import log_ndtr, ndtr


def logpdf(x, loc=0.0, scale=1.0):
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)


def pdf(x, loc=0.0, scale=1.0):
    return np.exp(logpdf(x, loc, scale))


def cdf(x, loc=0.0, scale=1.0):
    return ndtr((x - loc) / scale)


def sf(x, loc=0.0, scale=1.0):
    return ndtr((loc - x) / scale)


def logcdf(x, loc=0.0, scale=1.0):
    return log_ndtr((x - loc) / scale)


def logsf(x, loc=0.0, scale=1.0):
    return log_ndtr((loc - x) / scale)
