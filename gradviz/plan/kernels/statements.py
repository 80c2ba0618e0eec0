"""The statements of a kernel's body, written for one block: every number is ``unroll`` vectors, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradviz.plan.kernels.casts import cast
from gradviz.plan.kernels.code import Code, Operand, Value, is_complex, part
from gradviz.plan.kernels.formulas import power_by
from gradviz.plan.kernels.functions import find
from gradviz.plan.kernels.kernel import Compute, Constant, Keep, Kernel, Load, Loop, Name, Recall, Reduce, Steps, Store
from gradviz.plan.kernels.memory import Index, Memory, Moves
from gradviz.plan.kernels.table import ALIASES


class Body:
    """Writes statements; knows the vectors and the dtype behind every name."""

    def __init__(self, kernel: Kernel, code: Code, memory: Memory, unroll: int) -> None:
        self.kernel = kernel
        self.code = code
        self.memory = memory
        self.unroll = unroll
        self.values: dict[Name, list[Value]] = {}
        self.dtypes: dict[Name, str] = {}
        self.constants: dict[Name, Any] = {}
        self.loops: dict[int, Operand] = {}

    def write(self, body: tuple[Any, ...], reduce: Callable[[Reduce, list[Value]], None]) -> None:
        for statement in body:
            match statement:
                case Compute():
                    self._compute(statement)
                case Load(out, parameter, offset, steps, index):
                    loaded = self.memory.load(parameter, offset, self._moves(steps), self._index(index))
                    self._set(out, self.kernel.parameters[parameter].dtype, loaded)
                case Store(parameter, value, offset, steps, index):
                    self.memory.store(parameter, offset, self._moves(steps), self._index(index), self.values[value])
                case Keep(scratch, value, offset, steps):
                    self.memory.keep(scratch, offset, self._moves(steps), self.values[value])
                case Recall(out, scratch, offset, steps):
                    kept = self.memory.recall(scratch, offset, self._moves(steps))
                    self._set(out, self.kernel.scratch[scratch].dtype, kept)
                case Constant(out, dtype, value):
                    self._set(out, dtype, [self.code.constant(dtype, value)] * self.unroll)
                    self.constants[out] = value
                case Loop():
                    self._loop(statement, reduce)
                case Reduce():
                    reduce(statement, self.values[statement.value])

    def _set(self, name: Name, dtype: str, values: list[Value]) -> None:
        self.values[name] = values
        self.dtypes[name] = dtype

    def _moves(self, steps: Steps) -> Moves:
        return [(self.loops[loop], step) for loop, step in steps]

    def _index(self, index: tuple[Name, int] | None) -> Index:
        return (self.values[index[0]], index[1]) if index else None

    def _compute(self, compute: Compute) -> None:
        out, name, inputs, dtype = compute
        code = self.code
        name = ALIASES.get(name, name)
        given = [self.values[i] for i in inputs]
        first = self.dtypes[inputs[0]]
        if name == "cast":
            made = [cast(code, first, dtype, x) for x in given[0]]
        elif name == "where":
            made = [self._where(dtype, *xs) for xs in zip(*given, strict=True)]
        else:
            write = self._writer(name, first, inputs)
            same = all(all(x is xs[0] for x in xs) for xs in given)  # one number in every lane of every vector
            if same:
                made = [write(code, first, *(xs[0] for xs in given))] * self.unroll
            else:
                made = [write(code, first, *xs) for xs in zip(*given, strict=True)]
        self._set(out, dtype, made)

    def _writer(self, name: str, dtype: str, inputs: tuple[Name, ...]) -> Callable[..., Any]:
        function = find(name, dtype[0])
        if function is None:
            raise NotImplementedError(f"no machine code for {name} of {dtype}")
        if name == "power" and dtype[0] == "f" and inputs[1] in self.constants:
            product = power_by(self.constants[inputs[1]])
            if product is not None:
                return lambda c, t, x, _: product(c, t, x)
        return function.write

    def _where(self, dtype: str, condition: Operand, x: Value, y: Value) -> Value:
        if is_complex(dtype):
            return tuple(self.code.select(condition, part(dtype), a, b) for a, b in zip(x, y, strict=True))
        return self.code.select(condition, dtype, x, y)

    # --- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop, reduce: Callable[[Reduce, list[Value]], None]) -> None:
        if loop.count == 0:
            for inside, first, _ in loop.carried:
                self._set(inside, self.dtypes[first], self.values[first])
            return
        code = self.code
        head, done = code.fresh_label("loop"), code.fresh_label("after")
        before, counter = code.label, code.name()
        code.line(f"br label %{head}")
        code.start(head)
        at = len(code.lines)
        code.line("")
        self.loops[loop.number] = counter
        if loop.counter is not None:
            self._set(loop.counter, "i8", [])
        for inside, first, _ in loop.carried:
            self._set(inside, self.dtypes[first], self._new_names(self.values[first], self.dtypes[first]))
        if loop.counter is not None:
            self.values[loop.counter] = [code.repeat("i8", counter)] * self.unroll
        self.write(loop.body, reduce)
        following = code.op(f"add nuw nsw i64 {counter}, 1")
        phis = [f"{counter} = phi i64 [ 0, %{before} ], [ {following}, %{code.label} ]"]
        for inside, first, last in loop.carried:
            phis += self._phis(self.dtypes[first], inside, first, last, before)
        code.lines[at] = "\n".join(phis)
        over = code.op(f"icmp eq i64 {following}, {loop.count}")
        code.line(f"br i1 {over}, label %{done}, label %{head}")
        code.start(done)
        ends = [(inside, self.values[last]) for inside, _, last in loop.carried]
        for inside, values in ends:
            self.values[inside] = values

    def _new_names(self, values: list[Value], dtype: str) -> list[Value]:
        code = self.code
        return [(code.name(), code.name()) if is_complex(dtype) else code.name() for _ in values]

    def _phis(self, dtype: str, inside: Name, first: Name, last: Name, before: str) -> list[str]:
        vector, after = self.code.type(part(dtype)), self.code.label
        lines = []
        for names, starts, ends in zip(self.values[inside], self.values[first], self.values[last], strict=True):
            parts = zip(names, starts, ends, strict=True) if is_complex(dtype) else [(names, starts, ends)]
            lines += [f"{n} = phi {vector} [ {s}, %{before} ], [ {e}, %{after} ]" for n, s, e in parts]
        return lines
