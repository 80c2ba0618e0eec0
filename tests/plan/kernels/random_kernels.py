"""Kernels drawn at random, with memory for their parameters, to run one way and another."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.kernels.kernel import (
    Compute,
    Constant,
    Keep,
    Kernel,
    Load,
    Loop,
    Parameter,
    Recall,
    Reduce,
    Scratch,
    Store,
)  # fmt: skip

TAME = {  # functions that keep numbers of size 1 at size 1
    1: ("sin", "cos", "tanh", "negative", "arctan", "conjugate", "copy"),
    2: ("add", "subtract", "multiply", "maximum", "minimum"),
}
REAL_ONLY = {"maximum", "minimum", "arctan", "sin", "cos", "tanh"}


class Memory(NamedTuple):
    """A parameter's bytes and where in them position 0 of the grid lies."""

    data: np.ndarray
    origin: int

    @property
    def address(self) -> int:
        return self.data.ctypes.data + self.origin

    def copy(self) -> Memory:
        return Memory(self.data.copy(), self.origin)


class Drawn(NamedTuple):
    kernel: Kernel
    jobs: list[tuple[int, list[Memory]]]


class Draw:
    """Draws one kernel and its jobs with a source of chance."""

    def __init__(self, chance: random.Random, aligned: bool = False) -> None:
        self.chance, self.aligned = chance, aligned
        self.grid = tuple(
            chance.choice((1, 2, 3, 7, 8, 9, 17, 33, 70)) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))
        )
        self.dtype = chance.choice(("f8", "f8", "f4", "c16", "c8"))
        self.real = {"c16": "f8", "c8": "f4"}.get(self.dtype, self.dtype)
        self.parameters: list[Parameter] = []
        self.extra: list[int] = []  # bytes beyond the grid that a parameter's loads and stores reach
        self.names = 0
        self.loops = 0
        self.scratch: list[Scratch] = []
        self.counts: dict[int, int] = {}

    def draw(self) -> Drawn:
        chance = self.chance
        body: list[Any] = []
        inputs = [
            self.parameter(chance.choice((self.dtype, self.dtype, self.real))) for _ in range(chance.randint(1, 3))
        ]
        values = [self.load(body, p) for p in inputs]
        values += [self.put(body, Constant(0, self.dtype, chance.choice((0.5, -0.25, 0.75))))]
        self.statements(body, values, depth=0)
        outputs = [self.parameter(self.dtype, output=True) for _ in range(chance.randint(1, 2))]
        body += [Store(p, chance.choice(values[-3:])) for p in outputs]
        if self.grid and chance.random() < 0.6:
            mean = self.put(body, Compute(0, "multiply", (values[-1], values[-2]), self.dtype))
            for _ in range(chance.randint(1, 2)):
                body.append(Reduce(self.parameter(self.dtype, reduced=True), self.reduction(), mean))
        kernel = Kernel(self.grid, tuple(self.parameters), tuple(self.scratch), tuple(body))
        first = self.grid[0] if self.grid else 1
        sizes = [first] if chance.random() < 0.6 else [chance.choice((0, 1, first, 2 * first + 3)) for _ in range(3)]
        if not self.grid:
            sizes = [1] * len(sizes)
        if 0 in sizes and self.dtype[0] != "c":
            sizes = [n or 1 for n in sizes]
        rng = np.random.default_rng(chance.randint(0, 2**31))
        return Drawn(kernel, [(n, [self.memory(rng, i, n) for i in range(len(self.parameters))]) for n in sizes])

    # --- memory ------------------------------------------------------------------------------------------------------

    def parameter(self, dtype: str, output: bool = False, reduced: bool = False) -> int:
        """Strides: contiguous, backwards, with gaps, still; those of outputs keep positions apart."""
        chance = self.chance
        strides: list[int] = []
        step = np.dtype(dtype).itemsize
        for n in reversed(self.grid):
            kind = chance.choice(("plain", "plain", "plain", "back", "gap", "still"))
            if kind == "still" and output:
                kind = "plain"
            if kind == "gap":
                step *= 2
            strides.append({"back": -step, "still": 0}.get(kind, step))
            step *= n
        strides.reverse()
        if reduced and strides:
            strides[chance.randrange(len(strides))] = 0
        self.parameters.append(Parameter(dtype, tuple(strides)))
        self.extra.append(0)
        return len(self.parameters) - 1

    def memory(self, rng: np.random.Generator, i: int, size: int) -> Memory:
        parameter = self.parameters[i]
        grid = (size, *self.grid[1:]) if self.grid else ()
        reach = [max(0, n - 1) * s for n, s in zip(grid, parameter.strides, strict=True)]
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        item = np.dtype(parameter.dtype).itemsize
        skew = 0 if self.aligned else self.chance.choice((0, 0, item // 2, 1))
        count = (high - low + self.extra[i]) // item + 2
        numbers = rng.uniform(-1, 1, count)
        if parameter.dtype == "i8":
            numbers = rng.integers(0, 5, count)
        elif parameter.dtype[0] == "c":
            numbers = numbers + 1j * rng.uniform(-1, 1, count)
        data = np.zeros(item * count + skew + 16, np.uint8)
        data[skew : skew + item * count] = numbers.astype(parameter.dtype).view(np.uint8)
        return Memory(data, skew - low)

    # --- statements --------------------------------------------------------------------------------------------------

    def put(self, body: list[Any], statement: Any) -> int:
        self.names += 1
        body.append(statement._replace(out=self.names))
        return self.names

    def load(self, body: list[Any], p: int, **where: Any) -> int:
        name = self.put(body, Load(0, p, **where))
        if self.parameters[p].dtype == self.dtype:
            return name
        return self.put(body, Compute(0, "cast", (name,), self.dtype))

    def reduction(self) -> str:
        return self.chance.choice(("add", "add", "multiply") if self.dtype[0] == "c" else ("add", "maximum", "minimum"))

    def statements(self, body: list[Any], values: list[int], depth: int) -> None:
        for _ in range(self.chance.randint(1, 4)):
            kinds = ("compute", "compute", "compute", "where", "index", "loop", "there and back")
            kind = self.chance.choice(kinds[: 5 if depth == 2 else 7])
            if kind == "loop":
                self.loop(body, values, depth)
            elif kind == "there and back":
                self.there_and_back(body, values)
            elif kind == "where" and self.dtype[0] == "f":
                limit = self.put(body, Constant(0, self.dtype, 0.125))
                test = self.put(body, Compute(0, "less", (values[0], limit), "b1"))
                pair = self.chance.choices(values, k=2)
                values.append(self.put(body, Compute(0, "where", (test, *pair), self.dtype)))
            elif kind == "index":
                self.index(body, values)
            else:
                self.compute(body, values)

    def compute(self, body: list[Any], values: list[int]) -> None:
        arity = self.chance.choice((1, 2, 2))
        names = [f for f in TAME[arity] if self.dtype[0] == "f" or f not in REAL_ONLY]
        inputs = tuple(self.chance.choices(values, k=arity))
        made = self.put(body, Compute(0, self.chance.choice(names), inputs, self.dtype))
        half = self.put(body, Constant(0, self.dtype, 0.5))
        values.append(self.put(body, Compute(0, "multiply", (made, half), self.dtype)))

    def index(self, body: list[Any], values: list[int]) -> None:
        """A load through numbers that were loaded: five places, ``far`` bytes apart."""
        where = self.parameter("i8")
        table = self.parameter(self.dtype)
        far = np.dtype(self.dtype).itemsize * self.chance.choice((1, 2))
        self.extra[table] += 5 * far
        index = self.put(body, Load(0, where))
        values.append(self.load(body, table, index=(index, far)))

    def loop(self, body: list[Any], values: list[int], depth: int) -> None:
        """Carried numbers, of which two may change places; loads and stores that move."""
        chance = self.chance
        number, count = self.loops, chance.choice((0, 1, 2, 5))
        self.loops += 1
        firsts = chance.choices(values, k=chance.randint(1, 3))
        insides = [self.new_name() for _ in firsts]
        counter = self.new_name() if chance.random() < 0.4 else None
        inside: list[Any] = []
        local = [*values, *insides]
        item = np.dtype(self.dtype).itemsize
        if chance.random() < 0.5:
            moving = self.parameter(self.dtype)
            step = item * chance.choice((1, 2))
            self.extra[moving] += step * count
            local.append(self.load(inside, moving, steps=((number, step),)))
        if counter is not None:
            number_as_value = self.put(inside, Compute(0, "cast", (counter,), self.dtype))
            small = self.put(inside, Constant(0, self.dtype, 0.125))
            local.append(self.put(inside, Compute(0, "multiply", (number_as_value, small), self.dtype)))
        self.statements(inside, local, depth + 1)
        lasts = [chance.choice((*local[-3:], *insides)) for _ in firsts]
        body.append(Loop(number, count, tuple(zip(insides, firsts, lasts, strict=True)), tuple(inside), counter))
        values += insides

    def there_and_back(self, body: list[Any], values: list[int]) -> None:
        """What a gradient does: keep numbers in one loop, recall them from the last to the first in another."""
        count = self.chance.choice((1, 3, 6))
        scratch = len(self.scratch)
        self.scratch.append(Scratch(self.dtype, count + 1))
        there, back = self.loops, self.loops + 1
        self.loops += 2
        x, g = self.new_name(), self.new_name()
        forward: list[Any] = [Keep(scratch, x, 1, ((there, 1),))]
        names = ("sin", "cos") if self.dtype[0] == "f" else ("conjugate", "negative")
        following = self.put(forward, Compute(0, names[0], (x,), self.dtype))
        body.append(Loop(there, count, ((x, values[-1], following),), tuple(forward)))
        backward: list[Any] = []
        kept = self.put(backward, Recall(0, scratch, count, ((back, -1),)))
        slope = self.put(backward, Compute(0, names[1], (kept,), self.dtype))
        last = self.put(backward, Compute(0, "multiply", (g, slope), self.dtype))
        body.append(Loop(back, count, ((g, values[0], last),), tuple(backward)))
        values += [x, g]

    def new_name(self) -> int:
        self.names += 1
        return self.names
