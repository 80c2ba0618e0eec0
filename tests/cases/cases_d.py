"""D. Host waits and transfers on an accelerator, reproduced on a simulated one.

`dev.counts` is reset just before the measured part; what is returned holds the counts and the gradient, which is
fetched after the counts were read.
"""

import numpy as onp

from tests.cases.expect import check, value_or_error
from tests.cases.registry import case, rng


def limits(**lim):
    """The device was asked for at most so much of each kind."""
    text = ", ".join(f"{kind} <= {most}" for kind, most in lim.items())

    def judge(r):
        for k, v in lim.items():
            if r[k] > v:
                return f"{k} = {r[k]} > {v}: {[what for kind, what in r['log'] if kind == k][:8]}"
        return bool(onp.all(onp.isfinite(r["g"]))) or f"gradient {r['g']}"

    return check(judge, text)


def report(dev, g):
    c = dev.counts
    return {"sync": c.sync, "h2d": c.h2d, "launch": c.launch, "log": list(c.log), "g": dev.get(g)}


@case(
    id="D01",
    source="QuantumKitHub/TensorOperations.jl#235; QuantumKitHub/TensorOperations.jl pull 236",
    expect=limits(sync=0, h2d=0),
)
def contraction_chain_has_no_scalar_readback(np, gv, dev):
    """A chain of tensor contractions with constant prefactors: backward must not read 0-d
    results (for gradients of the prefactors nobody asked for) back to the host."""
    a = [dev.asarray(rng(i).randn(4, 4, 4)) for i in range(5)]
    b = dev.asarray(rng(9).randn(4, 4))
    dev.counts.reset()

    def f(b):
        s = 0.0
        for t in a:
            c = 1.0 * np.einsum("abc,cd->abd", t, b) + 0.5 * np.tensordot(t, b, ([2], [0]))
            s = s + np.sum(c * c)
        return s

    return report(dev, gv.grad(f)(b))


@case(
    id="D03",
    source="deepspeedai/DeepSpeed pull 5135; Nerogar/OneTrainer pull 1608; jolibrain/joliGEN pull 374",
    expect=limits(sync=2, h2d=0),
)
def only_the_users_own_readbacks(np, gv, dev):
    """The user logs float(loss) on 2 of 8 steps: exactly those two waits, none added by the
    engine or by an attached recorder."""
    w = dev.asarray(rng(0).randn(4))
    dev.counts.reset()
    for step in range(8):
        v, g = gv.value_and_grad(lambda w: np.sum(np.exp(w) - w))(w)
        if step % 4 == 0:
            float(v)
        w = w - 0.1 * g
    return report(dev, w)


@case(
    id="D04", source="NVIDIA/Megatron-LM pull 7076; facebookresearch/fairchem pull 2193", expect=limits(sync=0, h2d=0)
)
def rules_do_not_branch_on_values(np, gv, dev):
    """Rules that must tell zeros, ties or NaN apart (prod, max, norm, power, where, abs, sort)
    do it with device arithmetic; a Python `if` on a device value is a wait per call."""
    x = dev.asarray(onp.array([[2.0, 0.0, 3.0], [1.0, 4.0, 4.0]]))
    dev.counts.reset()

    def f(x):
        return (
            np.sum(np.max(x, axis=1))
            + np.sum(np.linalg.norm(x, axis=1))
            + np.sum((x + 1.0) ** 1.5)
            + np.sum(np.where(x > 1, x * x, 0.0 * x))
            + np.sum(np.abs(x))
            + np.sum(np.sort(x, axis=1)[:, 0])
            + np.sum(np.prod(x + 1.0, axis=1))
            + np.sum(np.clip(x, 0.5, 2.5))
        )

    return report(dev, gv.grad(f)(x))


@case(
    id="D06",
    source="cupy/cupy#8389; cupy/cupy#9065; chainer/chainer#3266; cupy/cupy pull 2504",
    expect=value_or_error(True, clear=r"numpy|host|device"),
)
def host_constant_mixed_with_device_array(np, gv, dev):
    """A numpy array captured by a loss on device data: an error that names the host array (as
    CuPy does), or at most one copy per call; not one copy per operation nor a silent fallback
    of the whole computation to the host."""
    x, c = dev.asarray(rng(0).randn(5)), rng(1).randn(5)
    dev.counts.reset()
    g = gv.grad(lambda x: np.sum(c * x + c * np.sin(x) + x * c))(x)
    r = report(dev, g)
    return bool(r["h2d"] <= 1 and r["sync"] == 0 and type(g).__name__ == type(x).__name__)


@case(id="D09", source="soran-ghaderi/torchebm#239; pytorch/pytorch#12461", expect=limits(sync=3, h2d=0))
def stopping_test_costs_one_wait_per_step(np, gv, dev):
    """while norm(g) > tol: one wait per test by the user, nothing more from gradient code that
    ran in between."""
    x = dev.asarray(onp.array([1.0, 2.0]))
    dev.counts.reset()
    for _ in range(3):
        g = gv.grad(lambda x: np.sum(np.cosh(x)))(x)
        x = x - 0.3 * g
        if not (np.sum(g * g) > 1e-12):
            break
    return report(dev, x)
