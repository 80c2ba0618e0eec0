"""JAX as a second opinion on `numpy.linalg` and `scipy.special`: the same function by both engines, at random points.

Where finite differences are coarse (ill-conditioned matrices, tails of distributions) another exact engine is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np

import gradviz as gv
from gradviz.scipy import special as our_special
from tests.conformance.report import Count, Suite

RTOL = 1e-7


@dataclass(frozen=True)
class Case:
    """A function in both namespaces, and how its arguments are drawn."""

    name: str
    ours: Callable[..., Any]
    jaxs: Callable[..., Any]
    draw: Callable[[np.random.Generator], tuple[Any, ...]]


def hermitian(a: Any) -> Any:
    return a + a.swapaxes(-1, -2).conj()


def positive_definite(a: Any) -> Any:
    return a @ a.swapaxes(-1, -2).conj() + 3 * np.eye(a.shape[-1])


def matrices(*shapes: tuple[int, ...], is_complex: bool = False) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.normal(size=s) + (1j * rng.normal(size=s) if is_complex else 0.0) for s in shapes)

    return draw


# What is made of matrices, in either namespace. Of vectors of decompositions only what their signs do not change.
LINALG: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "det": (lambda xp, a: xp.linalg.det(a), ((2, 4, 4),)),
    "slogdet": (lambda xp, a: xp.linalg.slogdet(a)[1], ((2, 4, 4),)),
    "inv": (lambda xp, a: xp.linalg.inv(a), ((2, 4, 4),)),
    "pinv": (lambda xp, a: xp.linalg.pinv(a), ((3, 5),)),
    "pinv, tall": (lambda xp, a: xp.linalg.pinv(a), ((2, 5, 3),)),
    "solve": (lambda xp, a, b: xp.linalg.solve(a, b), ((4, 4), (4, 2))),
    "solve, stacked": (lambda xp, a, b: xp.linalg.solve(a, b), ((2, 4, 4), (2, 4, 3))),
    "cholesky": (lambda xp, a: xp.linalg.cholesky(positive_definite(a)), ((2, 4, 4),)),
    "qr": (lambda xp, a: list(xp.linalg.qr(a)), ((5, 3),)),
    "eigh": (lambda xp, a: _of_eigh(xp, *xp.linalg.eigh(hermitian(a))), ((2, 4, 4),)),
    "eigvalsh": (lambda xp, a: xp.linalg.eigvalsh(hermitian(a)), ((4, 4),)),
    "eigvals": (lambda xp, a: xp.sum(xp.exp(xp.linalg.eigvals(a) / 9)), ((4, 4),)),
    "svd": (lambda xp, a: _of_svd(xp, *xp.linalg.svd(a, full_matrices=False)), ((2, 5, 3),)),
    "svd, wide": (lambda xp, a: _of_svd(xp, *xp.linalg.svd(a, full_matrices=False)), ((3, 5),)),
    "svdvals": (lambda xp, a: xp.linalg.svdvals(a), ((2, 3, 4),)),
    "norm": (lambda xp, a: xp.linalg.norm(a), ((3, 4),)),
    "norm, nuclear": (lambda xp, a: xp.linalg.norm(a, "nuc"), ((3, 4),)),
    "norm, 2": (lambda xp, a: xp.linalg.norm(a, 2), ((3, 4),)),
    "norm, 1": (lambda xp, a: xp.linalg.norm(a, 1), ((3, 4),)),
    "vector_norm": (lambda xp, a: xp.linalg.vector_norm(a, axis=0, ord=3), ((3, 4),)),
    "cond": (lambda xp, a: xp.linalg.cond(a), ((4, 4),)),
    "matrix_power": (lambda xp, a: xp.linalg.matrix_power(a, 3), ((3, 3),)),
    "matrix_power, negative": (lambda xp, a: xp.linalg.matrix_power(a, -2), ((3, 3),)),
    "multi_dot": (lambda xp, a, b, c: xp.linalg.multi_dot([a, b, c]), ((3, 4), (4, 2), (2, 5))),
    "tensorinv": (lambda xp, a: xp.linalg.tensorinv(xp.reshape(a, (2, 2, 4)), ind=2), ((4, 4),)),
    "tensorsolve": (lambda xp, a, b: xp.linalg.tensorsolve(xp.reshape(a, (2, 2, 2, 2)), b), ((4, 4), (2, 2))),
    "lstsq": (lambda xp, a, b: xp.linalg.lstsq(a, b)[0], ((5, 3), (5, 2))),
    "cross": (lambda xp, a, b: xp.linalg.cross(a, b), ((4, 3), (4, 3))),
    "outer": (lambda xp, a, b: xp.linalg.outer(a, b), ((4,), (3,))),
    "vecdot": (lambda xp, a, b: xp.linalg.vecdot(a, b), ((4, 3), (4, 3))),
    "trace": (lambda xp, a: xp.linalg.trace(a), ((2, 4, 4),)),
}
REAL_ONLY = {
    "norm, 1",
    "tensorsolve",
    "vector_norm",
    "lstsq",
}  # JAX's derivative, or its function, is of real matrices only


def _of_eigh(xp: Any, w: Any, v: Any) -> Any:
    return [w, xp.abs(v), xp.matmul(v * xp.exp(w / 5)[..., None, :], v.swapaxes(-1, -2).conj())]


def _of_svd(xp: Any, u: Any, s: Any, vh: Any) -> Any:
    return [s, xp.abs(u), xp.matmul(u * s[..., None, :] ** 2, vh)]


UNIT, WIDE, POSITIVE = (0.05, 0.95), (-3.0, 3.0), (0.3, 6.0)
SPECIAL: dict[str, tuple[tuple[float, float], ...]] = {
    "erf": (WIDE,), "erfc": (WIDE,), "erfinv": ((-0.9, 0.9),), "ndtr": (WIDE,), "ndtri": (UNIT,), "log_ndtr": ((-9.0, 3.0),),
    "expit": (WIDE,), "logit": (UNIT,), "gammaln": (POSITIVE,), "digamma": (POSITIVE,), "gamma": (POSITIVE,), "entr": (POSITIVE,),
    "xlogy": (POSITIVE, POSITIVE), "xlog1py": (POSITIVE, POSITIVE), "rel_entr": (POSITIVE, POSITIVE), "kl_div": (POSITIVE, POSITIVE),
    "betaln": (POSITIVE, POSITIVE), "i0": (WIDE,), "i0e": (WIDE,), "i1": (WIDE,), "i1e": (WIDE,), "spence": (POSITIVE,),
    "exp1": (POSITIVE,), "expi": (POSITIVE,), "poch": (POSITIVE, POSITIVE), "logsumexp": (WIDE,), "softmax": (WIDE,),
    "log_softmax": (WIDE,),
}  # fmt: skip
# Arguments that neither engine, or JAX alone, differentiates, are held fixed.
PARTLY: dict[str, tuple[Callable[[Any], Callable[..., Any]], tuple[tuple[float, float], ...]]] = {
    "betainc": (lambda sp: lambda x: sp.betainc(1.5, 2.5, x), (UNIT,)),
    "gammainc": (lambda sp: lambda x: sp.gammainc(2.5, x), (POSITIVE,)),
    "gammaincc": (lambda sp: lambda x: sp.gammaincc(2.5, x), (POSITIVE,)),
    "zeta": (lambda sp: lambda q: sp.zeta(3.0, q), (POSITIVE,)),
    "polygamma": (lambda sp: lambda x: sp.polygamma(2, x), (POSITIVE,)),
    "multigammaln": (lambda sp: lambda x: sp.multigammaln(x, 2), ((2.0, 6.0),)),
    "hyp1f1": (lambda sp: lambda x: sp.hyp1f1(1.5, 2.5, x), (WIDE,)),
    "expn": (lambda sp: lambda x: sp.expn(2, x), (POSITIVE,)),
}


def cases() -> Iterator[Case]:
    """Everything there is to compare."""
    for name, (function, shapes) in LINALG.items():
        for is_complex in (False, True):
            if is_complex and name in REAL_ONLY:
                continue
            yield Case(
                f"linalg: {name}{', complex' * is_complex}",
                lambda *args, function=function: function(np, *args),
                lambda *args, function=function: function(jnp, *args),
                matrices(*shapes, is_complex=is_complex),
            )
    for name, ranges in SPECIAL.items():
        yield Case(f"special: {name}", getattr(our_special, name), getattr(jax.scipy.special, name), _numbers(ranges))
    for name, (made, ranges) in PARTLY.items():
        yield Case(f"special: {name}", made(our_special), made(jax.scipy.special), _numbers(ranges))


def _numbers(ranges: tuple[tuple[float, float], ...]) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: tuple(rng.uniform(low, high, 20) for low, high in ranges)


def difference(case: Case, seed: int = 0) -> str:
    """What is not the same by both engines, empty if nothing is: the value, the gradient, or the derivative of the gradient."""
    args = case.draw(np.random.default_rng(seed))
    places = tuple(range(len(args)))

    def total(function: Callable[..., Any], xp: Any) -> Callable[..., Any]:
        def of(*args: Any) -> Any:
            made = function(*args)
            parts = made if isinstance(made, list) else [made]
            rng = np.random.default_rng(1)
            return sum(xp.sum(xp.real(xp.conj(_direction(rng, part)) * part)) for part in parts)

        return of

    ours, theirs = total(case.ours, np), total(case.jaxs, jnp)
    value, gradients = gv.value_and_grad(ours, places)(*args)
    want, jaxs = jax.value_and_grad(theirs, places)(*args)
    if not close(value, want):
        return f"value {value}, but {want}"
    for k, (got, g) in enumerate(zip(gradients, jaxs, strict=True)):
        if not close(got, np.conj(g)):  # JAX's gradient is the conjugate
            return f"gradient in argument {k}: {np.max(np.abs(got - np.conj(g))):.2e} apart"
    return ""


def _direction(rng: np.random.Generator, part: Any) -> np.ndarray:
    made = np.asarray(rng.normal(size=np.shape(part)))
    return made + 1j * rng.normal(size=made.shape) if part.dtype.kind == "c" else made


def close(a: Any, b: Any) -> bool:
    b = np.asarray(b)
    return bool(np.allclose(a, b, RTOL, RTOL * float(np.max(np.abs(b[np.isfinite(b)]), initial=1.0))))


# Where the other engine is wrong, and finite differences say so.
DISAGREEMENTS = {"special: spence": "JAX's gradient is NaN between 0.5 and 1.5"}


def ours_is_the_slope(case: Case, seed: int = 0) -> bool:
    """Whether a central difference along a random direction agrees with our gradient of the sum of a real function."""
    rng = np.random.default_rng(seed)
    args = case.draw(rng)
    steps = [rng.normal(size=np.shape(x)) for x in args]
    ahead, behind = (np.sum(case.ours(*(x + h * s for x, s in zip(args, steps, strict=True)))) for h in (1e-6, -1e-6))
    gradients = gv.grad(lambda *args: np.sum(case.ours(*args)), tuple(range(len(args))))(*args)
    along = sum(np.sum(g * s) for g, s in zip(gradients, steps, strict=True))
    return bool(np.isclose(along, (ahead - behind) / 2e-6, rtol=1e-5))


def suite() -> Suite:
    """All cases at three points each."""
    explained, failed, ran, passed = [], [], 0, 0
    for case in cases():
        for seed in range(3):
            found = difference(case, seed)
            known = bool(found) and case.name in DISAGREEMENTS and ours_is_the_slope(case, seed)
            ran, passed = ran + 1, passed + (not found or known)
            if known:
                explained.append((f"{case.name}, point {seed}", DISAGREEMENTS[case.name]))
            elif found:
                failed.append((f"{case.name}, point {seed}", found))
    return Suite(
        f"JAX {jax.__version__}",
        f"Functions of `numpy.linalg` (real and complex) and `scipy.special`, value and gradient by both engines, to {RTOL:g}. Of vectors "
        "of decompositions what does not depend on their signs. A difference counts as explained if finite differences side with gradviz.",
        [Count("points of functions against JAX", ran, passed)],
        explained=explained,
        failed=failed,
    )
