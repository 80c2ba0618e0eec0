"""W1: Horner's rule in a loop, gradient wrt x and p (float64).

inputs: x (float), p (N,).  extract: x (), p (N,).
x = 0.9999, so that no power of x is subnormal at N = 100 000.
"""

from __future__ import annotations

import time

import numpy as np

import gradviz as gv
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W1", "evalpoly: gradient of a Horner loop wrt x and p", unit="coefficient")


def make_case(n):
    p = np.random.default_rng(n).standard_normal(n)
    x = 0.9999

    def ref():
        i = np.arange(n, dtype=np.longdouble)
        pw = np.longdouble(x) ** i
        gx = (i[1:] * p[1:].astype(np.longdouble) * pw[:-1]).sum()
        return {"x": np.float64(gx), "p": pw.astype(np.float64)}

    return Case(f"N={n}", n, {"x": x, "p": p}, ref, rtol=1e-9, unit_count=n)


W.cases = [make_case(n) for n in (1000, 10_000, 100_000)]
W.pilot_cases = [make_case(n) for n in (25, 75)]


def horner(x, p):
    r = p[len(p) - 1]
    for i in range(len(p) - 2, -1, -1):
        r = r * x + p[i]
    return r


def pair(o):
    return {"x": np.asarray(o[0]), "p": np.asarray(o[1])}


# -- gradviz -----------------------------------------------------------------
@compiled(W)
def gradviz_engine(case, wrap):
    f = wrap(gv.grad(horner, argnums=(0, 1)))
    x, p = case.inputs["x"], case.inputs["p"]
    return (lambda: f(x, p)), pair


# -- torch -------------------------------------------------------------------
def torch_job(case, fwd):
    torch = torch_module()
    x = torch.tensor(case.inputs["x"], dtype=torch.float64, requires_grad=True)
    p = torch.tensor(case.inputs["p"], requires_grad=True)

    def call():
        x.grad = p.grad = None
        fwd(x, p).backward()
        return x.grad, p.grad

    return call, lambda o: {"x": o[0].numpy(), "p": o[1].numpy()}


@W.engine("torch eager, loop p[i]", pilots=True, scale=2)
def torch_loop(case):
    return torch_job(case, horner)


@W.engine("torch eager, p.unbind()")
def torch_unbind(case):
    return torch_job(case, lambda x, p: horner(x, p.unbind(0)))


@W.engine("torch.compile, loop p[i]", pilots=True, scale=1.5)
def torch_compiled(case):
    torch = torch_module()
    return torch_job(case, torch.compile(fresh(horner), dynamic=False))


@W.engine("torch.compile, p.unbind()", pilots=True, scale=1.5)
def torch_compiled_unbind(case):
    torch = torch_module()

    def f(x, p):
        q = p.unbind(0)
        r = q[len(q) - 1]
        for i in range(len(q) - 2, -1, -1):
            r = r * x + q[i]
        return r

    return torch_job(case, torch.compile(fresh(f), dynamic=False))


@W.engine("torch.compile, scan (private HOP)", pilots=True, scale=1.0)
def torch_scan(case):
    torch = torch_module()
    from torch._higher_order_ops.scan import scan

    def f(x, p):
        def step(c, pi):
            r, x = c
            r = r * x + pi
            return [r, x.clone()], r.clone()

        (r, _), _ = scan(step, [p[-1].clone(), x], p[:-1].flip(0), dim=0)
        return r

    return torch_job(case, torch.compile(fresh(f), dynamic=False))


# -- jax ---------------------------------------------------------------------
def jax_job(case, f, jit):
    import jax
    import jax.numpy as jnp

    g = jax.grad(f, argnums=(0, 1))
    if jit:
        g = jax.jit(g)
    x, p = jnp.asarray(case.inputs["x"]), jnp.asarray(case.inputs["p"])
    return (lambda: jax.block_until_ready(g(x, p))), pair


@W.engine("jax, loop p[i], no jit", pilots=True, scale=2)
def jax_loop(case):
    return jax_job(case, horner, False)


@W.engine("jax.jit, loop p[i] (unrolled)", pilots=True, scale=2)
def jax_loop_jit(case):
    return jax_job(case, horner, True)


