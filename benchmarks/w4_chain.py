"""W4: per-op overhead: x = sin(x) * a + b, 1000 times (3000 elementwise ops, float64),
L = sum(x); value and gradient wrt the first x.

inputs: x (n,), length (times), a, b (Python floats).  extract: value (), x (n,).
a, b keep the derivative's product far from the subnormals.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import gradviz as gv
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Skip, Workload

W = Workload("W4", "chain of 1000 x (sin, mul, add)", unit="operation")
A, B = 0.9999, 1e-6


def hand(x, length):
    tape, y = [], x
    for _ in range(length):
        tape.append(y)
        y = np.sin(y) * A + B
    g = np.ones_like(x)
    for t in reversed(tape):
        g *= np.cos(t) * A
    return y.sum(), g


def make_case(n, length=1000):
    x = np.random.default_rng(n).uniform(0.2, 1.2, n)

    def ref():
        parts = [hand(x[s : s + 20_000], length) for s in range(0, n, 20_000)]
        return {"value": sum(p[0] for p in parts), "x": np.concatenate([p[1] for p in parts])}

    name = f"n={n}" if length == 1000 else f"n={n} length={length}"
    return Case(
        name, n, {"x": x, "length": length, "a": A, "b": B}, ref, rtol=1e-8, pilot_size=length, unit_count=3 * length
    )


W.cases = [make_case(n) for n in (1, 100, 10_000, 1_000_000)]
W.pilot_cases = [make_case(100, 10), make_case(100, 30)]


def value_x(o):
    return {"value": np.asarray(o[0]), "x": np.asarray(o[1])}


def chain(sin, length):
    def f(x):
        for _ in range(length):
            x = sin(x) * A + B
        return x.sum()

    return f


@compiled(W)
def gradviz_engine(case, wrap):
    f = wrap(gv.value_and_grad(chain(np.sin, case.inputs["length"])))
    x = case.inputs["x"]
    return (lambda: f(x)), value_x


def torch_job(case, compiled):
    torch = torch_module()
    x = torch.tensor(case.inputs["x"], requires_grad=True)
    length, sin = case.inputs["length"], torch.sin

    def f(x):
        for _ in range(length):
            x = sin(x) * A + B
        return x.sum()

    if compiled:
        f = torch.compile(fresh(f), dynamic=False)

    def call():
        x.grad = None
        y = f(x)
        y.backward()
        return y.detach(), x.grad

    return call, value_x


@W.engine("torch eager")
def torch_eager(case):
    return torch_job(case, False)


@W.engine("torch.compile", pilots=True, scale=1.5)
def torch_compiled(case):
    return torch_job(case, True)


def jax_job(case, f, jit):
    import jax
    import jax.numpy as jnp

    g = jax.value_and_grad(f)
    if jit:
        g = jax.jit(g)
    x = jnp.asarray(case.inputs["x"])
    return (lambda: jax.block_until_ready(g(x))), value_x


@W.engine("jax, no jit", scale=0.3)
def jax_eager(case):
    import jax.numpy as jnp

    return jax_job(case, chain(jnp.sin, case.inputs["length"]), False)


@W.engine("jax.jit, unrolled", pilots=True, scale=2)
def jax_unrolled(case):
    import jax.numpy as jnp

    return jax_job(case, chain(jnp.sin, case.inputs["length"]), True)


def scanned(length, unroll=1):
    import jax
    import jax.numpy as jnp

    def f(x):
        y, _ = jax.lax.scan(lambda x, _: (jnp.sin(x) * A + B, None), x, None, length=length, unroll=unroll)
        return y.sum()

    return f


@W.engine("jax.jit, lax.scan")
def jax_scan(case):
    return jax_job(case, scanned(case.inputs["length"]), True)


@W.engine("autograd")
def autograd_engine(case):
    import autograd
    import autograd.numpy as anp

    g = autograd.value_and_grad(chain(anp.sin, case.inputs["length"]))
    x = case.inputs["x"]
    return (lambda: g(x)), value_x


@W.engine("mygrad")
def mygrad_engine(case):
    import mygrad as mg

    f = chain(mg.sin, case.inputs["length"])

    def call():
        x = mg.tensor(case.inputs["x"])
        y = f(x)
        y.backward()
        return y.data, x.grad

    return call, value_x


@W.engine("tinygrad, .contiguous() each step", pilots=True, scale=1)
def tinygrad_engine(case):
    """Without contiguous() all of the chain is one kernel: 10 links took 10 s to
    compile, 30 took 51 s here."""
    from tinygrad import Tensor

    x = Tensor(case.inputs["x"]).realize()
    length = case.inputs["length"]

    def call():
        y = x
        for _ in range(length):
            y = (y.sin() * A + B).contiguous().contiguous_backward()
        y = y.sum()
        (g,) = y.gradient(x)
        Tensor.realize(y, g)
        return y.numpy(), g.numpy()

    return call, value_x


@W.engine("numpy hand-written adjoint", only=lambda c: c.size <= 10_000)
def numpy_hand(case):
    """In blocks that keep the tape small; works in place."""
    x, length = case.inputs["x"], case.inputs["length"]
    n = len(x)
    block = min(n, 2000)
    tape = np.empty((length + 1, block))
    g = np.empty(n)

    def call():
        value = 0.0
        for s in range(0, n, block):
            k = min(block, n - s)
            rows = [tape[i, :k] for i in range(length + 1)]
            rows[0][:] = x[s : s + k]
            for i in range(length):
                y = rows[i + 1]
                np.sin(rows[i], y)
                np.multiply(y, A, y)
                np.add(y, B, y)
            value += rows[length].sum()
            gs = g[s : s + k]
            gs[:] = 1.0
            for i in range(length - 1, -1, -1):
                c = rows[i]
                np.cos(c, c)
                np.multiply(c, A, c)
                np.multiply(gs, c, gs)
        return value, g

    return call, value_x


C_SOURCE = r"""
#include <math.h>
/* In blocks of 64: forward with a tape in cache, then the reverse sweep. */
double chain(const double *x, double *g, long n, long length, double a, double b) {
    double total = 0;
    #pragma omp parallel for reduction(+:total) schedule(static) if(n > 256)
    for (long s = 0; s < n; s += 64) {
        long k = n - s < 64 ? n - s : 64;
        double tape[2000 * 64];
        double y[64], h[64];
        for (long j = 0; j < k; j++) { y[j] = x[s + j]; h[j] = 1; }
        for (long i = 0; i < length; i++) {
            double *t = tape + i * 64;
            if (k == 64) {
                #pragma omp simd
                for (long j = 0; j < 64; j++) { t[j] = y[j]; y[j] = sin(y[j]) * a + b; }
            } else
                for (long j = 0; j < k; j++) { t[j] = y[j]; y[j] = sin(y[j]) * a + b; }
        }
        for (long j = 0; j < k; j++) total += y[j];
        for (long i = length - 1; i >= 0; i--) {
            double *t = tape + i * 64;
            if (k == 64) {
                #pragma omp simd
                for (long j = 0; j < 64; j++) h[j] *= cos(t[j]) * a;
            } else
                for (long j = 0; j < k; j++) h[j] *= cos(t[j]) * a;
        }
        for (long j = 0; j < k; j++) g[s + j] = h[j];
    }
    return total;
}
"""


@W.limit("C fused adjoint (gcc, libmvec, OpenMP)")
def c_hand(case):
    folder = Path(tempfile.mkdtemp())
    src, lib = folder / "chain.c", folder / "chain.so"
    src.write_text(C_SOURCE)
    command = "gcc -Ofast -march=native -mprefer-vector-width=512 -fopenmp -shared -fPIC"
    try:
        subprocess.run([*command.split(), src, "-o", lib, "-lmvec", "-lm"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise Skip(f"no C compiler: {e}") from e
    fn = ctypes.CDLL(lib).chain
    fn.restype = ctypes.c_double
    x, g = case.inputs["x"], np.empty(len(case.inputs["x"]))
    args = (
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(g.ctypes.data),
        ctypes.c_long(len(x)),
        ctypes.c_long(case.inputs["length"]),
        ctypes.c_double(A),
        ctypes.c_double(B),
    )
    return (lambda: (fn(*args), g)), value_x


W.before.append(lambda: {"inductor_start_s": warm_inductor()})

if __name__ == "__main__":
    raise SystemExit(W.main())
