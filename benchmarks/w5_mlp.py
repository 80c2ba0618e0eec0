"""W5: MLP 784-512-512-10 (relu), batch 128, softmax cross-entropy, float32:
loss and gradient wrt all weights and biases, no optimiser.

inputs: params (w1, b1, w2, b2, w3, b3), x (128, 784), labels (128,).
extract: loss, w1, b1, ... (float64 reference).
"""

from __future__ import annotations

import time

import numpy as np

import gradviz as gv
from benchmarks.cblas import NOT, TRANSPOSED, Product
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W5", "MLP 784-512-512-10, batch 128, float32")
NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")
SIZES = (784, 512, 512, 10)


def hand(params, x, y, buf=None, matmul=np.matmul):
    """Loss and gradients; buf gives matmul outputs to reuse."""
    w1, b1, w2, b2, w3, b3 = params
    n = len(x)
    o = buf or {}
    h1 = matmul(x, w1, out=o.get("h1"))
    h1 += b1
    np.maximum(h1, 0, out=h1)
    h2 = matmul(h1, w2, out=o.get("h2"))
    h2 += b2
    np.maximum(h2, 0, out=h2)
    z = matmul(h2, w3, out=o.get("z"))
    z += b3
    z -= z.max(1, keepdims=True)
    e = np.exp(z)
    s = e.sum(1, keepdims=True)
    rows = np.arange(n)
    loss = (np.log(s[:, 0]) - z[rows, y]).mean()
    dz = e / s
    dz[rows, y] -= 1
    dz *= dz.dtype.type(1 / n)
    g3 = matmul(h2.T, dz, out=o.get("g3"))
    d2 = matmul(dz, w3.T, out=o.get("d2"))
    d2 *= h2 > 0
    g2 = matmul(h1.T, d2, out=o.get("g2"))
    d1 = matmul(d2, w2.T, out=o.get("d1"))
    d1 *= h1 > 0
    g1 = matmul(x.T, d1, out=o.get("g1"))
    return loss, (g1, d1.sum(0), g2, d2.sum(0), g3, dz.sum(0))


def make_case(batch=128):
    rng = np.random.default_rng(5)
    params = []
    for i, o in zip(SIZES, SIZES[1:]):
        params += [
            (rng.standard_normal((i, o)) * np.sqrt(2 / i)).astype(np.float32),
            (rng.standard_normal(o) * 0.1).astype(np.float32),
        ]
    x = rng.standard_normal((batch, 784)).astype(np.float32)
    y = rng.integers(0, 10, batch)

    def ref():
        loss, g = hand([p.astype(float) for p in params], x.astype(float), y)
        return dict(zip(NAMES, g), loss=loss)

    return Case(f"batch={batch}", batch, {"params": params, "x": x, "labels": y}, ref, rtol=2e-5)


W.cases = [make_case()]


def out(o):
    return dict(zip(NAMES, map(np.asarray, o[1])), loss=np.asarray(o[0]))


def loss(params, x, labels):
    w1, b1, w2, b2, w3, b3 = params
    h = np.maximum(x @ w1 + b1, 0)
    h = np.maximum(h @ w2 + b2, 0)
    z = h @ w3 + b3
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


@compiled(W, products=True)
def gradviz_engine(case, wrap):
    f = wrap(gv.value_and_grad(loss))
    params, x, labels = tuple(case.inputs["params"]), case.inputs["x"], case.inputs["labels"]
    return (lambda: f(params, x, labels)), out


def torch_job(case, compiled):
    torch = torch_module()
    import torch.nn.functional as F

    params = [torch.tensor(p, requires_grad=True) for p in case.inputs["params"]]
    x, y = torch.tensor(case.inputs["x"]), torch.tensor(case.inputs["labels"])

    def f(params, x, y):
        w1, b1, w2, b2, w3, b3 = params
        h = torch.relu(torch.addmm(b1, x, w1))
        h = torch.relu(torch.addmm(b2, h, w2))
        return F.cross_entropy(torch.addmm(b3, h, w3), y)

    if compiled:
        f = torch.compile(fresh(f), dynamic=False)

    def call():
        loss = f(params, x, y)
        return loss.detach(), torch.autograd.grad(loss, params)

    return call, out


@W.engine("torch eager")
def torch_eager(case):
    return torch_job(case, False)


@W.engine("torch.compile")
def torch_compiled(case):
    return torch_job(case, True)


