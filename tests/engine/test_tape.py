"""Are tapes linear in time, gone when they are done, and apart in threads?"""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.engine.array import bottom

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("x", [1.0, X])
def test_a_hundred_thousand_calls_deep(x):
    def f(t):
        for _ in range(100_000):
            t = t * 1.00001
        return np.sum(t)

    assert np.allclose(gv.grad(f)(x), 1.00001**100_000)


def test_deep_views_and_writes():
    def f(x):
        v = x * 1.0
        for _ in range(2000):
            v = v[:]
        for _ in range(2000):
            x[0] = x[0] * 1.001
        return np.sum(v) + np.sum(x)

    assert np.allclose(gv.grad(f)(X), [1 + 1.001**2000, 2, 2])


@pytest.fixture
def no_collector():
    """Garbage that only the collector would find stays, and is seen."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def watched(kept):
    def f(x):
        y = np.sin(x)
        z = y[1:] * y[:-1]
        w = np.zeros_like(x)
        w[1:] = z
        w += x
        kept.extend(weakref.ref(part) for part in (x.tape, bottom(y), bottom(z), bottom(w)))
        return np.sum(w * w)

    return f


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "run",
    [
        lambda f: gv.grad(f)(X),
        lambda f: gv.vjp(f, X)[1](1.0),
        lambda f: gv.jacobian(f)(X),
        lambda f: gv.hessian(f)(X),
        lambda f: gv.grad(lambda x: np.sum(gv.grad(f)(x)))(X),
        lambda f: gv.grad(lambda x: gv.checkpoint(f)(x))(X),
        lambda f: profiled(f),
        lambda f: failing(f),
    ],
    ids=["grad", "vjp", "jacobian", "hessian", "second", "checkpoint", "profile", "exception"],
)
def test_nothing_outlives_a_gradient(run):
    kept = []
    run(watched(kept))
    assert kept
    assert not any(reference() is not None for reference in kept)


def profiled(f):
    with gv.profile() as p:
        gv.grad(f)(X)
    return len(p.trace)


def failing(f):
    def g(x):
        f(x)
        raise KeyError

    with pytest.raises(KeyError):
        gv.grad(g)(X)


def peak_nbytes(run):
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_saved_values_go_as_cotangents_come():
    n, deep = 100_000, 30

    def f(x):
        for _ in range(deep):
            x = np.sin(x)
        return np.sum(x)

    gradient, x = gv.grad(f), np.ones(n)
    assert peak_nbytes(lambda: gradient(x)) < (deep + 4) * x.nbytes


def test_cotangents_add_up_in_place():
    n, parts = 100_000, 50

    def f(x):
        total = 0.0
        for i in range(parts):
            total = total + np.sum(x[i : i + 10] * x[i + 1 : i + 11])
        return total

    x = np.ones(n)
    assert peak_nbytes(lambda: gv.grad(f)(x)) < 1.5 * x.nbytes
    with gv.profile() as p:
        gv.grad(f)(x)
    large = p.trace.buffers["nbytes"] == x.nbytes
    assert np.count_nonzero(large & (p.trace.buffers["alloc_event"] >= 0)) == 1


def test_threads_do_not_see_each_other():
    gate, failures = threading.Barrier(3), []

    def work(k):
        def f(x):
            gate.wait()
            buffer = gnp.zeros((20, 3))
            for i in range(20):
                buffer[i] = x * float(i + k)
                buffer *= 1.0
            gate.wait()
            return np.sum(buffer * buffer)

        with gv.profile(label=str(k)) as p:
            g = gv.grad(f)(X)
        want = 2 * X * sum((i + k) ** 2 for i in range(20))
        own = {p.trace.text(int(n)) for n in p.trace.lanes["name_str"]}
        names = sorted(p.trace.name(i) for i in range(len(p.trace)))
        if not np.allclose(g, want) or len(own) != 1:
            failures.append((k, g, own))
        counts.append(len(names))

    counts: list[int] = []
    threads = [threading.Thread(target=work, args=(k,), name=f"worker {k}") for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(set(counts)) == 1
