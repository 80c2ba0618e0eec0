"""The three stories on a GPU: gradviz, CuPy written by hand, and PyTorch and JAX where they are and see the device.

python -m tests.gpu.stories [--device sim:a100] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gradviz as gv
from gradviz.record.events import Trigger
from tests.gpu.machine import Gpu, gpu

D, CONTRACTIONS = 32, 10
N = 1000
SIZE, STEPS = 300_000, 8


def contraction(machine: Gpu) -> dict[str, Callable[[], Any]]:
    """Story 1: the cotangents of ten contractions of complex128, 32³."""
    As = [machine.array(D, D, D, seed=k, is_complex=True) for k in range(CONTRACTIONS)]
    Bs = [machine.array(D, D, seed=100 + k, is_complex=True) for k in range(CONTRACTIONS)]
    xp = machine.xp

    def by_hand():
        Cs = [xp.tensordot(A, B, 1) for A, B in zip(As, Bs, strict=True)]
        return [
            (xp.tensordot(C, B.conj().T, 1), xp.tensordot(A.conj(), C, ((0, 1), (0, 1))))
            for A, B, C in zip(As, Bs, Cs, strict=True)
        ]

    def by_gradviz():
        Cs, pull = gv.vjp(lambda As, Bs: [np.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)], As, Bs)
        return list(zip(*pull(Cs), strict=True))

    def pulled(As, Bs):
        Cs, pull = gv.vjp(lambda As, Bs: [np.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)], As, Bs)
        return list(zip(*pull(Cs), strict=True))

    plan = gv.compile(pulled)
    return {
        "CuPy by hand": by_hand,
        "gradviz": by_gradviz,
        "gradviz, plan": lambda: plan(As, Bs),
        **by_rivals(machine, As, Bs),
    }


def by_rivals(machine: Gpu, As: list[Any], Bs: list[Any]) -> dict[str, Callable[[], Any]]:
    """The same by PyTorch and JAX, on the device; each runs until it is done."""
    found: dict[str, Callable[[], Any]] = {}
    if machine.simulated:
        return found
    hosts = [[x.get() for x in xs] for xs in (As, Bs)]
    torch = installed("torch")
    if torch is not None and torch.cuda.is_available():
        on_torch = [[torch.tensor(x, device="cuda", requires_grad=True) for x in xs] for xs in hosts]

        def by_torch():
            Cs = [torch.einsum("abc,cd->abd", A, B) for A, B in zip(*on_torch, strict=True)]
            made = torch.autograd.grad(Cs, [*on_torch[0], *on_torch[1]], [C.detach() for C in Cs])
            torch.cuda.synchronize()
            return list(zip(made[:CONTRACTIONS], made[CONTRACTIONS:], strict=True))

        found["PyTorch"] = by_torch
    jax = installed("jax")
    if jax is not None and jax.default_backend() == "gpu":
        jax.config.update("jax_enable_x64", True)
        on_jax = [[jax.numpy.asarray(x) for x in xs] for xs in hosts]

        def pulled(As, Bs):
            Cs, pull = jax.vjp(
                lambda As, Bs: [jax.numpy.einsum("abc,cd->abd", A, B) for A, B in zip(As, Bs, strict=True)], As, Bs
            )
            return list(zip(*pull([C.conj() for C in Cs]), strict=True))  # JAX's cotangents are the conjugates of ours

        compiled = jax.jit(pulled)
        found["JAX (jit)"] = lambda: [(a.conj(), b.conj()) for a, b in jax.block_until_ready(compiled(*on_jax))]
    return found


def installed(name: str) -> Any:
    """A module, None if it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def evalpoly(machine: Gpu) -> dict[str, Callable[[], Any]]:
    """Story 2: Horner's rule over p[i], gradient with respect to p."""
    p, x = machine.array(N), 0.999
    xp = machine.xp

    def horner(p):
        value = p[N - 1]
        for i in range(N - 2, -1, -1):
            value = value * x + p[i]
        return value

    def by_hand():
        horner(p)
        made, ct = xp.empty(N), xp.ones(())
        for i in range(N - 1):
            made[i] = ct
            ct = ct * x
        made[N - 1] = ct
        return made

    plan = gv.compile(gv.grad(horner))
    return {"CuPy by hand": by_hand, "gradviz": lambda: gv.grad(horner)(p), "gradviz, plan": lambda: plan(p)}


def adam(machine: Gpu) -> dict[str, Callable[[], Any]]:
    """Story 3: steps of Adam on a bowl, updated in place; the gradient by hand and by gradviz."""
    curvature, bottom, start = (machine.array(SIZE, seed=k) for k in range(3))
    curvature = curvature * curvature + 0.5

    def loss(p):
        return 0.5 * np.sum(curvature * (p - bottom) ** 2)

    def steps(gradient: Callable[[Any], Any]) -> Any:
        p, m, v = start.copy(), machine.xp.zeros(SIZE), machine.xp.zeros(SIZE)
        for t in range(1, STEPS + 1):
            g = gradient(p)
            m *= 0.9
            m += 0.1 * g
            v *= 0.999
            v += 0.001 * g * g
            p -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return p

    def step(p, m, v, t):
        g, t = gv.grad(loss)(p), t + 1.0
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v, t

    plan = gv.compile(step, donate=("p", "m", "v"))

    def by_plan() -> Any:
        state = start.copy(), machine.xp.zeros(SIZE), machine.xp.zeros(SIZE), 0.0
        for _ in range(STEPS):
            state = plan(*state)
        return state[0]

    return {
        "CuPy by hand": lambda: steps(lambda p: curvature * (p - bottom)),
        "CuPy by hand, fused": lambda: steps_fused(machine, start, curvature, bottom),
        "gradviz": lambda: steps(gv.grad(loss)),
        "gradviz, plan": by_plan,
        **adam_by_rivals(machine, start, curvature, bottom),
    }


