"""W2: ten complex contractions C_i[a,b,d] = sum_c A_i[a,b,c] B_i[c,d],
L = real(sum_i vdot(C_i, C_i)); gradient wrt all A, or all A and B (complex128).

inputs: A (list of (D,D,D)), B (list of (D,D)), form, wrt.
MyGrad and tinygrad have no complex tensors.
extract: A = np.stack of dL/dRe + i dL/dIm = 2 C B^H, and B (= 2 A^H C) when wrt is "AB".
"""

from __future__ import annotations

import time

import numpy as np

import gradviz as gv
from benchmarks.cblas import ADJOINT, Product
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W2", "ten complex128 tensor contractions")
FORMS = ("einsum", "tensordot", "matmul")
_DATA = {}


def data(d):
    if d not in _DATA:
        rng = np.random.default_rng(d)
        c = lambda *s: (rng.standard_normal(s) + 1j * rng.standard_normal(s)) / np.sqrt(d)
        a, b = [c(d, d, d) for _ in range(10)], [c(d, d) for _ in range(10)]
        r = {"A": [], "B": []}
        for ai, bi in zip(a, b):
            m = ai.reshape(d * d, d)
            ci = m @ bi
            r["A"].append((2 * ci @ bi.conj().T).reshape(d, d, d))
            r["B"].append(2 * m.conj().T @ ci)
        _DATA[d] = a, b, {k: np.stack(v) for k, v in r.items()}
    return _DATA[d]


def make_case(d, form, wrt):
    a, b, ref = data(d)
    flop = 8 * d**4 * 10 * (2 if wrt == "A" else 3)
    return Case(
        f"D={d} {form} wrt {wrt}",
        d**4,
        {"A": a, "B": b, "form": form, "wrt": wrt},
        lambda: {k: ref[k] for k in wrt},
        rtol=1e-10,
        pilot_size=1,
        facts={"flop": flop},
    )


W.cases = [make_case(32, f, w) for f in FORMS for w in ("A", "AB")]
W.cases += [make_case(64, f, "AB") for f in FORMS]


def contraction(xp, form, einsum=None, tensordot=None):
    if form == "einsum":
        return lambda a, b: (einsum or xp.einsum)("abc,cd->abd", a, b)
    if form == "tensordot":
        return tensordot or (lambda a, b: xp.tensordot(a, b, ((2,), (0,))))
    return lambda a, b: (a.reshape(-1, a.shape[-1]) @ b).reshape(*a.shape[:2], b.shape[1])


def extractor(case, conj):
    f = np.conj if conj else (lambda v: v)

    def extract(o):
        return {k: f(np.stack([np.asarray(g) for g in o[i]])) for i, k in enumerate(case.inputs["wrt"])}

    return extract


def loss_of(c):
    """The workload's loss in NumPy, for a contraction ``c``."""

    def loss(a, b):
        total = 0.0
        for ai, bi in zip(a, b):
            ci = c(ai, bi).reshape(-1)
            total = total + np.vdot(ci, ci).real
        return total

    return loss


@compiled(W, products=True)
def gradviz_engine(case, wrap):
    loss = loss_of(contraction(np, case.inputs["form"]))
    f = wrap(gv.grad(loss, argnums=tuple(range(len(case.inputs["wrt"])))))
    a, b = case.inputs["A"], case.inputs["B"]
    return (lambda: f(a, b)), extractor(case, False)


def torch_job(case, compiled):
    torch = torch_module()
    leaf = lambda k: [torch.tensor(v, requires_grad=k in case.inputs["wrt"]) for v in case.inputs[k]]
    a, b = leaf("A"), leaf("B")
    c = contraction(torch, case.inputs["form"])

    def loss(a, b):
        total = 0.0
        for ai, bi in zip(a, b):
            ci = c(ai, bi).reshape(-1)
            total = total + torch.vdot(ci, ci).real
        return total

    f = torch.compile(fresh(loss), dynamic=False) if compiled else loss
    wrt = a if case.inputs["wrt"] == "A" else a + b

    def call():
        g = torch.autograd.grad(f(a, b), wrt)
        return g[:10], g[10:]

    return call, extractor(case, False)


@W.engine("torch eager")
def torch_eager(case):
    return torch_job(case, False)


@W.engine("torch.compile")
def torch_compiled(case):
    return torch_job(case, True)


def jax_job(case, jit):
    import jax
    import jax.numpy as jnp

    c = contraction(jnp, case.inputs["form"])

    def loss(a, b):
        total = 0.0
        for ai, bi in zip(a, b):
            ci = c(ai, bi)
            total = total + jnp.vdot(ci, ci).real
        return total

    g = jax.grad(loss, argnums=(0, 1) if case.inputs["wrt"] == "AB" else (0,))
    if jit:
        g = jax.jit(g)
    a, b = [[jnp.asarray(v) for v in case.inputs[k]] for k in "AB"]
    return (lambda: jax.block_until_ready(g(a, b))), extractor(case, True)


