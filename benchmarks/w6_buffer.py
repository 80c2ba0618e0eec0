"""W6: a buffer filled row by row: C[i] = A[i] @ M, L = sum(C * C); gradient wrt A and M
(float64, rows of 64).

inputs: A (n, 64), M (64, 64).  extract: A, M.
"""

from __future__ import annotations

import numpy as np

import gradviz as gv
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W6", "in-place row writes into a buffer", unit="row")


def make_case(n):
    rng = np.random.default_rng(n)
    a, m = rng.standard_normal((n, 64)), rng.standard_normal((64, 64)) / 8

    def ref():
        c = a @ m
        return {"A": 2 * c @ m.T, "M": 2 * a.T @ c}

    return Case(f"n={n}", n, {"A": a, "M": m}, ref, rtol=1e-10, unit_count=n)


W.cases = [make_case(n) for n in (1000, 10_000)]
W.pilot_cases = [make_case(n) for n in (20, 80)]


def pair(o):
    return {"A": np.asarray(o[0]), "M": np.asarray(o[1])}


def loss(a, m):
    c = np.empty_like(a)
    for i in range(len(a)):
        c[i] = a[i] @ m
    return np.sum(c * c)


@compiled(W)
def gradviz_engine(case, wrap):
    """``C[i] = A[i] @ M`` in a loop."""
    f = wrap(gv.grad(loss, argnums=(0, 1)))
    a, m = case.inputs["A"], case.inputs["M"]
    return (lambda: f(a, m)), pair


def torch_job(case, f, compiled=False):
    torch = torch_module()
    a, m = (torch.tensor(case.inputs[k], requires_grad=True) for k in "AM")
    if compiled:
        f = torch.compile(fresh(f), dynamic=False)
    return (lambda: torch.autograd.grad(f(a, m), (a, m))), pair


@W.engine("torch eager, C[i] = A[i] @ M", scale=2)
def torch_inplace(case):
    torch = torch_module()

    def f(a, m):
        c = torch.empty_like(a)
        for i in range(len(a)):
            c[i] = a[i] @ m
        return (c * c).sum()

    return torch_job(case, f)


@W.engine("torch eager, list + stack", scale=2)
def torch_stack(case):
    torch = torch_module()

    def f(a, m):
        c = torch.stack([row @ m for row in a.unbind(0)])
        return (c * c).sum()

    return torch_job(case, f)


@W.engine("torch.compile, C[i] = A[i] @ M", pilots=True, scale=1.5)
def torch_compiled(case):
    torch = torch_module()

    def f(a, m):
        c = torch.empty_like(a)
        for i in range(len(a)):
            c[i] = a[i] @ m
        return (c * c).sum()

    return torch_job(case, f, True)


@W.engine("torch eager, func.vmap")
def torch_vmap(case):
    torch = torch_module()

    def f(a, m):
        c = torch.func.vmap(lambda row: row @ m)(a)
        return (c * c).sum()

    return torch_job(case, f)


def jax_job(case, f, jit=True):
    import jax
    import jax.numpy as jnp

    g = jax.grad(f, argnums=(0, 1))
    if jit:
        g = jax.jit(g)
    a, m = jnp.asarray(case.inputs["A"]), jnp.asarray(case.inputs["M"])
    return (lambda: jax.block_until_ready(g(a, m))), pair


@W.engine("jax no jit, loop C.at[i].set", pilots=True, scale=2)
def jax_loop(case):
    import jax.numpy as jnp

    def f(a, m):
        c = jnp.zeros_like(a)
        for i in range(len(a)):
            c = c.at[i].set(a[i] @ m)
        return (c * c).sum()

    return jax_job(case, f, False)


@W.engine("jax.jit, fori_loop C.at[i].set", scale=2)
def jax_fori(case):
    import jax
    import jax.numpy as jnp

    def f(a, m):
        c = jax.lax.fori_loop(0, len(a), lambda i, c: c.at[i].set(a[i] @ m), jnp.zeros_like(a))
        return (c * c).sum()

    return jax_job(case, f)


