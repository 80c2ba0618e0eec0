"""Entries for `gradviz.rules.linalg`, `decompositions` and `norms`.

Complex vectors of decompositions are tested through what does not depend on their phase.
"""

from __future__ import annotations

import numpy as np

from tests.rules.check import entry, real

GENERAL = real(2, 3, 3)


def both(name, f, *args, **options):
    made = (real(*arg) if isinstance(arg, tuple) else arg for arg in args)
    return entry(name, f, *made, **{"is_complex": True, "exact": False, **options})


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(f):
    """A function of Hermitian matrices, given any."""
    return lambda a: f((a + dagger(a)) / 2)


def regular(f):
    """A function of matrices far from singular ones, given any."""
    return lambda a, *rest: f(a * 0.3 + np.triu(np.tril(np.ones_like(a))), *rest)


def rebuilt(h):
    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return (u * h(s)[..., None, :]) @ vh

    return f


def of_eigenvalues(h):
    def f(a):
        w, v = np.linalg.eigh(a)
        return (v * h(w)[..., None, :]) @ dagger(v)

    return f


def projections(vectors):
    return vectors @ dagger(vectors)


def eig_function(a):
    w, v = np.linalg.eig(a)
    return np.real((v * np.exp(w)[..., None, :]) @ np.linalg.inv(v))


def qr_complete(a):
    q, r = np.linalg.qr(a, "complete")
    return q[:, :3], projections(q[:, 3:]), r


def svd_full(a):
    u, s, vh = np.linalg.svd(a)
    return projections(u[:, 3:]), projections(u[:, :2]), s, projections(dagger(vh))


ENTRIES = [
    # systems
    both("solve", regular(np.linalg.solve), GENERAL, (2, 3, 2)),
    both("solve a vector", regular(np.linalg.solve), GENERAL, (3,)),
    both("solve with one matrix", regular(np.linalg.solve), (3, 3), (2, 3, 2)),
    both("solve one side", regular(np.linalg.solve), GENERAL, (3, 2)),
    both("inv", regular(np.linalg.inv), GENERAL),
    both("pinv", np.linalg.pinv, (2, 4, 3)),
    both("pinv wide", np.linalg.pinv, (2, 3)),
    both("pinv of rank 1", lambda a, b: np.linalg.pinv(a[:, None] * b), (3,), (4,), order=1, rtol=1e-5, single=False),
    both("det", np.linalg.det, GENERAL),
    both("slogdet", lambda a: np.linalg.slogdet(a)[1], GENERAL),
    both("slogdet and sign", lambda a: tuple(np.linalg.slogdet(a)), GENERAL),
    both("lstsq", lambda a, b: np.linalg.lstsq(a, b)[:2], (5, 3), (5, 2)),
    both("lstsq a vector", lambda a, b: np.linalg.lstsq(a, b)[0], (5, 3), (5,)),
    both("lstsq wide", lambda a, b: np.linalg.lstsq(a, b)[0], (3, 5), (3,)),
    *(
        both(f"matrix_power {n}", regular(lambda a, n=n: np.linalg.matrix_power(a, n)), GENERAL)
        for n in (1, 2, 5, -1, -2)
    ),
    both("tensorsolve", np.linalg.tensorsolve, (2, 3, 6), (2, 3)),
    both("tensorsolve axes", lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), (6, 2, 3), (2, 3)),
    both("tensorinv", np.linalg.tensorinv, (2, 3, 6)),
    both("tensorinv 1", lambda a: np.linalg.tensorinv(a, 1), (6, 2, 3)),
    both("lstsq and singular values", lambda a, b: np.linalg.lstsq(a, b)[::3], (5, 3), (5, 2)),
    both("pinv hermitian", hermitian(lambda a: np.linalg.pinv(a, hermitian=True)), GENERAL, device=False),
    # decompositions
    both(
        "cholesky",
        lambda a: np.linalg.cholesky(a @ dagger(a) + np.sum(np.abs(a) ** 2) * np.eye(3)),
        GENERAL,
        device=False,
    ),
    both("cholesky upper", lambda a: np.linalg.cholesky(a @ dagger(a), upper=True), (3, 5)),
    both("qr", np.linalg.qr, (2, 4, 3)),
    both("qr square", np.linalg.qr, GENERAL),
    both("qr wide", np.linalg.qr, (2, 2, 4)),
    both("qr r", lambda a: np.linalg.qr(a, "r"), (4, 3)),
    both("qr complete", qr_complete, (5, 3)),
    both("qr complete wide", lambda a: np.linalg.qr(a, "complete"), (2, 3, 5)),
    both("eigvalsh", hermitian(np.linalg.eigvalsh), GENERAL),
    both("eigh", hermitian(np.linalg.eigh), GENERAL, is_complex=False),
    both("eigh of the upper half", hermitian(lambda a: np.linalg.eigh(a, "U")), GENERAL, is_complex=False),
    both("eigh function", hermitian(of_eigenvalues(np.exp)), GENERAL),
    both("eigh projection", hermitian(lambda a: projections(np.linalg.eigh(a)[1][..., :1])), GENERAL),
    both("eigvals", lambda a: np.abs(np.linalg.eigvals(a)), GENERAL, single=False, device=False),
    both("eig vectors", lambda a: np.abs(np.linalg.eig(a)[1]), GENERAL, single=False, device=False, rtol=1e-5),
    both("eig function", eig_function, GENERAL, single=False, device=False, rtol=1e-5),
    both("svd", lambda a: np.linalg.svd(a, full_matrices=False), (2, 4, 3), is_complex=False),
    both("svd wide", lambda a: np.linalg.svd(a, full_matrices=False), (2, 3, 4), is_complex=False),
    both("svd function", rebuilt(np.sin), (2, 4, 3)),
    both("svd function wide", rebuilt(np.sin), (3, 4)),
    both("svd full", svd_full, (5, 3)),
    both("svd full wide", lambda a: projections(dagger(np.linalg.svd(a)[2])[..., 3:]), (3, 5)),
    both("svd hermitian", hermitian(lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True)), GENERAL),
    both("svdvals", np.linalg.svdvals, (2, 4, 3)),
    *(
        both(f"cond {p}", lambda a, p=p: np.linalg.cond(a, p), GENERAL, rtol=1e-5)
        for p in (None, 2, -2, 1, -1, "fro", "nuc", np.inf, -np.inf)
    ),
    # norms
    both("norm", np.linalg.norm, (2, 3, 2)),
    both("norm axis", lambda x: np.linalg.norm(x, axis=1, keepdims=True), (2, 3)),
    *(
        both(f"norm of vectors {o}", lambda x, o=o: np.linalg.norm(x, o, axis=0), (3, 2))
        for o in (1, 2, 3, 0.5, -1, np.inf, -np.inf)
    ),
    *(
        both(f"norm of matrices {o}", lambda x, o=o: np.linalg.norm(x, o, axis=(2, 0), keepdims=True), (3, 2, 3))
        for o in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ),
    both("vector_norm", lambda x: np.linalg.vector_norm(x, ord=3), (2, 3, 2)),
    both("vector_norm axes", lambda x: np.linalg.vector_norm(x, axis=(0, 2), keepdims=True), (2, 3, 2)),
    *(
        both(f"matrix_norm {o}", lambda x, o=o: np.linalg.matrix_norm(x, ord=o), (2, 3, 4))
        for o in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ),
]
