"""What does a random NumPy program that reads, writes, views and copies come to, in NumPy and under every derivative?

A program is the source of a function's body. It is written line by line while it runs in plain NumPy, so that each line is
one that NumPy accepts; what NumPy makes of it is what gradviz must make of it.

    python -m tests.engine.programs --count 10000       seeds 0 to 9999; failures are shrunk and printed
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradviz as gv
from gradviz.record.check import check_trace

Choose = Callable[[Sequence[Any]], Any]
SHAPES = [(), (3,), (4,), (2, 3), (3, 3), (3, 2), (2, 1, 3), (1,)]
LARGEST = 1e3  # what grows beyond says nothing about gradients
STEP = 3e-6


@dataclass(frozen=True)
class Program:
    lines: tuple[str, ...]
    inputs: tuple[Any, ...]

    @property
    def source(self) -> str:
        names = ", ".join(f"x{k}" for k in range(len(self.inputs)))
        return "\n    ".join([f"def f({names}):", *self.lines])

    def function(self, zeros: Any) -> Callable[..., Any]:
        space = {"np": np, "zeros": zeros}
        exec(self.source, space)
        return space["f"]

    def value(self, inputs: Sequence[Any]) -> float:
        """What plain NumPy makes of it; the inputs are copied, since NumPy writes into them."""
        return float(self.function(np.zeros)(*(kept(x) for x in inputs)))


def kept(x: Any) -> Any:
    return x.copy(order="K") if isinstance(x, np.ndarray) else x


# ---- writing a program


def write(choose: Choose, length: int) -> Program:
    """A program of about ``length`` lines, each chosen by ``choose`` and tried in NumPy."""
    count = choose([1, 2, 2, 3])
    inputs = tuple(made_input(choose, k) for k in range(count))
    space: dict[str, Any] = {"np": np, "zeros": np.zeros, **{f"x{k}": kept(x) for k, x in enumerate(inputs)}}
    names = [f"x{k}" for k in range(count)]
    lines: list[str] = []
    for _ in range(length):
        name = f"v{len(names) - count}"
        line = statement(choose, space, names, name)
        if line is None:
            continue
        if tried(line, space):
            lines.append(line)
            if name in space:
                names.append(name)
    terms = [term(k, name, space[name]) for k, name in enumerate(names)]
    return Program((*lines, "return " + " + ".join(terms)), inputs)


def term(k: int, name: str, value: Any) -> str:
    """What a name adds to the result: a real number that depends on each entry, and on both parts of complex ones."""
    shown = f"np.real({name}) - 0.7 * np.imag({name})" if np.iscomplexobj(value) else name
    return f"{0.5 + 0.25 * (k % 5)} * np.sum(np.sin({shown} + {0.1 * k:.1f}))"


def tried(line: str, space: dict[str, Any]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(f"if True:\n    {line}", space)  # lines are indented as in the body of a function
    except (RuntimeWarning, ValueError, TypeError, IndexError, AttributeError):
        return False
    return True


def made_input(choose: Choose, k: int) -> Any:
    shape = choose(SHAPES)
    kind = choose(["C", "C", "C", "F", "number", "complex", "complex", "complex F", "complex number"])
    rng = np.random.default_rng(choose(range(5)) + 10 * k)
    numbers = np.asarray(rng.uniform(-1, 1, shape))
    if kind.startswith("complex"):
        numbers, kind = np.asarray(numbers + 1j * rng.uniform(-1, 1, shape)), kind.removeprefix("complex").strip()
    if kind == "number":
        return numbers.flat[0].item()
    if kind == "F":
        return np.asfortranarray(numbers)
    return numbers


def statement(choose: Choose, space: dict[str, Any], names: list[str], new: str) -> str | None:
    v, w = choose(names), choose(names)
    kind = choose(STATEMENTS)
    return kind(choose, v, w, new, space[v], names)


def constant(choose: Choose) -> str:
    return choose(["0.5", "-1.5", "2", "1.0", "0.25"])


def index(choose: Choose, v: str) -> str:
    return choose(INDICES).format(v)


def value(choose: Choose, w: str) -> str:
    return choose([w, w, w, constant(choose), f"np.sum({w})", f"{w}[0]", f"{w} * 0.5"])


# A kind of statement is a function of (choose, one name, another, a new name, the first one's value, all names).


def unary(choose, v, w, new, a, names):
    forms = [
        "np.sin({})", "np.tanh({})", "-{}", "np.square({})", "np.exp(0.3 * {})", "np.cos({})", "+{}", "np.conj({})", "{} * 0.5j",
        "np.real({} * 1.0)",
    ]  # fmt: skip
    return f"{new} = " + choose(forms).format(v)


def pair(choose, v, w, new, a, names):
    op = choose(["+", "-", "*", "/"])
    return f"{new} = {v} / (2.0 + {w} * {w})" if op == "/" else f"{new} = {v} {op} {w}"


def with_constant(choose, v, w, new, a, names):
    forms = ["{} + {}", "{} * {}", "{1} - {0}", "{1} * {0}", "{0} / {1}", "{0} ** 2"]
    return f"{new} = " + choose(forms).format(v, constant(choose))


def view(choose, v, w, new, a, names):
    forms = [
        "{}[0]", "{}[1:]", "{}[::-1]", "{}[:, 0]", "{}[..., None]", "{}[None]", "{}.T",  "{}.reshape(-1)",
        "np.ravel({})", "{}[...]", "{}[::2]", "{}[-1]", "{}[:2, 1:]", "np.swapaxes({}, 0, 1)", "{}.T.reshape(-1)",
        "np.expand_dims({}, 0)", "{}[..., 0]", f"np.reshape({{}}, ({np.size(a)}, 1))", "{}[()]", "np.moveaxis({}, 0, -1)",
        "np.ravel({}, order='F')", "np.diagonal({})", "np.flip({})", "np.rot90({})", "np.atleast_2d({})", "np.split({}, [1])[1]",
        "{}.reshape(2, -1)", "{}.reshape(-1, order='F')", "np.broadcast_to({}, (2, 3))", "{}.view()", "{}.T[1:]", "{}[1:].reshape(-1)",
    ]  # fmt: skip
    if isinstance(a, np.ndarray):
        forms += ["np.squeeze({})", "np.transpose({})"]
    if isinstance(a, np.ndarray) and np.iscomplexobj(a):
        forms += ["{}.real", "{}.imag", "np.real({})", "{}.view(float)", "{}.T.imag", "{}[1:].real"] * 2
    return f"{new} = " + choose(forms).format(v)


def gather(choose, v, w, new, a, names):
    forms = [
        "{}[[0, 0, 1]]", "{}[np.array([1, 0])]", "{0}[{0} > 0.1]", "{}[:, [1, 0, 1]]", "{}[[0, 1], [1, 0]]", "{}[np.array(0)]",
        "np.take({}, [0, 1, 1])",
    ]  # fmt: skip
    return f"{new} = " + choose(forms).format(v)


def copied(choose, v, w, new, a, names):
    return f"{new} = " + choose(["{}.copy()", "np.copy({})", "{}", "np.stack([{0}, {0}])"]).format(v)


def fresh(choose, v, w, new, a, names):
    shape = np.shape(a)
    return f"{new} = " + choose(
        [
            f"zeros({shape})",
            f"zeros({shape}, order='F')",
            f"np.zeros_like({v})",
            "zeros(())",
            "zeros((3, 3))",
            "zeros(3)",
            f"zeros({shape}, dtype=complex)",
        ]
    )


def put(choose, v, w, new, a, names):
    where, what = index(choose, v), value(choose, w)
    if ">" in where:  # NumPy does not look whether the two overlap
        what = f"({what}) * 1.0"
    return f"{v}[{where}] = {what}"


def update(choose, v, w, new, a, names):
    return f"{v} {choose(['+=', '-=', '*='])} {value(choose, w)}"


def divide(choose, v, w, new, a, names):
    return choose(
        [
            f"{v} /= 2.0",
            f"{v} /= 2.0 + np.square({w})",
            f"{v} *= {v}",
            f"{v} -= {v} * 0.5",
            f"{v}[{index(choose, v)}] /= 2.0",
        ]
    )


def update_part(choose, v, w, new, a, names):
    return f"{v}[{index(choose, v)}] {choose(['+=', '-=', '*='])} {value(choose, w)}"


def into(choose, v, w, new, a, names):
    forms = [
        "np.add({v}, {w}, out={u})", "np.sin({v}, out={u})", "np.multiply({v}, {w}, out={u})", "np.subtract({v}, 1.0, out={u}[...])",
        "np.einsum('ij->ji', {v}, out={u})", "np.clip({v}, -5, 5, out={u})", "np.add({v}, {w}, out={u}, where=[True, False, True])",
    ]  # fmt: skip
    if np.ndim(a):
        forms.append("np.sum({v}, axis=-1, keepdims=True, out={u})")
    return choose(forms).format(v=v, w=w, u=choose(names))


def swap(choose, v, w, new, a, names):
    forms = [
        "{0}[[0, 1]] = {0}[[1, 0]]", "{0}[0], {0}[1] = {0}[1], {0}[0]", "{0}[...] = {0}[::-1]", "{0}[1:] = {0}[:-1]",
        "{0}[:-1] += {0}[1:]", "{0}[...] = {0}.T",
    ]  # fmt: skip
    return choose(forms).format(v)


def at(choose, v, w, new, a, names):
    if not getattr(getattr(a, "flags", None), "writeable", False):  # NumPy writes all the same
        return None
    where = choose(["[0, 0]", "[1, 0, 1]", "0", "([0, 1], [0, 0])", "slice(1, None)"])
    return f"np.{choose(['add', 'subtract', 'multiply'])}.at({v}, {where}, ({value(choose, w)}) * 1.0)"


def function(choose, v, w, new, a, names):
    if not isinstance(a, np.ndarray):
        return None
    forms = [
        "np.copyto({v}, {w} * 1.0)", "np.copyto({v}, {w} * 1.0, where={v} > 0.1)", "{v}.fill({c})", "np.fill_diagonal({v}, {u})",
        "{v}.sort()", "{v}.sort(axis=0)", "np.put({v}, [0, -1, 0], {u})", "{v}.put([1, 0], {u})", "np.putmask({v}, {v} > 0.1, {u})",
        "np.place({v}, {v} > 0.1, {u})", "np.put_along_axis({v}, np.argmax({v}, axis=-1)[..., None], {u}, -1)",
        "{v}.flat[1:3] = {u}", "{v}.flat[[0, 2, 0]] = {u}", "{v}.flat = {u}", "{v}.flat[0] = np.sum({w})", "{v}.T.flat[1:] = {u}",
        "np.clip({v}, -0.5, 0.6, out={v})", "{v}[0] = [{w}[0], 0.5, {w}[-1]]", "np.nan_to_num({v}, copy=False)",
    ]  # fmt: skip
    if np.iscomplexobj(a):
        forms += ["{v}.real = np.real({u})", "{v}.imag = np.real({u})", "{v}.real *= 0.5", "{v}.imag[0] += 0.5"] * 2
    apart = f"({value(choose, w)}) * 1.0"  # NumPy does not look whether the two overlap
    return choose(forms).format(v=v, w=w, u=apart, c=constant(choose))


def loop(choose, v, w, new, a, names):
    bodies = [
        "{v}[i] = {w}[i] * 0.5", "{v}[i] += {w}[-1 - i]", "{v} += 0.1 * {w}", "{v}[i:] *= 0.9", "{v}[:, i] = {w}[i]",
        "{v}[i] = {v}[i - 1] * {w}[i]", "r = {v}[i]\n        r += {w}[i]\n        r *= 0.5", "{v}[i], {v}[-1] = {v}[-1], {v}[i]",
        "{v}[...] = np.sin({v} + {w}[i])", "{v}[i, i] -= np.sum({v})", "{v} = {v} * 0.5 + {w}\n        {v}[i] = 0.5",
    ]  # fmt: skip
    heads = [
        "for i in range(3):\n        {body}",
        "for r in {v}:\n        r *= 0.5",
        "for r, s in zip({v}, {w}):\n        r += 0.3 * s",
        "k = 0\n    while k < 2:\n        {v}[k] += 0.5 * np.sum({w})\n        k += 1",
    ]
    head = choose([heads[0], *heads])
    return head.replace("{body}", choose(bodies)).format(v=v, w=w)


def branch(choose, v, w, new, a, names):
    condition = choose(["np.sum({v}) > 0.2", "float(np.real(np.sum({v}))) < 0.5", "bool(np.any({v} > 0.3))"]).format(
        v=v
    )
    ways = [
        statement(choose, {v: a}, [v], new) if choose([True, False]) else f"{v} *= {value(choose, w)}" for _ in range(2)
    ]
    if any(way is None or way.startswith(f"{new} =") for way in ways):
        return None
    yes, no = (str(way).replace("\n", "\n    ") for way in ways)
    return f"if {condition}:\n        {yes}\n    else:\n        {no}"


def rename(choose, v, w, new, a, names):
    return choose([f"{v}, {w} = {w}, {v}", f"{v}, {w} = {v} * 1.0, {v}"])


def reduce(choose, v, w, new, a, names):
    forms = ["np.sum({})", "np.mean({})", "np.cumsum({})", "{}.sum()"]
    if np.ndim(a):
        forms += ["np.sum({}, axis=0)", "np.sum({}, axis=-1, keepdims=True)"]
    return f"{new} = " + choose(forms).format(v)


def join(choose, v, w, new, a, names):
    forms = [
        "np.concatenate([{}, {}])", "np.stack([{}, {}])", "{} @ {}", "np.where({0} > 0.1, {0}, {1})", "np.outer({}, {})",
        "np.einsum('i,i->', {}, {})",
    ]  # fmt: skip
    return f"{new} = " + choose(forms).format(v, w)


INDICES = [
    "0", "1:", "::-1", "...", ":", ":, 0", "[0, 0]", "[1, 0]", "[0, 1], [1, 1]", "-1", "()", "{0} > 0.1", "::2", "1", "..., 0",
    "np.array([0, 1, 0])", "0, 0", "np.array(1)", "0, [0, 0, 1]",
]  # fmt: skip
STATEMENTS = [
    unary, pair, pair, with_constant, view, view, view, view, gather, copied, fresh, put, put, put, update, update, update, divide,
    update_part, update_part, into, into, swap, at, function, function, function, reduce, join, loop, loop, branch, rename,
]  # fmt: skip


# ---- judging it


def usable(program: Program) -> bool:
    """Whether NumPy comes to a number of a size that finite differences can resolve."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = [
                program.value(nudged(program.inputs, k, at, h))
                for k, at, unit in entries(program.inputs)
                for h in (STEP * unit, -STEP * unit)
            ]
            numbers.append(program.value(program.inputs))
        except Exception:  # noqa: BLE001 - whatever NumPy objects to
            return False
    middle = numbers[-1]
    return abs(middle) < LARGEST and all(abs(n - middle) < 1e2 * STEP for n in numbers)


