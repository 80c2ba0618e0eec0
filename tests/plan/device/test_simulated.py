"""Does a plan for arrays on a device give what the function gives, in few launches, and without a wait? On the simulated GPU."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace

import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.sim import SimArray
from gradviz.errors import CaptureError, DonationError
from gradviz.transforms.trees import flatten, unflatten
from tests.plan.device.programs import PROGRAMS, adam, branching, contraction
from tests.rules import check, tables


@pytest.fixture
def xp():
    return gv.simulate("a100", fresh=True)


def moved(tree, xp):
    leaves, structure = flatten(tree)
    return unflatten(structure, [like(x, xp) if isinstance(x, np.ndarray) else x for x in leaves])


def like(x, xp):
    """On the device, in the layout that it has on the host."""
    if x.flags.c_contiguous or not x.size:
        return xp.asarray(x)
    if x.flags.f_contiguous:
        return xp.asarray(x.T).T
    gaps = xp.asarray(np.repeat(x, 2, axis=-1))
    return gaps[..., ::2]


def host(tree):
    return [x.get() if isinstance(x, SimArray) else x for x in flatten(tree)[0]]


def agree(got, want):
    for a, b in zip(host(got), host(want), strict=True):
        assert type(a) is type(b)
        loose = 1e-4 if getattr(b, "dtype", None) in (np.float32, np.complex64) else 1e-11
        np.testing.assert_allclose(a, b, rtol=loose, atol=loose)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plan_gives_what_the_function_gives(name, xp):
    f, args = PROGRAMS[name]
    compiled = gv.compile(f)
    for call in range(3):
        mine, theirs = moved(args, xp), moved(args, xp)
        if call == 2 and isinstance(args[0], np.ndarray) and args[0].dtype.kind in "fc":
            mine, theirs = (type(t)([t[0] * 0.5, *t[1:]]) for t in (mine, theirs))
        agree(compiled(*mine), f(*theirs))
        agree(mine, theirs)  # what is written into arguments is written
    assert "waits" in str(compiled.explain(*moved(args, xp)))


def counted(xp, run):
    run()
    xp.device.counts.reset()
    start = xp.device.now_ns()
    run()
    counts = xp.device.counts
    return counts.launch, counts.sync, counts.h2d, xp.device.now_ns() - start


@pytest.mark.parametrize(
    ("name", "most"), [("network", 14), ("adam", 1), ("horner", 2), ("chain", 1), ("contraction", 9)]
)
def test_fewer_launches_no_waits_no_uploads(name, most, xp):
    f, args = PROGRAMS[name]
    args, compiled = moved(args, xp), gv.compile(f)
    compiled(*args)
    launches, waits, uploads, ns = counted(xp, lambda: compiled(*args))
    eager, _, _, eager_ns = counted(xp, lambda: f(*args))
    plan = compiled.explain(*args)
    assert waits == len(plan.waits) == (name == "horner")  # the gradient of a number is read
    assert uploads == 0
    assert launches <= most + 1 < eager  # one more: words that change from call to call
    assert ns < eager_ns


def test_arguments_that_come_again_need_no_words(xp):
    compiled = gv.compile(adam, donate=("p", "m", "v"))
    p, m, v, t, rate, *bowl = moved(PROGRAMS["adam"][1], xp)
    want = adam(p, m, v, t, rate, *bowl)
    for _ in range(3):
        p, m, v, t = compiled(p, m, v, t, rate, *bowl)
    assert t == 3.0
    assert want[0].shape == p.shape
    pointers = {a.data.ptr for a in (p, m, v)}
    p, m, v, t = compiled(p, m, v, t, rate, *bowl)
    assert {a.data.ptr for a in (p, m, v)} == pointers


def test_a_guard_waits_and_says_at_which_line(xp):
    compiled, x = gv.compile(branching), xp.ones(4)
    agree(compiled(x), branching(x))
    agree(compiled(-x), branching(-x))
    ((reason, line),) = compiled.explain(x).waits
    assert reason == "Python looks at a value (bool)"
    assert "programs.py:" in line


def test_looks_in_a_loop_are_counted(xp):
    def shrunk(x):
        while np.sum(x * x) > 1.0:
            x = x * 0.5
        return x

    compiled, x = gv.compile(shrunk), xp.asarray([8.0, 1.0])
    compiled(x)
    xp.device.counts.reset()
    agree(compiled(x), shrunk(x))
    told = sum(int(reason.split()[-2]) if reason.endswith("times") else 1 for reason, _ in compiled.explain(x).waits)
    compiled(x)
    xp.device.counts.reset()
    compiled(x)
    assert told == xp.device.counts.sync > 1


def test_arrays_that_a_function_refers_to_are_read_anew(xp):
    curvature = xp.asarray(np.arange(1.0, 4.0))
    compiled = gv.compile(gv.grad(lambda p: 0.5 * np.sum(curvature * p**2)))
    p = xp.ones(3)
    agree(compiled(p), curvature)
    curvature *= 2.0
    agree(compiled(p), xp.asarray([2.0, 4.0, 6.0]))
    assert not compiled.explain(p).waits


def test_views_of_what_it_refers_to_are_live(xp):
    held = {"w": xp.asarray(np.arange(12.0).reshape(4, 3))}

    def f(x):
        for i in range(4):
            x = np.sin(x) * held["w"][1] + held["w"][i]
        return x

    compiled, x = gv.compile(f), xp.ones(3)
    agree(compiled(x), f(x))
    assert not compiled.explain(x).waits
    held["w"] *= 0.5
    agree(compiled(x), f(x))
    held["w"] = held["w"] + 1.0
    agree(compiled(x), f(x))


def test_what_was_computed_of_them_is_compared(xp):
    table = xp.asarray(np.arange(1.0, 4.0))
    compiled = gv.compile(lambda p: p * (table * 2.0))
    agree(compiled(xp.ones(3)), table * 2.0)
    assert compiled.explain(xp.ones(3)).waits[0][0].startswith("table is compared")
    table += 1.0
    agree(compiled(xp.ones(3)), table * 2.0)


def test_one_plan_runs_on_one_device(xp):
    with pytest.raises(CaptureError, match="lies on host and an argument on sim:a100: a plan runs on one device"):
        gv.compile(lambda a, b: (np.sum(a), np.sum(b)))(xp.ones(3), np.ones(3))
    other = gv.simulate("h100", fresh=True)
    f = gv.compile(lambda a: a * 2.0)
    agree(f(xp.ones(3)), xp.full(3, 2.0))
    assert f(other.ones(3)).device is other.device
    assert f(np.ones(3)).__class__ is np.ndarray


def test_what_is_overwritten_may_share_memory_with_nothing(xp):
    a = xp.ones(6)
    f = gv.compile(lambda a, b: a + b, donate="a")
    f(xp.ones(3), xp.ones(3))
    with pytest.raises(DonationError, match="shares memory"):
        f(a[:3], a[1:4])


def test_functions_that_the_device_lacks_go_by_way_of_the_host(xp):
    f = gv.compile(lambda x: np.fmax.reduce(x) * x)
    x = xp.asarray([1.0, 3.0, 2.0])
    agree(f(x), xp.asarray([3.0, 9.0, 6.0]))
    assert [reason for reason, _ in f.explain(x).waits] == ["the device has no such fmax.reduce: the host computes it"]


def test_a_recording_sees_the_steps_of_a_plan(xp):
    f, args = PROGRAMS["network"]
    args, compiled = moved(args, xp), gv.compile(f)
    compiled(*args)
    with gv.profile() as p:
        compiled(*args)
    names = [p.trace.name(e) for e in range(len(p.trace.events["kind"]))]
    assert any(name.startswith("kernel: ") for name in names)
    assert not (p.trace.syncs["on_device"] == 1).any()


def test_plans_give_their_memory_back(xp):
    f, args = PROGRAMS["network"]
    args, pool = moved(args, xp), xp.get_default_memory_pool()
    before = pool.used_bytes()
    compiled = gv.compile(f)
    compiled(*args)
    held = pool.used_bytes()
    for _ in range(3):
        compiled(*args)
    assert pool.used_bytes() == held
    del compiled
    gc.collect()
    assert pool.used_bytes() == before


def test_threads_have_frames_of_their_own(xp):
    f, args = PROGRAMS["chain"]
    compiled, results = gv.compile(f), {}

    def run(k):
        x = moved(args, xp)[0] * float(k)
        results[k] = [compiled(x) for _ in range(5)][-1], x

    threads = [threading.Thread(target=run, args=(k,)) for k in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, x in results.values():
        agree(got, f(x))


def test_products_take_over_what_is_done_to_their_operands(xp):
    args = moved(PROGRAMS["contraction"][1], xp)
    kinds = [line.kind for line in gv.compile(contraction).explain(*args).lines]
    assert kinds.count("product") == 6  # conjugated operands


ENTRIES = [e for e in tables.ENTRIES if e.device][::25]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_rules(entry, xp):
    """The gradients of a sample of all rules, compiled: right, and without a wait or an upload that is not explained."""
    p = check.point(entry)
    there = check.Point(replace(entry, args=tuple(moved(list(entry.args), xp))), moved(p.xs, xp))
    cts = check.cotangents(p)
    compiled = gv.compile(lambda cts, *xs: gv.vjp(there.floats, *xs)[1](cts))
    sent = tuple(moved(list(cts), xp))
    compiled(sent, *there.xs)
    xp.device.counts.reset()
    got = compiled(sent, *there.xs)
    caused = [what for what in xp.device.counts.log if what[0] != "launch"]
    assert not caused or compiled.explain(sent, *there.xs).waits, caused
    for g, w in zip(host(got), check.gradients(p, cts), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-8)