@W.engine("jax.jit, fori_loop p[i]")
def jax_fori(case):
    import jax

    n = len(case.inputs["p"])
    return jax_job(case, lambda x, p: jax.lax.fori_loop(0, n - 1, lambda k, r: r * x + p[n - 2 - k], p[n - 1]), True)


@W.engine("jax.jit, lax.scan over p")
def jax_scan(case):
    import jax

    return jax_job(
        case, lambda x, p: jax.lax.scan(lambda r, pi: (r * x + pi, None), p[-1], p[:-1], reverse=True)[0], True
    )


@W.engine("jax.jit, lax.scan unroll=16")
def jax_scan16(case):
    import jax

    return jax_job(
        case,
        lambda x, p: jax.lax.scan(lambda r, pi: (r * x + pi, None), p[-1], p[:-1], reverse=True, unroll=16)[0],
        True,
    )


# -- numpy-style engines -------------------------------------------------------
@W.engine("autograd, loop p[i]", pilots=True, scale=2)
def autograd_loop(case):
    import autograd

    g = autograd.grad(lambda xp: horner(*xp))
    x, p = case.inputs["x"], case.inputs["p"]
    return (lambda: g((x, p))), pair


@W.engine("mygrad, loop p[i]", pilots=True, scale=2)
def mygrad_loop(case):
    import mygrad as mg

    def call():
        x, p = mg.tensor(case.inputs["x"]), mg.tensor(case.inputs["p"])
        horner(x, p).backward()
        return x.grad, p.grad

    return call, pair


@W.engine("tinygrad, loop p[i]", pilots=True, scale=2)
def tinygrad_loop(case):
    from tinygrad import Tensor

    x = Tensor(np.array([case.inputs["x"]])).realize()
    p = Tensor(case.inputs["p"]).realize()

    def horner_t(x, p):
        n = p.shape[0]
        r = p[n - 1]
        for i in range(n - 2, -1, -1):
            r = r * x + p[i]
        return r

    def call():
        return [g.numpy() for g in horner_t(x, p).sum().gradient(x, p)]

    return call, lambda o: {"x": o[0][0], "p": o[1]}


# -- limits --------------------------------------------------------------------
@W.limit("numba hand-written adjoint")
def numba_adjoint(case):
    import numba

    x, p = case.inputs["x"], case.inputs["p"]
    n = len(p)
    tape, gp = np.empty(n), np.empty(n)

    @numba.njit(fastmath={"contract"})
    def vjp(x, p, tape, gp):
        n = p.shape[0]
        r = p[n - 1]
        for i in range(n - 2, -1, -1):
            tape[i] = r
            r = r * x + p[i]
        g, gx = 1.0, 0.0
        for i in range(n - 1):
            gp[i] = g
            gx += g * tape[i]
            g *= x
        gp[n - 1] = g
        return r, gx

    return (lambda: (vjp(x, p, tape, gp)[1], gp)), pair


@W.engine("hand-written adjoint, Python floats")
def python_adjoint(case):
    x, p = case.inputs["x"], case.inputs["p"]

    def call():
        q = p.tolist()
        r, tape = q[-1], []
        for v in q[-2::-1]:
            tape.append(r)
            r = r * x + v
        g, gx, gp = 1.0, 0.0, []
        for t in reversed(tape):
            gp.append(g)
            gx += g * t
            g *= x
        gp.append(g)
        return gx, np.array(gp)

    return call, pair


def facts():
    import numba

    @numba.njit(fastmath={"contract"})
    def chain(n, r, x, c):
        for _ in range(n):
            r = r * x + c
        return r

    chain(10, 1.0, 0.5, 0.1)
    n, best = 2_000_000, 1e9
    for _ in range(9):
        t = time.perf_counter()
        chain(n, 1.0, 0.5, 0.1)
        best = min(best, time.perf_counter() - t)
    return {
        "ns_per_dependent_fma": best / n * 1e9,
        "physical_limit_s": {c.name: 2 * c.size * best / n for c in W.cases},
        "inductor_start_s": warm_inductor(),
    }


W.before.append(facts)

if __name__ == "__main__":
    raise SystemExit(W.main())
