"""Entries for `gradviz.rules.scipy.linalg`, called as users do, through `gradviz.scipy.linalg`."""

from __future__ import annotations

import numpy as np

from gradviz.scipy import linalg
from tests.rules.check import entry, real
from tests.rules.table_linalg import dagger, hermitian, projections

SQUARE = (3, 3)
STACK = (2, 3, 3)


def both(name, f, *shapes, **options):
    """Host only: CuPy's namesakes are in a module of its own."""
    options = {"is_complex": True, "exact": False, "device": False, **options}
    return entry("scipy.linalg." + name, f, *(real(*shape) for shape in shapes), **options)


def regular(f):
    """A function of matrices far from singular ones, whose eigenvalues are positive and apart, given any."""
    return lambda a, *rest: f(0.1 * a + np.diag([1.0, 2.0, 3.0]), *rest)


def definite(a):
    return a @ dagger(a) + 0.5 * np.eye(a.shape[-1]).astype(a.dtype)


def pair(f):
    """Both parts of a tuple of two."""
    return lambda *args: tuple(f(*args))


def sizes(w, v):
    """Eigenvectors without their signs, which SciPy chooses anew at the slightest change."""
    return w, np.abs(v) ** 2


def banded(a):
    return np.concatenate([0.2 * a[:1], 4 + 0.2 * a[1:2], 0.2 * a[2:]])


def by_cholesky(lower):
    return lambda a, b: linalg.cho_solve(linalg.cho_factor(definite(a), lower), b)


def by_lu(trans):
    return lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans)


SYSTEMS = [
    both("inv", regular(linalg.inv), STACK),
    both("det", linalg.det, STACK, single=False),
    both("norm", lambda a: linalg.norm(a, 1), SQUARE, single=False),
    both("pinv", linalg.pinv, (4, 3), single=False),
    both("pinv and rank", lambda a: linalg.pinv(a, return_rank=True)[0], (3, 4)),
    both("pinvh", lambda a: linalg.pinvh(definite(a)), SQUARE),
    both("lstsq", lambda a, b: linalg.lstsq(a, b)[:2], (5, 3), (5, 2)),
    both("lstsq of a vector", lambda a, b: linalg.lstsq(a, b)[:2], (5, 3), (5,)),
    both("solve", linalg.solve, SQUARE, (3, 2)),
    *(
        both(f"solve {kind}", lambda a, b, kind=kind: linalg.solve(definite(a), b, assume_a=kind), SQUARE, (3,))
        for kind in ("her", "pos", "upper triangular", "lower triangular", "diagonal")
    ),
    both("solve symmetric", lambda a, b: linalg.solve(a + a.T, b, assume_a="sym", lower=True), SQUARE, (3,)),
    both("solve transposed", lambda a, b: linalg.solve(a, b, transposed=True), SQUARE, (3,), is_complex=False),
    *(
        both(
            f"solve_triangular {trans} {lower}",
            lambda a, b, trans=trans, lower=lower: linalg.solve_triangular(a, b, trans, lower),
            SQUARE,
            (3, 2),
        )
        for trans in (0, "T", 2)
        for lower in (False, True)
    ),
    both("solve_triangular of a vector", lambda a, b: linalg.solve_triangular(a, b, unit_diagonal=True), SQUARE, (3,)),
    both("solve_triangular of stacks", linalg.solve_triangular, STACK, (2, 3, 2)),
    both("cho_solve", by_cholesky(False), SQUARE, (3, 2)),
    both("cho_solve lower", by_cholesky(True), SQUARE, (3,)),
    both("solve_banded", lambda a, b: linalg.solve_banded((1, 2), np.concatenate([a[:1], banded(a)]), b), (3, 5), (5,)),
    both("solve_banded of columns", lambda a, b: linalg.solve_banded((1, 1), banded(a), b), (3, 5), (5, 2)),
    both(
        "solveh_banded",
        lambda a, b: linalg.solveh_banded(banded(a)[:2] * [[1], [1]], b),
        (3, 5),
        (5,),
        is_complex=False,
    ),
    both(
        "solveh_banded lower",
        lambda a, b: linalg.solveh_banded(banded(a)[1:], b, lower=True),
        (3, 5),
        (5,),
        is_complex=False,
    ),
    both("solve_toeplitz", lambda c, r, b: linalg.solve_toeplitz((c + 4, r), b), (4,), (4,), (4,)),
    both("solve_toeplitz of columns", lambda c, b: linalg.solve_toeplitz(c * 0.3 + [2, 0, 0, 0], b), (4,), (4, 2)),
    both("solve_circulant", lambda c, b: linalg.solve_circulant(c * 0.3 + [2, 0, 0, 0], b), (4,), (4,)),
    both("lu_solve", by_lu(0), SQUARE, (3, 2)),
    both("lu_solve transposed", by_lu(1), SQUARE, (3,)),
    both("lu_solve adjoint", by_lu(2), STACK, (2, 3, 1)),
]