@W.engine("jax, no jit")
def jax_eager(case):
    return jax_job(case, False)


@W.engine("jax.jit")
def jax_jit(case):
    return jax_job(case, True)


@W.engine("autograd")
def autograd_engine(case):
    import autograd
    import autograd.numpy as anp

    c = contraction(anp, case.inputs["form"])

    def loss(ab):
        b = ab[1] if len(ab) > 1 else case.inputs["B"]
        total = 0.0
        for ai, bi in zip(ab[0], b):
            ci = c(ai, bi)
            total = total + anp.real(anp.sum(anp.conj(ci) * ci))  # no vdot in autograd
        return total

    g = autograd.grad(loss)
    args = tuple(case.inputs[k] for k in case.inputs["wrt"])
    return (lambda: g(args)), extractor(case, True)


@W.limit("numpy hand-written adjoint, out=")
def numpy_hand(case):
    both = case.inputs["wrt"] == "AB"
    d = case.inputs["B"][0].shape[0]
    a = [v.reshape(d * d, d) for v in case.inputs["A"]]
    b = case.inputs["B"]
    c = np.empty((d * d, d), complex)
    ga = [np.empty((d * d, d), complex) for _ in a]
    gb = [np.empty((d, d), complex) for _ in b]

    def call():
        for i in range(10):
            np.matmul(a[i], b[i], out=c)
            np.vdot(c, c)
            np.matmul(c, 2 * b[i].conj().T, out=ga[i])
            if both:  # A^H C = conj(A^T conj(C)) needs a conjugated copy in numpy
                np.conj(c, out=c)
                np.matmul(a[i].T, c, out=gb[i])
                np.conj(gb[i], out=gb[i])
                np.multiply(gb[i], 2, out=gb[i])
        return ga, gb

    return call, lambda o: {
        k: np.stack(v).reshape((10,) + (d,) * (3 if k == "A" else 2)) for k, v in zip(case.inputs["wrt"], o)
    }


@W.limit("MKL hand-written adjoint, out=")
def mkl_hand(case):
    product = Product(complex)
    both = case.inputs["wrt"] == "AB"
    d = case.inputs["B"][0].shape[0]
    a, b = [v.reshape(d * d, d) for v in case.inputs["A"]], case.inputs["B"]
    c = np.empty((d * d, d), complex)
    ga, gb = [np.empty_like(v) for v in a], [np.empty_like(v) for v in b]

    def call():
        for i in range(10):
            product(a[i], b[i], c)
            np.vdot(c, c)
            product(c, b[i], ga[i], b_is=ADJOINT, twice=True)
            if both:
                product(a[i], c, gb[i], a_is=ADJOINT, twice=True)
        return ga, gb

    return call, lambda o: {
        k: np.stack(v).reshape((10,) + (d,) * (3 if k == "A" else 2)) for k, v in zip(case.inputs["wrt"], o)
    }


@W.limit("torch (MKL) hand-written adjoint, out=")
def torch_hand(case):
    torch = torch_module()
    both = case.inputs["wrt"] == "AB"
    d = case.inputs["B"][0].shape[0]
    a = [torch.tensor(v.reshape(d * d, d)) for v in case.inputs["A"]]
    b = [torch.tensor(v) for v in case.inputs["B"]]
    c = torch.empty(d * d, d, dtype=torch.complex128)
    ga = [torch.empty_like(c) for _ in a]
    gb = [torch.empty_like(v) for v in b]

    def call():
        with torch.inference_mode():
            for i in range(10):
                torch.mm(a[i], b[i], out=c)
                torch.vdot(c.view(-1), c.view(-1))
                torch.addmm(c, c, b[i].mH, beta=0, alpha=2, out=ga[i])
                if both:
                    torch.addmm(gb[i], a[i].mH, c, beta=0, alpha=2, out=gb[i])
        return ga, gb

    return call, lambda o: {
        k: np.stack([v.numpy() for v in g]).reshape((10,) + (d,) * (3 if k == "A" else 2))
        for k, g in zip(case.inputs["wrt"], o)
    }


def facts():
    found = {"inductor_start_s": warm_inductor(), "flop": {c.name: c.facts["flop"] for c in W.cases}}
    torch = torch_module()
    for name, mm, arr in (
        ("numpy", lambda x, y, o: np.matmul(x, y, out=o), lambda v: v),
        ("torch", lambda x, y, o: torch.mm(x, y, out=o), torch.tensor),
    ):
        x = arr(np.ones((1024, 1024), complex))
        y, best = arr(np.ones((1024, 1024), complex)), 1e9
        for _ in range(6):
            t = time.perf_counter()
            mm(x, x, y)
            best = min(best, time.perf_counter() - t)
        found[f"zgemm_1024_{name}_gflops"] = 8 * 1024**3 / best / 1e9
    return found


W.before.append(facts)

if __name__ == "__main__":
    raise SystemExit(W.main())
