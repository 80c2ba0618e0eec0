"""Random programs of loops that Python looks into: branches in them, early exits, counts that depend on values, writes, views.

What a compiled one gives at later calls, whose arguments take the same way, another way or another number of turns, is what it gives
uncompiled.

    python -m tests.plan.random_loops --count 1000      seeds 0 to 999; failures are printed
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradviz as gv
import gradviz.plan.kernels.runner
from gradviz.errors import CaptureError, CompileWarning, DonationError
from gradviz.plan.kernels import run_blocks
from tests.engine.programs import inner, some_directions
from tests.plan.agree import differences, disagreement, kept

N = 12  # entries of the vectors
NUMBERS = [
    "{s} * 0.7 + {p} * 0.3", "np.sin({s} + a)", "{s} - 0.3 * ({s} - np.cos({t}) * a)", "0.5 * ({s} + b * {p})",
    "np.tanh({t} * {s}) + 0.1",
    "{t} * 0.5 + {s} * 0.25", "np.maximum({s}, {p})", "np.sum(y) * 0.1", "np.log({p} * {p} + 1.1)", "{s} / (1.5 + {t} * {t})",
    "{s} * 0.01 * k", "({s} + a / {s}) / 2 if abs({s}) > 0.5 else {s} + 0.6", "np.where({s} > {p}, {s} * 0.5, {p})", "y[2] * {s}",
    "c[{i}] * 0.5 + {s} * 0.1", "np.minimum(0.9, {s} * {s}) - 0.2", "np.exp(-{s} * {s}) * {p}", "abs({s}) ** 0.5 * 0.4",
    "np.sum(u * u) * 0.2",
]  # fmt: skip
VECTORS = [
    "np.sin(y) * 0.5 + x * 0.1", "y * 0.9 + {s} * 0.01", "y - 0.2 * (y - np.cos(y) * 0.3)", "np.tanh(y + x * {s})",
    "np.where(y > x, y * 0.5, x)", "y * x + c * 0.1", "np.abs(y) * 0.7", "y[::-1] * 0.8",
]  # fmt: skip
WRITES = [
    "c[{i}] = {s}", "c[{i}] += {t} * 0.5", "y[{i}] = {s} * {p}", "y[1:4] *= 0.9", "v = y[2:5]; v += {s} * 0.1", "y += 0.1 * x",
    "c[{i}:] = {s} * 0.3", "y *= 0.95", "c[:3] += y[:3] * 0.1", "y[{i}] += 0.1 * y[0]", "v = c[{i}:]; v[0] = {s} * 0.2",
]  # fmt: skip
SMALL = [
    "u = np.tanh(w @ u)",
    "u = u * 0.5 + {s} * 0.1",
    "u = np.linalg.solve(w @ w.T + 2 * np.eye(3), u)",
    "u = u / (1 + np.sum(u * u))",
]
CONDITIONS = [
    "{s} > {p}", "{p} > 0", "abs({s} - {t}) > 0.05", "np.sum(y) > 0.2", "np.max(np.abs(y - x)) > 0.3", "{s} > a", "not {s} > 0.1",
    "{s} > 0 and {t} < 0.5", "int(3 * {s}) == 1", "{s} < 0.8", "{t} > -0.7", "np.any(y > 0.9)", "k % 2 == 0", "k == 5", "a > 0.2",
    "np.sum(u * u) > 0.5", "{s}", "bool({s} >= {t})", "{s} == {t}",
]  # fmt: skip
LOOPS = [
    "for i in range(12):", "for i in range(11, -1, -1):", "for i in range(1, 12):", "for i in range(30):", "for i in range(0, 24, 2):",
    "for i in [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7]:", "while {m} < 25:", "while abs({s} - {t}) > 1e-3 and {m} < 40:",
    "while abs({s} - np.cos({s}) * a) > 1e-6 and {m} < 60:", "while np.max(np.abs(y - x)) > 0.05 and {m} < 30:", "for p in x:",
]  # fmt: skip
INNER = ["for j in range(9):", "for j in range(3):", "while abs({s} - {t}) > 1e-2 and {m} < 10:", "for j in [2, 0, 1]:"]
TOLD = [
    "{s} = gv.while_loop(lambda q: np.abs(q - np.cos(q) * a) > 1e-6, lambda q: q - 0.3 * (q - np.cos(q) * a), {s})",
    "{s}, z = gv.scan(lambda q, r: (np.sin(q) * 0.5 + r, q * r), {s}, x); y = y * 0.5 + z * 0.1",
    "{s} = gv.fold(lambda q, r: q * 0.4 + np.tanh(r) * {t}, {s}, x)",
    "y = gv.while_loop(lambda q: np.max(np.abs(q)) > 0.3, lambda q: q * 0.8, y)",
]


class Writing:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []

    def fill(self, form: str, index: str, loops: int = 0) -> str:
        s, t = self.rng.sample(["s", "t"], 2)
        return form.format(s=s, t=t, m=f"m{loops}", i=index, p=f"x[{index}]" if index != "p" else "p")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int, index: str, loops: int) -> None:
        rng = self.rng
        place = index if index != "p" else "k % 12"
        kind = rng.choices(["number", "vector", "write", "small", "if", "loop", "told"], [6, 2, 3, 1, 4, 0.8, 0.4])[0]
        if kind == "number":
            self.line(depth, f"{rng.choice('sst')} = " + self.fill(rng.choice(NUMBERS), place))
        elif kind == "vector":
            self.line(depth, "y = " + self.fill(rng.choice(VECTORS), place))
        elif kind == "write":
            self.line(depth, self.fill(rng.choice(WRITES), place))
        elif kind == "small":
            self.line(depth, self.fill(rng.choice(SMALL), place))
        elif kind == "told":
            self.line(depth, self.fill(rng.choice(TOLD), place))
        elif kind == "if":
            self.branch(depth, place, loops)
        elif loops < 2 and depth < 4:
            self.loop(depth, loops)

    def branch(self, depth: int, index: str, loops: int) -> None:
        rng = self.rng
        self.line(depth, f"if {self.fill(rng.choice(CONDITIONS), index)}:")
        leaving = rng.random()
        if loops and leaving < 0.35:
            self.line(depth + 1, "break" if leaving < 0.25 else "continue")
            return
        self.statements(depth + 1, index, loops, rng.randint(1, 2))
        if rng.random() < 0.4:
            self.line(depth, "else:")
            self.statements(depth + 1, index, loops, rng.randint(1, 2))

    def statements(self, depth: int, index: str, loops: int, count: int) -> None:
        before = len(self.lines)
        for _ in range(count):
            self.statement(depth, index, loops)
        if len(self.lines) == before:
            self.line(depth, "s = s * 0.9")

    def loop(self, depth: int, loops: int) -> None:
        rng = self.rng
        head = self.fill(rng.choice(INNER if loops else LOOPS), "0", loops)
        if head.startswith("while"):
            self.line(depth, f"m{loops} = 0")
        self.line(depth, head)
        index = "p" if "p in" in head else "j" if "j in" in head else rng.choice(["i % 12", "i % 12", "i // 3", "0"])
        index = "k % 12" if head.startswith("while") else index
        self.line(depth + 1, f"k += 1; m{loops} += 1" if head.startswith("while") else "k += 1")
        self.statements(depth + 1, index, loops + 1, rng.randint(1, 2 if loops else 4))

    def source(self) -> str:
        self.line(1, "s, t, k, y, c, u = a * 0.5, b + 0.1, 0, x * 0.5, np.zeros_like(x), x[:3] * 0.7")
        for _ in range(self.rng.randint(1, 2)):
            self.statements(1, "3", 0, self.rng.randint(0, 2))
            self.loop(1, 0)
        self.line(1, "return s + t * 0.5 + np.sum(np.sin(c)) + np.sum(y * 0.3) + np.sum(u)")
        return "\n".join(["def f(x, a, b, w):", *self.lines])


def program(seed: int) -> tuple[str, Callable[..., Any]]:
    """A random program, as text and as a function of (vector, number, number, matrix)."""
    source = Writing(random.Random(seed)).source()
    space: dict[str, Any] = {"np": np, "gv": gv}
    exec(source, space)
    return source, space["f"]


def arguments(seed: int) -> list[tuple[Any, ...]]:
    """Those of several calls; some take the way of the first."""
    rng = np.random.default_rng(seed)

    def drawn(scale: float) -> tuple[Any, ...]:
        return (
            rng.uniform(-scale, 1, N),
            float(rng.uniform(-scale, 1)),
            float(rng.uniform(-scale, 1)),
            rng.uniform(-0.5, 0.5, (3, 3)),
        )

    first = drawn(0.0)

    def near(much: float) -> tuple[Any, ...]:
        return tuple(x * (1 + much * rng.uniform(-1, 1)) for x in first)

    return [first, near(1e-9), near(1e-3), drawn(1.0), near(0.1), drawn(0.3), first]


def ways(f: Callable[..., Any], args: tuple[Any, ...], seed: int) -> dict[str, Callable[..., Any]]:
    """What is compiled: the function, its gradient, and for some its second derivatives."""
    everything = (0, 1, 2, 3)
    if seed % 5 == 0:
        return {"value": f, "first": gv.value_and_grad(f, everything)}
    if seed % 5 > 1:
        return {"first": gv.value_and_grad(f, everything)}
    gradient, directions = gv.grad(f, everything), some_directions(args)
    reverse = gv.grad(lambda *a: sum(inner(g, d) for g, d in zip(gradient(*a), directions, strict=True)), everything)
    return {"reverse over reverse": reverse, "forward over reverse": lambda *a: gv.jvp(gradient, a, directions)}


def wrong(seed: int) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    source, f = program(seed)
    calls = arguments(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CompileWarning)
        for name, way in ways(f, calls[0], seed).items():
            good = [args for args in calls if is_smooth(way, args)]
            try:
                found = disagreement(way, good, 1e-7) or (donated_differs(way, good) if name == "first" else None)
            except CaptureError:
                continue
            except Exception:  # noqa: BLE001 - any exception is a finding
                found = traceback.format_exc(limit=-4)
            if found:
                return f"{name}: {found}\n{source}"
    return None


def is_smooth(way: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether it can be computed, and comes to numbers that say something."""
    try:
        leaves = gv.transforms.trees.flatten(way(*kept(args)))[0]
    except (RuntimeWarning, ValueError, ZeroDivisionError, OverflowError):
        return False
    return all(np.all(np.abs(x) < 1e6) for x in leaves)


def donated_differs(way: Callable[..., Any], calls: list[tuple[Any, ...]]) -> str | None:
    """The same with a vector that may be overwritten: not before all that Python looked at is known."""
    mine = gv.compile(way, donate=0)
    for k, args in enumerate(calls):
        try:
            got = mine(*kept(args))
        except DonationError:
            return None
        found = differences(got, way(*kept(args)), 1e-7)
        if found:
            return f"donated, call {k}: {found}"
    return None


def main(first: int, count: int, blocks: bool = False) -> int:
    """Judge the programs of ``count`` seeds, and return how many are wrong."""
    if blocks:
        gradviz.plan.kernels.runner.runner = lambda: run_blocks
    failures = 0
    for seed in range(first, first + count):
        found = wrong(seed)
        if found:
            failures += 1
            print(f"--- seed {seed}: {found}", flush=True)
    print(f"{count} programs judged, {failures} failures")
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--blocks", action="store_true", help="run kernels by NumPy, which need not be compiled")
    chosen = parser.parse_args()
    sys.exit(bool(main(chosen.first, chosen.count, chosen.blocks)))
