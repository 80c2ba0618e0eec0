"""B. Cost blow-ups of loops and indexing. Every case also checks a value at a small size.

A case returns Sweep(make, sizes, small); the runner times make(n)() at the listed sizes and
fails if the last doubling costs more than 2**max_slope.
"""

import numpy as onp

from tests.cases.expect import Sweep, growth
from tests.cases.registry import case, rng


@case(id="B02", source="FluxML/Zygote.jl#323", expect=growth(6.0, max_slope=0.6))
def touching_one_entry_of_a_big_constant(np, gv):
    """Using one entry of a large array that is not differentiated must not allocate anything
    of the array's size in backward: cost stays flat when the array grows."""

    def make(n):
        c = onp.ones(n)

        def f(p):
            s = 0.0
            for k in range(40):
                s = s + c[k] * p * p
            return s

        return lambda: gv.grad(f)(1.5)

    c = onp.array([3.0, 0.0])
    return Sweep(make, (1000000, 2000000, 4000000), gv.grad(lambda p: c[0] * p * p)(1.0))


@case(
    id="B04", source="jax-ml/jax#10197; jax-ml/jax pull 16423; FluxML/Zygote.jl#644", expect=growth(onp.array([12.0]))
)
def buffer_recurrence(np, gv):
    """Rows of a preallocated buffer written one after the other, each from the previous one.
    A functional update that copies the whole buffer per write is quadratic."""

    def run(x0, n):
        b = gv.mutable((n,) + tuple(x0.shape))
        b[0] = x0
        for t in range(1, n):
            b[t] = b[t - 1] * 0.99 + np.sin(b[t - 1])
        return np.sum(gv.frozen(b) ** 2)

    def make(n):
        x0 = rng(0).randn(512)
        return lambda: gv.grad(lambda x: run(x, n))(x0)

    def small(x):
        b = gv.mutable((3, 1))
        b[0] = x
        for t in (1, 2):
            b[t] = b[t - 1] * b[t - 1]
        return np.sum(gv.frozen(b)[2]) - np.sum(gv.frozen(b)[1]) * 5

    return Sweep(make, (200, 400, 800), gv.grad(small)(onp.array([2.0])))


@case(id="B06", source="jax-ml/jax#2491", expect=growth(0.0, atol=1e-6))
def tridiagonal_solver_loops(np, gv):
    """Two-sweep tridiagonal elimination with columns read and written one by one (the classic
    in-place numpy routine) over many right-hand sides; compared with a dense solve."""

    def solve(a, b, c, d):
        n = d.shape[0]
        cp, dp = [c[0] / b[0]], [d[0] / b[0]]
        for i in range(1, n):
            m = b[i] - a[i] * cp[-1]
            cp.append(c[i] / m)
            dp.append((d[i] - a[i] * dp[-1]) / m)
        x = [dp[-1]]
        for i in range(n - 2, -1, -1):
            x.append(dp[i] - cp[i] * x[-1])
        return np.stack(x[::-1])

    def data(n, k):
        return rng(0).rand(n, k), 4 + rng(1).rand(n, k), rng(2).rand(n, k), rng(3).randn(n, k)

    def make(n):
        a, b, c, d = data(n, 256)
        return lambda: gv.grad(lambda a, b, c, d: np.sum(solve(a, b, c, d) ** 2), (0, 1, 2, 3))(a, b, c, d)

    a, b, c, d = data(4, 1)
    g = gv.grad(lambda b: np.sum(solve(a, b, c, d) ** 2))(b)
    m = onp.diag(b[:, 0]) + onp.diag(a[1:, 0], -1) + onp.diag(c[:-1, 0], 1)
    x = onp.linalg.solve(m, d[:, 0])
    want = -onp.linalg.solve(m.T, 2 * x) * x
    return Sweep(make, (100, 200, 400), np.max(np.abs(np.ravel(g) - want)))


@case(
    id="B09",
    source="FluxML/Zygote.jl#644 (foldl/iteration); FluxML/Zygote.jl pull 137",
    expect=growth(onp.array([5.0, 1.0, 2.0])),
)
def iteration_and_unpacking(np, gv):
    """`for row in x`, `a, b, c = x`, zip(x, x[1:]) and sum(list) over a traced array: linear
    cost and right values."""

    def make(n):
        x = rng(0).randn(n, 512)

        def f(x):
            s = 0.0
            for row, nxt in zip(x, x[1:]):
                s = s + row * nxt
            return np.sum(s)

        return lambda: gv.grad(f)(x)

    def small(x):
        a, b, c = x
        return a * 5 + sum([b, c, c])

    return Sweep(make, (200, 400, 800), gv.grad(small)(onp.array([1.0, 2.0, 3.0])))


@case(
    id="B10", source="tinygrad/tinygrad#8617; pytorch-style deep graphs", expect=growth(1.0, max_slope=1.4, rtol=1e-4)
)
def very_long_chain(np, gv):
    """Tens of thousands of dependent scalar operations: no RecursionError in backward, in
    garbage collection of the graph, or in the trace; linear time."""

    def f(x, n):
        y = x
        for _ in range(n):
            y = y * 0.999 + 0.001 * y
        return y

    def make(n):
        return lambda: gv.grad(lambda x: f(x, n))(1.0)

    return Sweep(make, (5000, 10000, 20000), gv.grad(lambda x: f(x, 20000))(1.0))