def steps_fused(machine: Gpu, start: Any, curvature: Any, bottom: Any) -> Any:
    """The same as one kernel of CuPy's for each step, which is as well as it can be written there."""
    p, m, v = start.copy(), machine.xp.zeros(SIZE), machine.xp.zeros(SIZE)
    update = fused_kernel(machine)
    for t in range(1, STEPS + 1):
        update(p, m, v, curvature, bottom, 1 - 0.9**t, 1 - 0.999**t)
    return p


@cache
def fused_kernel(machine: Gpu) -> Callable[..., Any]:
    if machine.simulated:  # no kernels of one's own there: one launch, as long as the bytes take

        def update(p: Any, m: Any, v: Any, curvature: Any, bottom: Any, first: float, second: float) -> None:
            g = curvature._host * (p._host - bottom._host)
            m._host[...] = 0.9 * m._host + 0.1 * g
            v._host[...] = 0.999 * v._host + 0.001 * g * g
            p._host[...] -= 0.1 * (m._host / first) / (np.sqrt(v._host / second) + 1e-8)
            machine.xp.device.launch("adam", 8 * p.nbytes, machine.xp.device.preset.ufunc_ns, 15 * p.size)

        return update
    kernel = machine.xp.ElementwiseKernel(
        "raw float64 curvature, raw float64 bottom, float64 first, float64 second",
        "float64 p, float64 m, float64 v",
        "double g = curvature[i] * (p - bottom[i]); m = 0.9 * m + 0.1 * g; v = 0.999 * v + 0.001 * g * g;"
        "p -= 0.1 * (m / first) / (sqrt(v / second) + 1e-8)",
        "adam_by_hand",
    )
    return lambda p, m, v, curvature, bottom, first, second: kernel(curvature, bottom, first, second, p, m, v)


def adam_by_rivals(machine: Gpu, start: Any, curvature: Any, bottom: Any) -> dict[str, Callable[[], Any]]:
    """The same by PyTorch's fused optimizer and by JAX, on the device; each runs until it is done."""
    found: dict[str, Callable[[], Any]] = {}
    if machine.simulated:
        return found
    hosts = [x.get() for x in (start, curvature, bottom)]
    torch = installed("torch")
    if torch is not None and torch.cuda.is_available():
        first, stiff, low = (torch.tensor(x, device="cuda") for x in hosts)

        def by_torch():
            p = first.clone().requires_grad_()
            optimizer = torch.optim.Adam([p], lr=0.1, fused=True)
            for _ in range(STEPS):
                optimizer.zero_grad()
                (0.5 * (stiff * (p - low) ** 2).sum()).backward()
                optimizer.step()
            torch.cuda.synchronize()
            return p.detach()

        found["PyTorch (fused)"] = by_torch
    jax = installed("jax")
    if jax is not None and jax.default_backend() == "gpu":
        jax.config.update("jax_enable_x64", True)
        first, stiff, low = (jax.numpy.asarray(x) for x in hosts)

        def step(p, m, v, t):
            g, t = jax.grad(lambda p: 0.5 * jax.numpy.sum(stiff * (p - low) ** 2))(p), t + 1.0
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return p - 0.1 * (m / (1 - 0.9**t)) / (jax.numpy.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v, t

        compiled = jax.jit(step, donate_argnums=(0, 1, 2))

        def by_jax():
            state = first.copy(), jax.numpy.zeros(SIZE), jax.numpy.zeros(SIZE), 0.0
            for _ in range(STEPS):
                state = compiled(*state)
            return jax.block_until_ready(state)[0]

        found["JAX (jit)"] = by_jax
    return found


STORIES = {"contraction": contraction, "evalpoly": evalpoly, "adam": adam}


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in flat(part)]
    if hasattr(result, "get"):
        return [result.get()]
    return [result.cpu().numpy() if hasattr(result, "cpu") else np.asarray(result)]


def measure(machine: Gpu) -> dict[str, dict[str, float]]:
    """Milliseconds of each way of each story, all of which must agree; and the waits of gradviz's."""
    table: dict[str, dict[str, float]] = {}
    for story, ways in STORIES.items():
        runs = ways(machine)
        want = flat(runs["CuPy by hand"]())
        for name, run in runs.items():
            for got, wanted in zip(flat(run()), want, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8, err_msg=f"{story}, {name}")
        table[story] = {name: machine.took_ns(run) / 1e6 for name, run in runs.items()}
        for name in ("gradviz", "gradviz, plan"):
            with gv.profile() as p:
                runs[name]()
            syncs = p.trace.syncs
            waited = (syncs["on_device"] == 1) & (syncs["trigger"] != Trigger.ALLOCATION)
            table[story][f"waits of {name}"] = float(waited.sum())
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    machine = gpu(options.device)
    table = measure(machine)
    (options.out / "stories.json").write_text(
        json.dumps({"device": machine.name, "simulated": machine.simulated, "ms": table}, indent=1)
    )
    print(f"\nstories on {machine.name}{' (simulated)' if machine.simulated else ''}, ms")
    for story, row in table.items():
        hand = row["CuPy by hand"]
        print(
            f"  {story:12}",
            *(f"{name} {ms:.3g}" + (f" ({ms / hand:.2f}×)" if "waits" not in name else "") for name, ms in row.items()),
            sep="   ",
        )


if __name__ == "__main__":
    main()
