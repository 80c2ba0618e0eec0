import numpy as np


def logpdf(x, mean, cov, allow_singular=False):
    from_mean = x - mean
    if allow_singular:  # on the plane where the density lives
        solved = np.matmul(from_mean, np.linalg.pinv(cov))
        variances = np.linalg.eigvalsh(cov)
        rank, logdet = np.sum(variances > 1e-10), np.sum(np.log(variances[variances > 1e-10]))
    else:
        solved = np.linalg.solve(cov, from_mean.T).T
        rank, logdet = cov.shape[0], np.linalg.slogdet(cov)[1]
    return -0.5 * (rank * np.log(2 * np.pi) + logdet + np.sum(from_mean * solved, axis=-1))


def pdf(x, mean, cov, allow_singular=False):
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean, cov):
    return 0.5 * (np.shape(mean)[0] * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(cov)[1])
