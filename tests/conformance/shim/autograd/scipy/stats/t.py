import numpy as np
from scipy.special import betainc, gammaln


def logpdf(x, df, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(np.pi * df) - np.log(scale)
    return constant - (df + 1) / 2 * np.log1p(z**2 / df)


def pdf(x, df, loc=0.0, scale=1.0):
    return np.exp(logpdf(x, df, loc, scale))


def cdf(x, df, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    tail = 0.5 * betainc(df / 2, 0.5, df / (df + z**2))
    return np.where(z > 0, 1 - tail, tail)


def logcdf(x, df, loc=0.0, scale=1.0):
    return np.log(cdf(x, df, loc, scale))