def entries(inputs: Sequence[Any]) -> list[tuple[int, tuple[int, ...], complex]]:
    """Every direction in which an input can move: (input, position, 1 or 1j)."""
    return [
        (k, at, unit)
        for k, x in enumerate(inputs)
        for at in np.ndindex(np.shape(x))
        for unit in ((1.0, 1j) if np.iscomplexobj(x) else (1.0,))
    ]


def nudged(inputs: Sequence[Any], k: int, at: tuple[int, ...], h: complex) -> list[Any]:
    changed = [kept(x) for x in inputs]
    if isinstance(changed[k], float | complex):
        changed[k] += h
    else:
        changed[k][at] += h
    return changed


def along(inputs: Sequence[Any], directions: Sequence[Any], h: float) -> list[Any]:
    """The inputs, moved; in the same memory layout."""
    moved = []
    for x, d in zip(inputs, directions, strict=True):
        changed = kept(x)
        if isinstance(changed, float | complex):
            changed += h * d
        else:
            changed[...] += h * d
        moved.append(changed)
    return moved


def judge(program: Program, deep: bool = False) -> str | None:
    """None if gradviz agrees with NumPy; else what is wrong. ``deep`` looks at second derivatives too."""
    f = program.function(gv.numpy.zeros)
    everything = tuple(range(len(program.inputs)))
    before = [np.array(x) for x in program.inputs]
    value, gradients = gv.value_and_grad(f, everything)(*program.inputs)
    if any(not np.array_equal(x, b) for x, b in zip(program.inputs, before, strict=True)):
        return "an input was changed"
    return (
        wrong_numbers(program, value, gradients)
        or wrong_memory(program, gradients)
        or wrong_recording(f, program.inputs, gradients)
        or wrong_forward(f, program.inputs, value, gradients)
        or (wrong_second(f, program.inputs) if deep else None)
    )


