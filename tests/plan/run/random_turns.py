"""Programs drawn at random whose loops hand on vectors, matrices and numbers, through products and what else is no kernel."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

VECTOR = (
    "np.tanh(w @ {v} + {x})", "{v} * 0.5 + np.sin({u})", "w.T @ {u} - {v} * {s}", "{x} * {s}", "np.cos({v}) @ m * 0.3",
    "{v}[::-1] + {u}", "np.linalg.solve(m @ m.T + 3 * np.eye(5), {v})", "np.where({v} > {u}, {v}, 0.5 * {u})", "np.cumsum({v}) * 0.2",
)  # fmt: skip
MATRIX = (
    "0.3 * m @ w",
    "m * 0.5 + 0.1 * np.outer({v}, {u})",
    "m.T - 0.2 * np.tanh(w * {s})",
    "0.5 * (m + m.T)",
    "w * 0.7",
)
NUMBER = ("np.tanh({s} + {v} @ {u})", "0.9 * {s}", "np.sum({v} * {u}) * 0.1", "{s} - 0.1 * m[1, 2]", "np.sin({v}[3])")
INDEX = ("t", "n - 1 - t", "order[t]", "2 * t", "0")
WRITES = (
    "a[1:4] *= 0.5",
    "a[0] = {s}",
    "b[::2] += 0.1 * {x}[::2]",
    "m[2] = {v}",
    "m[:, 1] -= 0.1 * {u}",
    "a += {u} * 0.1",
)


def program(seed: int) -> tuple[str, Callable[..., Any]]:
    """The source of a program of ``(w, x)``, and the function."""
    draw = random.Random(seed)
    count = draw.randint(9, 14)

    def filled(template: str) -> str:
        row = f"x[{draw.choice(INDEX)}]"
        return template.format(v=draw.choice("ab"), u=draw.choice("ab"), s=draw.choice(("s", "r", "0.4")), x=row)

    lines = [
        "def f(w, x):", f"    n, order = {count}, {[draw.randrange(30) for _ in range(count)]}", "    a, b = x[0] * 1.0, np.cos(x[1])",
        "    m, s, r, kept = w * 0.5, np.sum(x[2]) * 0.1, 0.3, []", "    for t in range(n):",
    ]  # fmt: skip
    for _ in range(draw.randint(3, 7)):
        kind = draw.random()
        if kind < 0.45:
            lines.append(f"        {draw.choice('ab')} = {filled(draw.choice(VECTOR))}")
        elif kind < 0.6:
            lines.append(f"        m = {filled(draw.choice(MATRIX))}")
        elif kind < 0.75:
            lines.append(f"        {draw.choice('sr')} = {filled(draw.choice(NUMBER))}")
        elif kind < 0.85:
            lines += ["        a, b, m = a * 1.0, b * 1.0, m * 1.0", f"        {filled(draw.choice(WRITES))}"]
        elif kind < 0.93:
            lines.append("        a, b = b, a")
        else:
            lines.append(f"        kept.append({draw.choice(('a', 'b', 'm[0]', 'a * s'))})")
    lines += ["    total = np.sum(np.sin(a)) + np.sum(b) * s + np.sum(m * m) * 0.1 + r", "    if kept:"]
    lines += ["        total = total + np.sum(np.tanh(np.stack(kept)))", "    return total"]
    source = "\n".join(lines)
    space: dict[str, Any] = {"np": np}
    exec(source, space)
    return source, space["f"]


def arguments(seed: int) -> list[tuple[Any, ...]]:
    """Arguments of three calls, in several layouts."""
    rng = np.random.default_rng(seed)
    w, x = rng.normal(size=(5, 5)) / 3, rng.normal(size=(30, 5)) * 0.5
    return [(w, x), (w * 0.9, x[::-1].copy()), (w.T, np.asfortranarray(x) * 1.1)]
