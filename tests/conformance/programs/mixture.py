"""gmm: the log posterior of a mixture of Gaussians, with a Wishart prior on the precisions."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tests.conformance.programs.program import Program

COUNT, DIMENSION, PARTS = 60, 4, 3
FREEDOM, GAMMA = 2, 1.5
POINTS = numpy.random.default_rng(5).normal(size=(COUNT, DIMENSION))


def log_gamma_many(a: float, p: int) -> float:
    """Of the multivariate gamma function."""
    return p * (p - 1) / 4 * math.log(math.pi) + sum(math.lgamma(a - j / 2) for j in range(p))


def log_posterior(np: Any, alpha: Any, means: Any, logs: Any, lower: Any) -> Any:
    """
    Each part's precision is Q Qᵀ, with Q lower triangular: exponentials of ``logs`` on the diagonal, ``lower`` below it, by columns.

    alpha: (K,), means and logs: (K, D), lower: (K, D (D - 1) / 2)
    """
    rows, columns = numpy.tril_indices(DIMENSION, -1)
    by_columns = numpy.lexsort((rows, columns))
    place = numpy.zeros((len(rows), DIMENSION, DIMENSION))
    place[numpy.arange(len(rows)), rows[by_columns], columns[by_columns]] = 1.0
    q = np.exp(logs)[:, :, None] * numpy.eye(DIMENSION) + np.einsum("kl,lij->kij", lower, place)

    away = np.einsum("kji,nkj->nki", q, POINTS[:, None, :] - means[None, :, :])
    weighed = alpha + np.sum(logs, axis=1) - 0.5 * np.sum(away**2, axis=-1)
    most = np.max(weighed, axis=1, keepdims=True)
    likelihood = np.sum(np.log(np.sum(np.exp(weighed - most), axis=1)) + most[:, 0])
    shift = np.max(alpha)
    likelihood = likelihood - COUNT * (shift + np.log(np.sum(np.exp(alpha - shift))))

    freedom = DIMENSION + FREEDOM + 1
    prior = FREEDOM * np.sum(logs) - 0.5 * GAMMA**2 * np.sum(q**2)
    scale = freedom * DIMENSION * (math.log(GAMMA) - 0.5 * math.log(2)) - log_gamma_many(freedom / 2, DIMENSION)
    return likelihood - COUNT * DIMENSION / 2 * math.log(2 * math.pi) + prior + PARTS * scale


def parameters() -> tuple[Any, ...]:
    rng = numpy.random.default_rng(6)
    lower = rng.normal(size=(PARTS, DIMENSION * (DIMENSION - 1) // 2))
    return rng.normal(size=PARTS), rng.normal(size=(PARTS, DIMENSION)), 0.3 * rng.normal(size=(PARTS, DIMENSION)), lower


PROGRAMS = (Program("gmm", log_posterior, parameters),)