def wrong_numbers(program: Program, value: Any, gradients: Sequence[Any]) -> str | None:
    inputs, want = program.inputs, program.value(program.inputs)
    if not np.isclose(value, want, rtol=1e-12, atol=1e-12):
        return f"value {value} instead of {want}"
    for k, at, unit in entries(inputs):
        ahead, behind = (program.value(nudged(inputs, k, at, h * unit)) for h in (STEP, -STEP))
        slope = (ahead - behind) / (2 * STEP)
        mine = np.real(np.conj(unit) * np.asarray(gradients[k])[at])
        if abs(mine - slope) > 2e-6 * (1 + abs(slope)) + 1e-11 * abs(want) / STEP:
            return f"gradient of x{k}{list(at)} along {unit} is {mine} instead of {slope}"
    return None


def wrong_memory(program: Program, gradients: Sequence[Any]) -> str | None:
    inputs = program.inputs
    for k, (g, x) in enumerate(zip(gradients, inputs, strict=True)):
        if type(g) is not type(x) or np.shape(g) != np.shape(x):
            return f"gradient of x{k} came as {type(g).__name__} of shape {np.shape(g)}"
        if isinstance(g, np.ndarray) and any(np.shares_memory(g, other) for other in (*gradients[:k], *inputs)):
            return f"gradient of x{k} shares memory"
    return None


