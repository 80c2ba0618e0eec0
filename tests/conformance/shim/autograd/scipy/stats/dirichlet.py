import numpy as np
from scipy.special import gammaln
from scipy.stats import dirichlet

rvs = dirichlet.rvs


def logpdf(x, alpha):
    return gammaln(np.sum(alpha)) - np.sum(gammaln(alpha)) + np.sum((alpha - 1) * np.log(x))


def pdf(x, alpha):
    return np.exp(logpdf(x, alpha))
