"""W3: one Adam step, gradients given (float32, lr 1e-3, betas 0.9/0.999, eps 1e-8).

inputs: p, g (lists of float32 arrays).  The first call is step 1 from zero moments.
extract: p, m, v concatenated after the *first* call (float64 reference).
Each further call is a further step on the same state.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import gradviz as gv
from benchmarks import CORES
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W3", "Adam step on parameter lists", unit="element")
LR, B1, B2, EPS = 1e-3, 0.9, 0.999, 1e-8


def make_case(k, n, name, size):
    rng = np.random.default_rng(k)
    p = [rng.standard_normal(n, dtype=np.float32) for _ in range(k)]
    g = [rng.standard_normal(n, dtype=np.float32) for _ in range(k)]

    def ref():
        pp, gg = np.concatenate(p).astype(float), np.concatenate(g).astype(float)
        m, v = (1 - B1) * gg, (1 - B2) * gg * gg
        step = LR * (m / (1 - B1)) / (np.sqrt(v / (1 - B2)) + EPS)
        return {"p": pp - step, "m": m, "v": v}

    return Case(
        name,
        size,
        {"p": p, "g": g},
        ref,
        rtol=3e-6,
        pilot_size=k,
        unit_count=k * n,
        facts={"elements": k * n, "bytes": k * n * 4 * 7},
    )


W.cases = [
    make_case(1, 10_000_000, "1 x 10M", 1),
    make_case(200, 50_000, "200 x 50k", 2),
    make_case(2000, 500, "2000 x 500", 3),
]
W.pilot_cases = [make_case(10, 500, "10 x 500", 0), make_case(40, 500, "40 x 500", 0)]


def cat(o):
    return {k: np.concatenate([np.asarray(x) for x in o[i]]) for i, k in enumerate("pmv")}


@compiled(W)
def gradviz_engine(case, wrap):
    adam = gv.optim.adam(LR, B1, B2, EPS)
    step = wrap(adam.step, donate=("params", "state"))
    params = [p.copy() for p in case.inputs["p"]]
    box = [params, adam.init(params)]

    def call():
        box[:] = step(box[0], case.inputs["g"], box[1])
        return box

    return call, lambda box: cat([[x.copy() for x in part] for part in (box[0], box[1].m, box[1].v)])


def torch_job(case, compiled=False, **kw):
    torch = torch_module()
    p = [torch.tensor(v, requires_grad=True) for v in case.inputs["p"]]
    for t, g in zip(p, case.inputs["g"]):
        t.grad = torch.tensor(g)
    opt = torch.optim.Adam(p, lr=LR, betas=(B1, B2), eps=EPS, **kw)
    if compiled:  # state in place beforehand, so that step 1 compiles the steady path
        for t in p:
            opt.state[t] = {
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(t),
                "exp_avg_sq": torch.zeros_like(t),
            }
    step = torch.compile(fresh(lambda: opt.step()), dynamic=False) if compiled else opt.step

    def call():
        step()
        return opt

    def extract(_):
        s = [opt.state[t] for t in p]
        return cat(
            [
                [t.detach().numpy().copy() for t in x]
                for x in (p, [d["exp_avg"] for d in s], [d["exp_avg_sq"] for d in s])
            ]
        )

    return call, extract


@W.engine("torch Adam foreach=False")
def torch_for(case):
    return torch_job(case, foreach=False)


@W.engine("torch Adam foreach=True")
def torch_foreach(case):
    return torch_job(case, foreach=True)


@W.engine("torch Adam fused=True")
def torch_fused(case):
    return torch_job(case, fused=True)


@W.engine("torch.compile Adam.step", pilots=True, scale=1)
def torch_compiled(case):
    return torch_job(case, True)


@W.engine("optax.adam jax.jit, donated", pilots=True, scale=1)
def optax_jit(case):
    import jax
    import jax.numpy as jnp
    import optax

    opt = optax.adam(LR, b1=B1, b2=B2, eps=EPS)
    arrays = lambda k: [jnp.asarray(v) + 0 for v in case.inputs[k]]
    p, g = arrays("p"), arrays("g")
    box = [p, opt.init(p)]

    def step(p, s, g):
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s

    step = jax.jit(step, donate_argnums=(0, 1))

    def call():
        box[:] = jax.block_until_ready(step(box[0], box[1], g))
        return box

    def extract(b):
        s = b[1][0]
        return cat([[np.array(x) for x in part] for part in (b[0], s.mu, s.nu)])

    return call, extract


def state(case):
    p = [v.copy() for v in case.inputs["p"]]
    z = lambda: [np.zeros_like(v) for v in p]
    return p, case.inputs["g"], z(), z()


def factors(t):
    return np.float32(LR / (1 - B1**t)), np.float32(1 / np.sqrt(1 - B2**t))


@W.engine("numpy, temporaries")
def numpy_plain(case):
    p, g, m, v = state(case)
    t = [0]
    f = np.float32

    def call():
        t[0] += 1
        a, c = factors(t[0])
        for i in range(len(p)):
            m[i] = f(B1) * m[i] + f(1 - B1) * g[i]
            v[i] = f(B2) * v[i] + f(1 - B2) * g[i] * g[i]
            p[i] = p[i] - a * m[i] / (np.sqrt(v[i]) * c + f(EPS))
        return p, m, v

    return call, cat


@W.engine("numpy, in place with out=")
def numpy_out(case):
    p, g, m, v = state(case)
    w = np.empty(max(len(x) for x in p), np.float32)
    t = [0]
    f = np.float32

    def call():
        t[0] += 1
        a, c = factors(t[0])
        for pi, gi, mi, vi in zip(p, g, m, v):
            s = w[: len(pi)]
            np.multiply(mi, f(B1), out=mi)
            np.multiply(gi, f(1 - B1), out=s)
            np.add(mi, s, out=mi)
            np.multiply(gi, gi, out=s)
            np.multiply(s, f(1 - B2), out=s)
            np.multiply(vi, f(B2), out=vi)
            np.add(vi, s, out=vi)
            np.sqrt(vi, out=s)
            np.multiply(s, c, out=s)
            np.add(s, f(EPS), out=s)
            np.divide(mi, s, out=s)
            np.multiply(s, a, out=s)
            np.subtract(pi, s, out=pi)
        return p, m, v

    return call, cat


@W.engine("numexpr, in place")
def numexpr_engine(case):
    import numexpr as ne

    ne.set_num_threads(CORES)
    p, g, m, v = state(case)
    t = [0]
    f = np.float32
    k = {"b1": f(B1), "c1": f(1 - B1), "b2": f(B2), "c2": f(1 - B2), "eps": f(EPS)}

    def call():
        t[0] += 1
        k["a"], k["c"] = factors(t[0])
        for i in range(len(p)):
            d = dict(k, p=p[i], g=g[i], m=m[i], v=v[i])
            ne.evaluate("b1*m + c1*g", d, out=m[i], casting="same_kind")
            ne.evaluate("b2*v + c2*g*g", d, out=v[i], casting="same_kind")
            ne.evaluate("p - a*m/(sqrt(v)*c + eps)", d, out=p[i], casting="same_kind")
        return p, m, v

    return call, cat


def numba_step():
    import numba
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def as_pointer(typingctx, src):
        def codegen(context, builder, sig, args):
            return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

        return types.voidptr(src), codegen

    f4 = np.float32

    @numba.njit(parallel=True, fastmath=True)
    def step(jobs, a, c):
        """jobs: (k, 5) int64 rows of p, g, m, v addresses and a length."""
        for j in numba.prange(jobs.shape[0]):
            n = jobs[j, 4]
            p = numba.carray(as_pointer(jobs[j, 0]), n, numba.float32)
            g = numba.carray(as_pointer(jobs[j, 1]), n, numba.float32)
            m = numba.carray(as_pointer(jobs[j, 2]), n, numba.float32)
            v = numba.carray(as_pointer(jobs[j, 3]), n, numba.float32)
            for i in range(n):
                gi = g[i]
                mi = f4(B1) * m[i] + f4(1 - B1) * gi
                vi = f4(B2) * v[i] + f4(1 - B2) * gi * gi
                m[i] = mi
                v[i] = vi
                p[i] -= a * mi / (np.sqrt(vi) * c + f4(EPS))

    return step


@W.limit("numba fused in-place kernel, parallel")
def numba_fused(case):
    p, g, m, v = state(case)
    step = numba_step()
    chunk = 16384
    pieces = [  # (addresses, length)
        [x.ctypes.data + 4 * start for x in arrays] + [min(chunk, len(arrays[0]) - start)]
        for arrays in zip(p, g, m, v)
        for start in range(0, len(arrays[0]), chunk)
    ]
    jobs = np.array(pieces, np.int64)
    t = [0]

    def call():
        t[0] += 1
        step(jobs, *factors(t[0]))
        return p, m, v

    return call, cat


def bandwidth():
    """STREAM-like bandwidth in this run: triad, and the 7 streams of an Adam step
    with no arithmetic to speak of, at Adam's size and past the last-level cache."""
    import numba

    @numba.njit(parallel=True)
    def triad(a, b, c):
        for i in numba.prange(a.size):
            a[i] = b[i] + np.float32(3) * c[i]

    @numba.njit(parallel=True)
    def seven(p, g, m, v):
        for i in numba.prange(p.size):
            gi = g[i]
            p[i] += gi
            m[i] += gi
            v[i] += gi

    def best(f, *a):
        f(*a)
        b = []
        for _ in range(7):
            t = time.perf_counter()
            f(*a)
            b.append(time.perf_counter() - t)
        return sorted(b)

    out = {}
    for n, tag in ((10_000_000, "10M"), (100_000_000, "100M")):
        x = [np.ones(n, np.float32) for _ in range(4)]
        tr, se = best(triad, *x[:3]), best(seven, *x)
        out[f"triad_{tag}_GB_s"] = {"median": 12 * n / tr[3] / 1e9, "best": 12 * n / tr[0] / 1e9}
        out[f"seven_streams_{tag}_GB_s"] = {"median": 28 * n / se[3] / 1e9, "best": 28 * n / se[0] / 1e9}
        del x
    bw = out["seven_streams_10M_GB_s"]["best"] * 1e9
    out["bandwidth_limit_s"] = {c.name: c.facts["bytes"] / bw for c in W.cases}
    return out


def facts():
    # In a process of its own: run here, before torch, it made torch's Adam on
    # 200 x 50k (foreach or not) take 0.6 to 0.7 s instead of 0.03 s.
    r = subprocess.run(
        [sys.executable, "-c", "import json; from benchmarks import w3_adam; print(json.dumps(w3_adam.bandwidth()))"],
        cwd=Path(__file__).parent.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return {**json.loads(r.stdout.splitlines()[-1]), "inductor_start_s": warm_inductor()}


W.before.append(facts)

if __name__ == "__main__":
    raise SystemExit(W.main())