def jax_job(case, jit):
    import jax
    import jax.numpy as jnp

    params = [jnp.asarray(p) for p in case.inputs["params"]]
    x, y = jnp.asarray(case.inputs["x"]), jnp.asarray(case.inputs["labels"])

    def f(params, x, y):
        w1, b1, w2, b2, w3, b3 = params
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        lp = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.take_along_axis(lp, y[:, None], 1).mean()

    g = jax.value_and_grad(f)
    if jit:
        g = jax.jit(g)
    return (lambda: jax.block_until_ready(g(params, x, y))), out


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
    from autograd.scipy.special import logsumexp

    x, y = case.inputs["x"], case.inputs["labels"]
    rows, params = np.arange(len(x)), case.inputs["params"]

    def f(params):
        w1, b1, w2, b2, w3, b3 = params
        h = anp.maximum(x @ w1 + b1, np.float32(0))
        h = anp.maximum(h @ w2 + b2, np.float32(0))
        z = h @ w3 + b3
        return anp.mean(logsumexp(z, axis=1) - z[rows, y])

    g = autograd.value_and_grad(f)
    return (lambda: g(params)), out


@W.engine("mygrad")
def mygrad_engine(case):
    import mygrad as mg
    from mygrad.nnet.losses import softmax_crossentropy

    x, y = case.inputs["x"], case.inputs["labels"]

    def call():
        params = [mg.tensor(p) for p in case.inputs["params"]]
        w1, b1, w2, b2, w3, b3 = params
        h = mg.maximum(mg.matmul(x, w1) + b1, np.float32(0))
        h = mg.maximum(mg.matmul(h, w2) + b2, np.float32(0))
        loss = softmax_crossentropy(mg.matmul(h, w3) + b3, y)
        loss.backward()
        return loss.data, [p.grad for p in params]

    return call, out


@W.engine("tinygrad TinyJit")
def tinygrad_engine(case):
    from tinygrad import Tensor, TinyJit

    params = [Tensor(p).realize() for p in case.inputs["params"]]
    x = Tensor(case.inputs["x"]).realize()
    y = Tensor(case.inputs["labels"].astype(np.int32)).realize()

    @TinyJit
    def step(x, y):
        w1, b1, w2, b2, w3, b3 = params
        h = (x @ w1 + b1).relu()
        h = (h @ w2 + b2).relu()
        loss = (h @ w3 + b3).sparse_categorical_crossentropy(y)
        g = loss.gradient(*params)
        Tensor.realize(loss, *g)
        return [loss, *g]

    step(x, y)  # TinyJit captures on its second call
    step(x, y)

    def call():
        r = step(x, y)
        r[-1].numpy()  # blocks
        return r

    def extract(r):
        return dict(zip(NAMES, (t.numpy() for t in r[1:])), loss=r[0].numpy())

    return call, extract


def buffers(n):
    f = lambda *s: np.empty(s, np.float32)
    return {
        "h1": f(n, 512),
        "h2": f(n, 512),
        "d1": f(n, 512),
        "d2": f(n, 512),
        "g1": f(784, 512),
        "g2": f(512, 512),
        "g3": f(512, 10),
        "z": f(n, 10),
    }


@W.limit("numpy hand-written adjoint, out=")
def numpy_hand(case):
    i = case.inputs
    buf = buffers(len(i["x"]))
    return (lambda: hand(i["params"], i["x"], i["labels"], buf)), out


@W.limit("MKL hand-written adjoint, out=")
def mkl_hand(case):
    product, i = Product(np.float32), case.inputs
    buf = buffers(len(i["x"]))

    def matmul(a, b, out):
        turned = [not v.flags.c_contiguous for v in (a, b)]
        a_is, b_is = (TRANSPOSED if t else NOT for t in turned)
        return product(*(v.T if t else v for v, t in zip((a, b), turned)), out, a_is=a_is, b_is=b_is)

    return (lambda: hand(i["params"], i["x"], i["labels"], buf, matmul)), out


def facts():
    torch = torch_module()
    n = 128
    shapes = [
        ((n, 784), (784, 512)),
        ((n, 512), (512, 512)),
        ((n, 512), (512, 10)),
        ((512, n), (n, 10)),
        ((n, 10), (10, 512)),
        ((512, n), (n, 512)),
        ((n, 512), (512, 512)),
        ((784, n), (n, 512)),
    ]
    found = {
        "inductor_start_s": warm_inductor(),
        "gemm_flop": sum(2 * a[0] * a[1] * b[1] for a, b in shapes),
    }
    for name, mm, arr in (
        ("numpy", lambda x, y, o: np.matmul(x, y, out=o), lambda v: v),
        ("torch", lambda x, y, o: torch.mm(x, y, out=o), torch.tensor),
    ):
        trip = [
            (arr(np.ones(a, np.float32)), arr(np.ones(b, np.float32)), arr(np.ones((a[0], b[1]), np.float32)))
            for a, b in shapes
        ]
        ts = []
        for _ in range(30):
            t = time.perf_counter()
            for x, y, o in trip:
                mm(x, y, o)
            ts.append(time.perf_counter() - t)
        found[f"bare_gemms_{name}_s"] = {"median": sorted(ts)[15], "best": min(ts)}
    return found


W.before.append(facts)

if __name__ == "__main__":
    raise SystemExit(W.main())
