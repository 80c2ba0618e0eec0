"""The distributions of which autograd has derivatives, as programs of NumPy and scipy.special: nothing here knows a derivative."""

from autograd.scipy.stats import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]