DECOMPOSITIONS = [
    both("cholesky", lambda a: linalg.cholesky(definite(a)), STACK),
    both("cholesky lower", lambda a: linalg.cholesky(definite(a), lower=True), SQUARE),
    both("cho_factor", lambda a: np.triu(linalg.cho_factor(definite(a))[0]), SQUARE),
    *(both(f"lu {shape}", lambda a: linalg.lu(a)[1:], shape) for shape in (SQUARE, (4, 3), (3, 5), STACK)),
    both("lu permuted", lambda a: linalg.lu(a, permute_l=True), (4, 3)),
    both("lu with indices", lambda a: linalg.lu(a, p_indices=True)[1:], SQUARE),
    *(both(f"lu_factor {shape}", lambda a: linalg.lu_factor(a)[0], shape) for shape in (SQUARE, (4, 3), (3, 5))),
    both("qr economic", lambda a: linalg.qr(a, mode="economic"), (4, 3)),
    both("qr r", lambda a: linalg.qr(a, mode="r"), SQUARE),
    both("qr with pivoting", lambda a: linalg.qr(a, mode="economic", pivoting=True)[:2], (4, 3), single=False),
    both("svd", lambda a: linalg.svd(a, full_matrices=False)[1], (4, 3)),
    both("svdvals", linalg.svdvals, (3, 4)),
    both("orth", lambda a: projections(linalg.orth(a)), (4, 2)),
    both("null_space", lambda a: projections(linalg.null_space(a)), (2, 4)),
    both("polar", linalg.polar, (4, 3)),
    *(
        both(f"polar {side} {m}", lambda a, side=side: linalg.polar(a, side), (m, 3))
        for side in ("left", "right")
        for m in (2, 3, 4)
    ),
    both("orthogonal_procrustes", linalg.orthogonal_procrustes, (4, 3), (4, 3)),
]

EIGENVALUES = [
    both("eigh", hermitian(lambda a: sizes(*linalg.eigh(a))), SQUARE),
    both("eigh of a part", hermitian(lambda a: linalg.eigh(a, subset_by_index=(1, 2), eigvals_only=True)), SQUARE),
    *(
        both(
            f"eigh of type {kind}",
            lambda a, b, kind=kind: sizes(*linalg.eigh(a + dagger(a), definite(b), type=kind)),
            SQUARE,
            SQUARE,
            single=False,
        )
        for kind in (1, 2, 3)
    ),
    both("eigvalsh", lambda a, b: linalg.eigvalsh(a + dagger(a), definite(b)), SQUARE, SQUARE),
    both("eigh_tridiagonal", linalg.eigh_tridiagonal, (4,), (3,), is_complex=False),
    both("eigvalsh_tridiagonal", linalg.eigvalsh_tridiagonal, (4,), (3,), is_complex=False),
    both("eig", regular(lambda a: np.abs(linalg.eig(a)[1])), SQUARE, single=False),
    both("eigvals", regular(lambda a, b: linalg.eigvals(a, definite(b))), SQUARE, SQUARE, single=False, rtol=1e-5),
]

FUNCTIONS = [
    both("expm", linalg.expm, STACK),
    both("logm", regular(linalg.logm), SQUARE, single=False, rtol=1e-5),
    both("sqrtm", regular(linalg.sqrtm), SQUARE, single=False),
    both(
        "fractional_matrix_power",
        regular(lambda a: linalg.fractional_matrix_power(a, 0.3)),
        SQUARE,
        single=False,
        rtol=1e-5,
    ),
    both("expm_frechet", linalg.expm_frechet, SQUARE, SQUARE, single=False),
    *(both(name, getattr(linalg, name), SQUARE) for name in ("sinm", "cosm", "sinhm", "coshm")),
    *(both(name, lambda a, name=name: getattr(linalg, name)(0.2 * a), SQUARE) for name in ("tanm", "tanhm")),
    both("signm", lambda a: linalg.signm(0.1 * a + np.diag([1.0, -2.0, 3.0])), SQUARE, single=False, rtol=1e-5),
    both("funm", regular(lambda a: linalg.funm(a, np.sin)), SQUARE, single=False, rtol=1e-5),
]

EQUATIONS = [
    both("solve_sylvester", linalg.solve_sylvester, SQUARE, (2, 2), (3, 2)),
    both("solve_continuous_lyapunov", linalg.solve_continuous_lyapunov, SQUARE, SQUARE),
    both("solve_discrete_lyapunov", lambda a, q: linalg.solve_discrete_lyapunov(0.2 * a, q), SQUARE, SQUARE),
    *(
        both(
            name,
            lambda a, b, q, r, name=name: getattr(linalg, name)(0.5 * a, b, definite(q), definite(r)),
            SQUARE,
            (3, 2),
            SQUARE,
            (2, 2),
            single=False,
            rtol=1e-5,
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    ),
]

STRUCTURED = [
    both("toeplitz", linalg.toeplitz, (3,), exact=True),
    both("toeplitz of two", linalg.toeplitz, (3,), (4,), exact=True),
    both("circulant", linalg.circulant, (3,), exact=True),
    both("hankel", linalg.hankel, (3,), exact=True),
    both("hankel of two", linalg.hankel, (3,), (4,), exact=True),
    both("companion", linalg.companion, (4,)),
    both("leslie", linalg.leslie, (3,), (2,), exact=True, is_complex=False),
    both("fiedler", linalg.fiedler, (4,), is_complex=False),
    *(
        both(f"convolution_matrix {mode}", lambda a, mode=mode: linalg.convolution_matrix(a, 4, mode), (3,), exact=True)
        for mode in ("full", "same", "valid")
    ),
    both("block_diag", linalg.block_diag, (2, 3), (2,), (), exact=True),
    both("khatri_rao", linalg.khatri_rao, (2, 3), (4, 3)),
    both("matmul_toeplitz", lambda c, r, x: linalg.matmul_toeplitz((c, r), x), (3,), (4,), (4, 2), single=False),
    both("matmul_toeplitz of a vector", linalg.matmul_toeplitz, (3,), (3,), single=False),
]

ENTRIES = [*SYSTEMS, *DECOMPOSITIONS, *EIGENVALUES, *FUNCTIONS, *EQUATIONS, *STRUCTURED]