def wrong_recording(f: Any, inputs: Sequence[Any], gradients: Sequence[Any]) -> str | None:
    with gv.profile() as p:
        again = gv.grad(f, tuple(range(len(inputs))))(*inputs)
    check_trace(p.trace)
    if any(not np.array_equal(a, b) for a, b in zip(again, gradients, strict=True)):
        return "recording changed the gradient"
    return None


def some_directions(inputs: Sequence[Any]) -> list[Any]:
    numbers = [np.asarray(np.random.default_rng(k).uniform(-1, 1, (2, *np.shape(x)))) for k, x in enumerate(inputs)]
    made = [d[0] + 1j * d[1] if np.iscomplexobj(x) else d[0] for d, x in zip(numbers, inputs, strict=True)]
    return [d.item() if isinstance(x, float | complex) else np.asarray(d) for d, x in zip(made, inputs, strict=True)]


def inner(a: Any, b: Any) -> Any:
    """The real inner product, in which the gradient is the direction of steepest ascent."""
    return np.sum(np.real(np.conj(a) * b))


def wrong_forward(f: Any, inputs: Sequence[Any], value: Any, gradients: Sequence[Any]) -> str | None:
    directions = some_directions(inputs)
    y, dy = gv.jvp(f, inputs, directions)
    slope = sum(inner(g, d) for g, d in zip(gradients, directions, strict=True))
    if not np.isclose(y, value, rtol=1e-12) or not np.isclose(dy, slope, rtol=1e-8, atol=1e-8):
        return f"forward mode gives {y}, {dy} instead of {value}, {slope}"
    return None


