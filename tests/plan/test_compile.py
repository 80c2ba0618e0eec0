"""Does a compiled function give what the function gives?"""

from __future__ import annotations

import dataclasses
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import CaptureError
from tests.engine.programs import inner, kept, some_directions, usable, write
from tests.plan.agree import disagreement

RNG = np.random.default_rng(0)


def other(x: Any, k: int) -> Any:
    """Another value of the same kind, shape and layout."""
    rng = np.random.default_rng(100 + k)
    drawn = rng.uniform(-1, 1, (2, *np.shape(x)))
    made = drawn[0] + 1j * drawn[1] if np.iscomplexobj(x) else drawn[0]
    if isinstance(x, (float, complex)):
        return made.item()
    y = kept(x)
    y[...] = made
    return y


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = write(rng.choice, rng.randint(3, 14))
    if "float(" in program.source or not usable(program):  # a plan follows no read of a float
        return
    f, inputs = program.function(gv.numpy.zeros), program.inputs
    everything, directions = tuple(range(len(inputs))), some_directions(inputs)
    calls = [inputs, *(tuple(other(x, k + 10 * j) for k, x in enumerate(inputs)) for j in range(2))]
    gradient = gv.grad(f, everything)
    ways = {"first": gv.value_and_grad(f, everything)}
    if seed % 4 == 0:
        ways["reverse over reverse"] = gv.grad(
            lambda *a: sum(inner(g, d) for g, d in zip(gradient(*a), directions, strict=True)), everything
        )
        ways["forward over reverse"] = lambda *a: gv.jvp(gradient, a, directions)
    for name, way in ways.items():
        try:
            assert disagreement(way, calls, 1e-8) is None, f"{name}\n{program.source}"
        except CaptureError as e:
            assert "float(" in program.source or ".view(" in program.source, str(e)  # noqa: PT017 - what plans refuse


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def numbers(*shape: int, dtype: Any = float, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    made = rng.uniform(-1, 1, shape)
    return (made + 1j * rng.uniform(-1, 1, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else made.astype(dtype)


TABLE = numbers(5, 2, seed=9)


def newton(x):
    y = x
    for _ in range(20):
        step = (y * y - x) / (2 * y)
        y = y - step
        if abs(step) < 1e-12:
            break
    return y


def branches(x):
    total = 0.0
    for k in range(len(x)):
        total = total + (x[k] ** 2 if x[k] > 0 else -x[k])
    return total


def nested(a, m):
    c = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = np.tanh(a[i, j]) * m + (c[i - 1, j] if i else 0.0)
    return np.sum(c * c)


def deep(a):
    total = 0.0
    for i in range(9):
        for j in range(9):
            for k in range(9):
                total = total + a[i] * a[j] * np.sin(a[k])
    return total


def triangle(a):
    total = 0.0
    for i in range(len(a)):
        for j in range(i):
            total = total + a[i] * a[j]
    return total


def history(x):
    ys = [x, x * 0.5]
    for k in range(40):
        ys.append(np.sin(ys[-1]) * 0.3 + ys[-2] * 0.1 * k)
    return sum(np.sum(y) for y in ys[::3])


def weighted(x):
    total = 0.0
    for k in range(30):
        total = total + x * (0.1 * k * k)
    return np.sum(total)


def gathered(x):
    order = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9]
    total = x[0] * 0.0
    for k in order:
        total = total * 0.5 + x[k] ** 2
    return total


def batches(x, w):
    total = 0.0
    for at in range(0, 60, 4):
        total = total + np.sum((x[at : at + 4] @ w) ** 2)
    return total


def mlp(layers, x):
    for layer in layers:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return np.sum(x**2)


def buffer(a, m):
    c = np.empty_like(a)
    for i in range(len(a)):
        c[i] = a[i] @ m
    return np.sum(c * c)


def scanned(x, c):
    carry, ys = gv.scan(lambda s, k: (np.sin(s) + k, s * k), x, c)
    return carry + np.sum(ys)


def root(a):
    return gv.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)


LAYERS = [{"w": numbers(4, 4, seed=k), "b": numbers(4, seed=k + 7)} for k in range(3)]


def flat_writes(x, y):
    x.flat[1] = np.sum(y)
    x.flat[2:4] = y[:2] * 2.0
    x.flat[[4, 5]] = -1.0
    z = x.T.copy()
    z.flat = y
    return x, z, x.flat[1:3] * 2.0, np.sum(x.flat), [v * 1.0 for v in x.flat][3], x.flat.copy()


PROGRAMS = {
    "flat": (flat_writes, (numbers(2, 3), numbers(3, seed=1))),
    "square": (gv.grad(lambda x: np.sum(x**2)), (numbers(4),)),
    "float32": (gv.value_and_grad(lambda x, y: np.sum(np.exp(x) * y)), (numbers(4, dtype="f4"), numbers(4, dtype="f4", seed=1))),
    "float32 and a number": (gv.grad(lambda x, y: np.sum(x * y) * y, argnums=(0, 1)), (numbers(4, dtype="f4"), 0.3)),
    "complex": (gv.grad(lambda z: np.sum(np.abs(z * z - 1) ** 2)), (numbers(4, dtype=complex),)),
    "complex number": (gv.grad(lambda z: abs(z * z - 1) ** 2), (0.3 + 0.5j,)),
    "complex64": (gv.vjp(lambda z: z, 1.0)[1] and gv.grad(lambda z: np.sum((z * z).real)), (numbers(3, 2, dtype="c8"),)),
    "numbers": (gv.value_and_grad(lambda x, y: np.sin(x) * y + x / y, argnums=(0, 1)), (0.3, 0.7)),
    "plain numbers": (lambda x, y: (x + y, x * 2, -x, x > y, abs(x)), (0.3, 0.7)),
    "0-d": (gv.grad(lambda x: x * x * 3), (np.array(0.3),)),
    "0-d plain": (lambda x: (x * 2, x + 1, x[()], x.reshape(1)), (np.array(0.3),)),
    "numpy number": (gv.value_and_grad(lambda x: x * np.sin(x)), (np.float64(0.3),)),
    "float32 number": (gv.value_and_grad(lambda x: x * np.sin(x)), (np.float32(0.3),)),
    "integers": (lambda n: (n * 2, n // 3, np.bincount(n, minlength=9).sum()), (np.array([1, 2, 3]),)),
    "index array": (gv.grad(lambda w, n: np.sum(w[n] ** 2)), (numbers(5, 2), np.array([0, 3, 3]))),
    "mask": (gv.grad(lambda w: np.sum(np.where(w > 0, w, 0.1 * w) ** 2)), (numbers(5, 2),)),
    "mask picked": (gv.grad(lambda w: np.sum(w[w > 0] ** 2)), (numbers(7),)),
    "closure": (gv.grad(lambda w: np.sum(TABLE * w)), (numbers(5, 2),)),
    "table": (gv.grad(lambda w, n: np.sum(gv.numpy.asarray(TABLE)[n] * w)), (numbers(3, 2), np.array([0, 4, 2]))),
    "aux": (gv.grad(lambda x: (np.sum(x**3), {"x": x, "n": 3, "s": "text", "o": None, "y": x * 2}), has_aux=True), (numbers(4),)),
    "tuples": (gv.grad(lambda p: np.sum(p.w @ p.w) * p.b), (Pair(numbers(3, 3), 0.5),)),
    "dataclass": (gv.grad(lambda p: np.sum(p.w @ p.w) * p.b), (Layer(numbers(3, 3), 0.5),)),
    "layers": (gv.grad(mlp), (LAYERS, numbers(2, 4))),
    "hessian": (gv.hessian(lambda x: np.sum(x**3) * x[0]), (numbers(3),)),
    "jacobian": (gv.jacobian(lambda x: np.sin(x) * x[0]), (numbers(3),)),
    "forward": (lambda x, d: gv.jvp(lambda x: np.sum(np.exp(x) * x), (x,), (d,)), (numbers(3), numbers(3, seed=5))),
    "forward of a number": (lambda x, d: gv.jvp(lambda x: np.exp(x) * x, (x,), (d,)), (0.3, 1.0)),
    "hvp": (lambda x, d: gv.hvp(lambda x: np.sum(np.sin(x) * x), (x,), (d,)), (numbers(3), numbers(3, seed=5))),
    "vjp": (lambda x, d: gv.vjp(np.sin, x)[1](d), (numbers(3), numbers(3, seed=5))),
    "second order": (gv.grad(lambda x: np.sum(gv.grad(lambda y: np.sum(y**3))(x) ** 2)), (numbers(3),)),
    "solve": (gv.grad(lambda a, b: np.sum(np.linalg.solve(a @ a.T + np.eye(3), b)), argnums=(0, 1)), (numbers(3, 3), numbers(3))),
    "eigh": (gv.grad(lambda a: np.sum(np.linalg.eigh(a + a.T)[0] ** 2)), (numbers(3, 3),)),
    "fft": (gv.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4)), (numbers(8),)),
    "sort": (gv.grad(lambda x: np.sum(np.sort(x) * np.arange(5.0))), (numbers(5),)),
    "split": (gv.grad(lambda x: sum((k + 1) * np.sum(p**2) for k, p in enumerate(np.split(x, 3)))), (numbers(6),)),
    "update": (lambda p, g: np.subtract(p, 0.1 * g, out=p), (numbers(4), numbers(4, seed=2))),
    "views written": (lambda x: (x[1:].__setitem__(0, 5.0), x.T[0] * 2, x)[1:], (numbers(3, 3),)),
    "fortran": (gv.grad(lambda x: np.sum(x.ravel(order="K") * np.arange(6.0))), (np.asfortranarray(numbers(3, 2)),)),
    "strided": (gv.grad(lambda x: np.sum(x[::-1] * np.arange(3.0))), (numbers(6)[::2],)),
    "checkpoint": (gv.grad(gv.checkpoint(lambda x: np.sum(np.sin(np.sin(x))))), (numbers(5),)),
    "newton": (gv.value_and_grad(newton), (2.0,)),
    "branches": (gv.value_and_grad(branches), (numbers(9),)),
    "nested": (gv.value_and_grad(nested, argnums=(0, 1)), (numbers(12, 13), 0.7)),
    "deep": (gv.value_and_grad(deep), (numbers(9),)),
    "triangle": (gv.value_and_grad(triangle), (numbers(12),)),
    "history": (gv.value_and_grad(history), (numbers(4),)),
    "history of a number": (gv.value_and_grad(history), (0.4,)),
    "weighted": (gv.value_and_grad(weighted), (numbers(4),)),
    "weighted number": (gv.value_and_grad(weighted), (0.4,)),
    "gathered": (gv.value_and_grad(gathered), (numbers(10),)),
    "batches": (gv.value_and_grad(batches, argnums=(0, 1)), (numbers(60, 3), numbers(3, 2))),
    "buffer": (gv.value_and_grad(buffer, argnums=(0, 1)), (numbers(20, 4), numbers(4, 4))),
    "while loop": (gv.value_and_grad(root), (2.0,)),
    "scan": (gv.value_and_grad(scanned, argnums=(0, 1)), (0.3, numbers(30))),
}  # fmt: skip


def changed(x: Any, seed: int) -> Any:
    """Arguments of the same kind with other numbers."""
    rng = np.random.default_rng(seed)
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "iu":
            return rng.permutation(x)
        y = kept(x)
        y[...] = y * rng.uniform(0.5, 1.5, x.shape)
        return y
    if isinstance(x, (float, complex, np.generic)):
        return type(x)(x * rng.uniform(0.5, 1.5))
    return gv.transforms.trees.tree_map(lambda leaf: changed(leaf, seed), x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    f, args = PROGRAMS[name]
    assert disagreement(f, [args, tuple(changed(x, 1) for x in args), tuple(changed(x, 2) for x in args)]) is None


@pytest.mark.parametrize(
    "write_into",
    [
        lambda v, x: v.__setitem__(Ellipsis, x),
        lambda v, x: v.__setitem__(0, x[0]),
        lambda v, x: v[1:].__setitem__(Ellipsis, x[1:]),
        lambda v, x: np.flip(v).__setitem__(Ellipsis, x),
        lambda v, x: np.add(x, v, out=v),
        lambda v, x: np.add(x, w := np.flip(v), out=w),
    ],
)
def test_what_a_pullback_kept_of_an_array_of_ours_is_safe_from_writes(write_into: Any) -> None:
    def f(x: Any) -> Any:
        v = gv.numpy.zeros(3) / 0.5
        product = v * x
        write_into(v, x)
        return np.sum(np.sin(product + 0.9)) + np.sum(v * x)

    assert disagreement(gv.grad(f), [(np.array([0.3, -0.2, 0.7]),), (np.array([0.5, 0.1, -0.4]),)]) is None