@W.engine("jax.jit, lax.scan rows")
def jax_scan(case):
    import jax

    def f(a, m):
        _, c = jax.lax.scan(lambda s, row: (s, row @ m), None, a)
        return (c * c).sum()

    return jax_job(case, f)


@W.engine("jax.jit, vmap")
def jax_vmap(case):
    import jax

    def f(a, m):
        c = jax.vmap(lambda row: row @ m)(a)
        return (c * c).sum()

    return jax_job(case, f)


@W.engine("autograd, list + np.stack", scale=2)
def autograd_stack(case):
    import autograd
    import autograd.numpy as anp

    args = case.inputs["A"], case.inputs["M"]

    def f(am):
        a, m = am
        c = anp.stack([a[i] @ m for i in range(a.shape[0])])
        return anp.sum(c * c)

    g = autograd.grad(f)
    return (lambda: g(args)), pair


@W.engine("mygrad, C[i] = A[i] @ M", pilots=True, scale=2)
def mygrad_inplace(case):
    import mygrad as mg

    def call():
        a, m = mg.tensor(case.inputs["A"]), mg.tensor(case.inputs["M"])
        c = mg.zeros_like(a)
        for i in range(len(a)):
            c[i] = mg.matmul(a[i], m)
        (c * c).sum().backward()
        return a.grad, m.grad

    return call, pair


@W.engine("mygrad, list + stack", pilots=True, scale=2)
def mygrad_stack(case):
    import mygrad as mg

    def call():
        a, m = mg.tensor(case.inputs["A"]), mg.tensor(case.inputs["M"])
        c = mg.stack([mg.matmul(a[i], m) for i in range(len(a))])
        (c * c).sum().backward()
        return a.grad, m.grad

    return call, pair


@W.engine("tinygrad, list + stack", pilots=True, scale=1)
def tinygrad_stack(case):
    from tinygrad import Tensor

    a, m = (Tensor(case.inputs[k]).realize() for k in "AM")

    def call():
        c = Tensor.stack(*[a[i] @ m for i in range(a.shape[0])])
        return [g.numpy() for g in (c * c).sum().gradient(a, m)]

    return call, pair


@W.limit("numpy hand-written adjoint, whole buffer")
def numpy_hand(case):
    a, m = case.inputs["A"], case.inputs["M"]
    c, ga = np.empty_like(a), np.empty_like(a)

    def call():
        np.matmul(a, m, out=c)
        np.vdot(c, c)
        np.multiply(c, 2, out=c)
        return np.matmul(c, m.T, out=ga), a.T @ c

    return call, pair


@W.engine("numba hand-written adjoint, row by row")
def numba_hand(case):
    import numba

    a, m = case.inputs["A"], case.inputs["M"]
    c, ga = np.empty_like(a), np.empty_like(a)

    @numba.njit(fastmath=True)
    def vjp(a, m, mt, c, ga, gm):
        n, d = a.shape
        total = 0.0
        for i in range(n):
            for k in range(d):
                c[i, k] = 0.0
            for j in range(d):
                aij = a[i, j]
                for k in range(d):
                    c[i, k] += aij * m[j, k]
            for k in range(d):
                total += c[i, k] * c[i, k]
        for i in range(n - 1, -1, -1):
            for j in range(d):
                ga[i, j] = 0.0
            for k in range(d):
                gk = 2 * c[i, k]
                for j in range(d):
                    ga[i, j] += gk * mt[k, j]
            for j in range(d):
                aij = 2 * a[i, j]
                for k in range(d):
                    gm[j, k] += aij * c[i, k]
        return total

    def call():
        gm = np.zeros_like(m)
        vjp(a, m, np.ascontiguousarray(m.T), c, ga, gm)
        return ga, gm

    return call, pair


W.before.append(lambda: {"inductor_start_s": warm_inductor()})

if __name__ == "__main__":
    raise SystemExit(W.main())