def wrong_second(f: Any, inputs: Sequence[Any]) -> str | None:
    everything, directions = tuple(range(len(inputs))), some_directions(inputs)
    gradient = gv.grad(f, everything)
    ahead, behind = gradient(*along(inputs, directions, STEP)), gradient(*along(inputs, directions, -STEP))
    want = [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]

    def slope(*args: Any) -> Any:
        return sum(inner(g, d) for g, d in zip(gradient(*args), directions, strict=True))

    def slope_forward(*args: Any) -> Any:
        return gv.jvp(f, args, directions)[1]

    ways = {
        "reverse over reverse": lambda: gv.grad(slope, everything)(*inputs),
        "forward over reverse": lambda: gv.jvp(gradient, inputs, directions)[1],
        "reverse over forward": lambda: gv.grad(slope_forward, everything)(*inputs),
    }
    for name, way in ways.items():
        for k, (mine, right) in enumerate(zip(way(), want, strict=True)):
            if np.shape(mine) != np.shape(right) or not np.allclose(
                mine, right, rtol=1e-4, atol=1e-5 * (1 + np.max(np.abs(right), initial=0))
            ):
                return f"{name} of x{k} is {mine} instead of {right}"
    return None


def outcome(program: Program, deep: bool) -> str | None:
    """As `judge`, with an exception told as a text."""
    try:
        return judge(program, deep)
    except Exception as e:  # noqa: BLE001 - any exception is a finding
        last = traceback.extract_tb(e.__traceback__)[-1]
        return f"{type(e).__name__}: {e} ({last.filename.rpartition('/')[2]}:{last.lineno})"


