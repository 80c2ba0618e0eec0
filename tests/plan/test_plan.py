"""What plans are made of: which steps programs become, what they copy, what they hold, what a recording sees of them."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import DonationError
from gradviz.plan.kernels import run_blocks, runner
from gradviz.record.check import check_trace


def horner(x, p):
    r = p[len(p) - 1]
    for i in range(len(p) - 2, -1, -1):
        r = r * x + p[i]
    return r


def chain(x):
    for _ in range(60):
        x = np.sin(x) * 0.999 + 1e-6
    return x.sum()


def filled(a, m):
    c = np.empty_like(a)
    for i in range(len(a)):
        c[i] = a[i] @ m
    return np.sum(c * c)


def relaxed(a):
    total = 0.0
    for i in range(len(a)):
        for j in range(a.shape[1]):
            total = total * 0.5 + np.sin(a[i, j])
    return total


def logistic(w, b, x, y):
    z = x @ w + b
    return np.mean(np.log1p(np.exp(-y * z)))


RNG = np.random.default_rng(0)
PROGRAMS = {
    "horner": (gv.grad(horner, (0, 1)), (0.9, RNG.standard_normal(50))),
    "chain": (gv.value_and_grad(chain), (RNG.random(37),)),
    "chain of one": (gv.value_and_grad(chain), (RNG.random(1),)),
    "filled": (gv.grad(filled, (0, 1)), (RNG.standard_normal((30, 5)), RNG.standard_normal((5, 5)))),
    "relaxed": (gv.value_and_grad(relaxed), (RNG.standard_normal((9, 11)),)),
    "logistic": (
        gv.value_and_grad(logistic, (0, 1)),
        (RNG.standard_normal(6), 0.3, RNG.standard_normal((40, 6)), RNG.choice([-1.0, 1.0], 40)),
    ),
}  # fmt: skip


def agree(got, want):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for a, b in zip(got, want, strict=True):
        if isinstance(b, tuple):
            agree(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_llvmlite_plans_are_run_by_numpy(name, monkeypatch):
    monkeypatch.setattr(runner, "runner", lambda: run_blocks)
    f, args = PROGRAMS[name]
    agree(gv.compile(f)(*args), f(*args))


def kinds(f, *args):
    return [line.kind for line in gv.compile(f).explain(*args).lines]


def test_a_loop_over_entries_is_one_kernel_forward_and_backward():
    lines = gv.compile(PROGRAMS["horner"][0]).explain(*PROGRAMS["horner"][1]).lines
    assert [line.kind for line in lines] == ["fill", "kernel"]
    assert "loop × 49" in lines[1].what


def test_a_chain_over_an_array_is_one_kernel_that_keeps_nothing_outside():
    made = gv.compile(PROGRAMS["chain"][0])
    assert [line.kind for line in made.explain(*PROGRAMS["chain"][1]).lines] == ["kernel"]
    large = (np.random.default_rng(1).random(100_000),)
    assert made.memory(*large).peak_nbytes < 4 * large[0].nbytes  # eager keeps 60 arrays of this size


def test_a_buffer_filled_row_by_row_is_one_product():
    lines = gv.compile(PROGRAMS["filled"][0]).explain(*PROGRAMS["filled"][1]).lines
    assert sorted(line.kind for line in lines) == ["NumPy", "product", "product"]


def test_factors_and_conjugates_are_left_to_the_product():
    def f(a, b):
        c = (a @ b).reshape(-1)
        return np.vdot(c, c).real

    a = RNG.standard_normal((8, 5)) + 1j * RNG.standard_normal((8, 5))
    b = RNG.standard_normal((5, 7)) + 1j * RNG.standard_normal((5, 7))
    gradient = gv.grad(f, (0, 1))
    agree(gv.compile(gradient)(a, b), gradient(a, b))
    assert sorted(kinds(gradient, a, b)) == ["NumPy", "product", "product"]


def test_many_small_tensors_are_one_call():
    def step(p, g):
        for pi, gi in zip(p, g, strict=True):
            pi -= 0.1 * gi
        return p

    p, g = ([RNG.standard_normal(9) for _ in range(50)] for _ in range(2))
    made = gv.compile(step, donate="p")
    want = [a - 0.1 * b for a, b in zip(p, g, strict=True)]
    lines = made.explain(p, g).lines
    assert [(line.kind, line.jobs) for line in lines] == [("kernel", 50)]
    got = made(p, g)
    assert all(a is b for a, b in zip(got, p, strict=True))
    agree(tuple(got), tuple(want))
    for _ in range(3):  # the same arrays again, then others
        want = [a - 0.1 * b for a, b in zip(p, g, strict=True)]
        agree(tuple(made(p, g)), tuple(want))
    p[7] = np.zeros(9)
    want = [a - 0.1 * b for a, b in zip(p, g, strict=True)]
    agree(tuple(made(p, g)), tuple(want))


def test_the_one_needed_copy_is_kept_and_no_other():
    """A value that is returned and also written in place, as in the third story."""

    def step(state, g):
        before = state * 1.0
        state += g
        return before, state

    f = gv.compile(step, donate="state")
    state, g = np.arange(4.0), np.ones(4)
    assert [reason for _, reason, _ in f.explain(state, g).copies] == ["returned as it was before it is written into"]
    assert [line.kind for line in f.explain(state, g).lines] == ["kernel"]
    before, after = f(state, g)
    assert after is state
    agree((before, after), (np.arange(4.0), np.arange(4.0) + 1))

    def views(x):
        y = np.sin(x)
        kept = y[1:]
        y = y + 0.0
        y[0] = 5.0
        return kept, y

    copies = gv.compile(views).explain(np.arange(4.0)).copies
    assert [nbytes for nbytes, _, _ in copies] == [24]
    agree(gv.compile(views)(np.arange(4.0)), views(np.arange(4.0)))


def test_a_donation_without_use_is_an_error_that_says_why():
    with pytest.raises(DonationError, match=r"argument 's'.*no result is of its kind, float64\[4\]"):
        gv.compile(lambda s, x: (np.sum(s), x + 1), donate="s")(np.ones(4), np.ones(3))
    with pytest.raises(DonationError, match="still read"):
        gv.compile(lambda s: (np.linalg.inv(s), np.linalg.det(s)), donate="s")(np.eye(3))


def test_donated_memory_is_used():
    f = gv.compile(lambda s, x: np.sin(s) + x, donate="s")
    s = np.ones(5)
    assert f(s, np.zeros(5)) is s


def test_layouts():
    def f(a, b):
        return np.sum(np.sin(a) * b), a @ b.T

    made = gv.compile(f)
    a, b = RNG.standard_normal((6, 4)), RNG.standard_normal((6, 4))
    for x, y in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b)), (np.repeat(a, 2, 1)[:, ::2], b[::-1])):
        agree(made(x, y), f(x, y))


def test_the_predicted_memory_is_what_a_call_takes():
    def f(x, w):
        h = np.tanh(x @ w)
        return np.sum(h * h)

    x, w = RNG.standard_normal((500, 300)), RNG.standard_normal((300, 200))
    gradient = gv.grad(f, (0, 1))
    made = gv.compile(gradient)
    made(x, w)
    made.plans.clear()
    made.forget()
    predicted = made.memory(x, w).peak_nbytes
    arena = made.memory(x, w).arena_nbytes
    tracemalloc.start()
    made(x, w)  # the arena is there already
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert abs(taken - (predicted - arena)) < 0.05 * predicted


def test_a_recording_sees_the_steps_of_a_plan():
    f, args = PROGRAMS["horner"]
    made = gv.compile(f)
    made(*args)
    with gv.profile() as p:
        got = made(*args)
    agree(got, f(*args))
    check_trace(p.trace)
    names = [str(data.get("name")) for _, data in p.graph().nodes(data=True)]
    assert any(name.startswith("kernel: loop × 49") for name in names), names
    assert "test_plan.py" in p.summary()


def test_calls_side_by_side_have_memory_of_their_own():
    made = gv.compile(PROGRAMS["chain"][0])
    inputs = [RNG.random(5000) for _ in range(8)]
    want = [PROGRAMS["chain"][0](x) for x in inputs]
    got: list = [None] * len(inputs)

    def work(k):
        for _ in range(20):
            got[k] = made(inputs[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(inputs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, b in zip(got, want, strict=True):
        agree(a, b)
