import numpy as np
from scipy.special import gammaincc, gammaln, xlogy


def logpmf(k, mu):
    return xlogy(k, mu) - gammaln(k + 1) - mu


def pmf(k, mu):
    return np.exp(logpmf(k, mu))


def cdf(k, mu):
    return gammaincc(np.floor(k) + 1, mu)