def shrunk(program: Program, deep: bool) -> Program:
    """The same failure in fewer lines."""
    changed = True
    while changed:
        changed = False
        for k in range(len(program.lines) - 1):
            smaller = Program(program.lines[:k] + program.lines[k + 1 :], program.inputs)
            if usable(smaller) and outcome(smaller, deep):
                program, changed = smaller, True
                break
        else:
            terms = re.findall(r"[\d.]+ \* np\.sum\(np\.sin\(.*?\)\)", program.lines[-1])
            for k in range(len(terms)):
                rest = terms[:k] + terms[k + 1 :]
                smaller = Program((*program.lines[:-1], "return " + " + ".join(rest)), program.inputs)
                if rest and usable(smaller) and outcome(smaller, deep):
                    program, changed = smaller, True
                    break
    return program


def main(first: int, count: int) -> int:
    """Judge the programs of ``count`` seeds, second derivatives for every fourth, and return how many are wrong."""
    judged = 0
    seen: dict[str, int] = {}
    for seed in range(first, first + count):
        rng = random.Random(seed)
        program = write(rng.choice, rng.randint(3, 14))
        if not usable(program):
            continue
        judged += 1
        deep = seed % 4 == 0
        wrong = outcome(program, deep)
        if wrong:
            small = shrunk(program, deep)
            wrong = outcome(small, deep)
            key = str(wrong)[:24] + str(len(small.lines))
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= 3:
                layouts = [(np.shape(x), getattr(x, "strides", None), np.iscomplexobj(x)) for x in small.inputs]
                print(f"--- seed {seed}: {wrong}\n{small.source}\n{layouts}", flush=True)
    print(f"{judged} programs of {count} judged, {sum(seen.values())} failures")
    return sum(seen.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    chosen = parser.parse_args()
    sys.exit(bool(main(chosen.first, chosen.count)))
