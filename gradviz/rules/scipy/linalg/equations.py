"""Matrix equations of Sylvester, Lyapunov and Riccati: the pullback solves the adjoint equation (Kao and Hennequin 2020)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gradviz.engine.converting import converting_rule
from gradviz.engine.rule import composed
from gradviz.rules.products import adjoint


def solve_sylvester_to_q(ct, a, b):
    return _sylvester(adjoint(a), adjoint(b), ct)


def solve_sylvester_to_a(ct_q, out):
    return -np.matmul(ct_q, adjoint(out))


def solve_sylvester_to_b(ct_q, out):
    return -np.matmul(adjoint(out), ct_q)


_sylvester = converting_rule(linalg.solve_sylvester, solve_sylvester_to_q, solve_sylvester_to_a, solve_sylvester_to_b)


@composed(linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a, q):
    return _sylvester(a, adjoint(a), q)


composed(linalg.solve_lyapunov)(solve_continuous_lyapunov)

# ---- X = A X Aᴴ + Q


def solve_discrete_lyapunov_to_q(ct, a):
    return _discrete(adjoint(a), ct)


def solve_discrete_lyapunov_to_a(ct_q, a, out):
    return np.matmul(np.matmul(ct_q, a), adjoint(out)) + np.matmul(np.matmul(adjoint(ct_q), a), out)


_discrete = converting_rule(
    linalg.solve_discrete_lyapunov,
    solve_discrete_lyapunov_to_q,
    solve_discrete_lyapunov_to_a,
    signature="a, q, method=None",
)

# ---- Aᴴ X + X A - X B R⁻¹ Bᴴ X + Q = 0, with K = R⁻¹ Bᴴ X and the closed loop A - B K; X is Hermitian


def solve_continuous_are_to_q(ct, a, b, r, out):
    closed = a - np.matmul(b, np.linalg.solve(r, np.matmul(adjoint(b), out)))
    return solve_continuous_lyapunov(closed, -ct)


def solve_continuous_are_to_a(ct_q, out):
    return np.matmul(out, ct_q + adjoint(ct_q))


def solve_continuous_are_to_b(ct_q, b, r, out):
    gain = np.linalg.solve(r, np.matmul(adjoint(b), out))
    return -np.matmul(np.matmul(out, ct_q + adjoint(ct_q)), adjoint(gain))


def solve_continuous_are_to_r(ct_q, b, r, out):
    gain = np.linalg.solve(r, np.matmul(adjoint(b), out))
    return np.matmul(np.matmul(gain, ct_q), adjoint(gain))


def _continuous(a, b, q, r):
    return linalg.solve_continuous_are(a, b, q, r)


_continuous_are = converting_rule(
    _continuous,
    solve_continuous_are_to_q,
    solve_continuous_are_to_a,
    solve_continuous_are_to_b,
    solve_continuous_are_to_r,
    name="solve_continuous_are",
)


@composed(linalg.solve_continuous_are)
def solve_continuous_are(a, b, q, r, e=None, s=None, balanced=True):
    if e is not None or s is not None:
        raise NotImplementedError("solve_continuous_are of traced arrays takes no e and no s.")
    return _continuous_are(a, b, q, r)


# ---- X = Aᴴ X A - (Aᴴ X B) K + Q, with K = (R + Bᴴ X B)⁻¹ Bᴴ X A


def _gain(a, b, r, x):
    product = np.matmul(adjoint(b), x)
    return np.linalg.solve(r + np.matmul(product, b), np.matmul(product, a))


def solve_discrete_are_to_q(ct, a, b, r, out):
    return _discrete(a - np.matmul(b, _gain(a, b, r, out)), ct)


def solve_discrete_are_to_a(ct_q, a, b, r, out):
    closed = a - np.matmul(b, _gain(a, b, r, out))
    return np.matmul(np.matmul(out, closed), ct_q + adjoint(ct_q))


def solve_discrete_are_to_b(ct_q, a, b, r, out):
    gain = _gain(a, b, r, out)
    closed = a - np.matmul(b, gain)
    return -np.matmul(np.matmul(np.matmul(out, closed), ct_q + adjoint(ct_q)), adjoint(gain))


def solve_discrete_are_to_r(ct_q, a, b, r, out):
    gain = _gain(a, b, r, out)
    return np.matmul(np.matmul(gain, ct_q), adjoint(gain))


def _discrete_riccati(a, b, q, r):
    return linalg.solve_discrete_are(a, b, q, r)


_discrete_are = converting_rule(
    _discrete_riccati,
    solve_discrete_are_to_q,
    solve_discrete_are_to_a,
    solve_discrete_are_to_b,
    solve_discrete_are_to_r,
    name="solve_discrete_are",
)


@composed(linalg.solve_discrete_are)
def solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True):
    if e is not None or s is not None:
        raise NotImplementedError("solve_discrete_are of traced arrays takes no e and no s.")
    return _discrete_are(a, b, q, r)
