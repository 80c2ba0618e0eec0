"""A kernel written as LLVM IR text.

The module has an inner function, ``positions``, that runs a range of the first axis, and three that are called from Python, each
``void f(int64_t *table, int64_t begin, int64_t end, char *scratch)``. A row of the table is one job: the size of the first axis, the
address of its partial results, the address of each parameter.

    run     of one row, the chunks begin .. end
    finish  of one row, the partial results of chunks begin .. end combined into the parameters
    jobs    the rows begin .. end, from first chunk to last, one after the other

Inside ``positions`` the outer axes are loops; the innermost is cut into strips of blocks: whole blocks without masks, the rest one
masked vector at a time. Kernels with loops in them mask every block, as their time is not spent at its edges. Lanes past the end hold
copies of the first lane, so that they meet no special case that their block would not meet anyway.
"""

from __future__ import annotations

from typing import Any

from gradviz.plan.kernels.code import Code, is_complex, part
from gradviz.plan.kernels.entries import entries
from gradviz.plan.kernels.functions import combine, identity
from gradviz.plan.kernels.kernel import Kernel, Reduce
from gradviz.plan.kernels.layout import Layout
from gradviz.plan.kernels.memory import Memory
from gradviz.plan.kernels.statements import Body
from gradviz.plan.kernels.vector_math import Library

ATTRIBUTES = """\
attributes #0 = {{ nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}
attributes #1 = {{ nounwind willreturn memory(none) }}
attributes #2 = {{ noinline nounwind willreturn memory(none) "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}
"""


def emit(kernel: Kernel, layout: Layout, library: Library, prefix: str) -> str:
    """The module's text, its functions named ``prefix`` + ``run``, ``finish`` and ``jobs``."""
    writer = Positions(kernel, layout, library)
    function = writer.write()
    code = writer.code
    text = [
        *code.declared.values(),
        *code.defined.values(),
        function,
        entries(kernel, layout, prefix, library),
        ATTRIBUTES.format(bits=8 * library.vector_bytes),
    ]
    return "\n".join(text)


class Positions:
    """Writes the function ``positions``: the nest of the grid's axes around the kernel's body."""

    def __init__(self, kernel: Kernel, layout: Layout, library: Library) -> None:
        self.kernel = kernel
        self.layout = layout
        self.code = Code(layout.lanes, library)
        self.memory = Memory(kernel, layout, self.code)
        self.allocas: list[str] = []
        self.reduces = [s for s in kernel.body if isinstance(s, Reduce)]

    def write(self) -> str:
        code, kernel = self.code, self.kernel
        if kernel.grid:
            for reduce in self.reduces:
                self._clear(reduce)
            self._open(-1)
            self._nest(0)
            self._close(-1)
        else:
            self.memory.enter_block("0", None, 1)
            Body(kernel, code, self.memory, 1).write(kernel.body, self._store_single)
        formal = "".join(f", ptr noalias %p{i}" for i in range(len(kernel.parameters)))
        head = f"define internal void @positions(i64 %begin, i64 %end, ptr noalias %scratch{formal}) #0 {{\nentry:"
        return "\n".join([head, *self.allocas, *code.lines, "ret void", "}"])

    # --- the axes ----------------------------------------------------------------------------------------------------

    def _nest(self, axis: int) -> None:
        last = len(self.kernel.grid) - 1
        if axis == last:
            self._innermost()
            return
        code = self.code
        low, high = ("%begin", "%end") if axis == 0 else ("0", str(self.kernel.grid[axis]))
        index, close = self._counted(low, high)
        pointers = dict(self.memory.pointers)
        self.memory.advance(axis, index)
        self._open(axis)
        self._nest(axis + 1)
        self._close(axis)
        self.memory.pointers = pointers
        close(code.op(f"add nsw i64 {index}, 1"))

    def _counted(self, low: str, high: str, room: int = 1) -> tuple[str, Any]:
        """A loop while ``room`` positions are left; ``close(next index)`` ends it and returns nothing."""
        code = self.code
        head, body, done = (code.fresh_label(stem) for stem in ("axis", "body", "done"))
        before = code.label
        code.line(f"br label %{head}")
        code.start(head)
        index = code.name()
        at = len(code.lines)
        code.line("")
        reach = index if room == 1 else code.op(f"add nsw i64 {index}, {room - 1}")
        more = code.op(f"icmp slt i64 {reach}, {high}")
        code.line(f"br i1 {more}, label %{body}, label %{done}")
        code.start(body)

        def close(following: str) -> None:
            code.lines[at] = f"{index} = phi i64 [ {low}, %{before} ], [ {following}, %{code.label} ]"
            code.line(f"br label %{head}")
            code.start(done)

        return index, close

    def _innermost(self) -> None:
        layout = self.layout
        axis = len(self.kernel.grid) - 1
        low, high = ("%begin", "%end") if axis == 0 else ("0", str(self.kernel.grid[axis]))
        self.memory.hoist()
        block = layout.lanes * layout.unroll
        if layout.looping and layout.unroll > 1:
            low = self._strip(low, high, layout.unroll, masked=True, room=layout.lanes + 1)
        elif not layout.looping and layout.unroll > 1:
            low = self._strip(low, high, layout.unroll, masked=False, room=block)
        self._strip(low, high, 1, masked=True, room=1)
        self.memory.unhoist()

    def _strip(self, low: str, high: str, unroll: int, masked: bool, room: int) -> str:
        code = self.code
        index, close = self._counted(low, high, room)
        left = code.op(f"sub nsw i64 {high}, {index}") if masked else None
        self.memory.enter_block(index, left, unroll)
        Body(self.kernel, code, self.memory, unroll).write(self.kernel.body, self._accumulate)
        close(code.op(f"add nsw i64 {index}, {unroll * self.layout.lanes}"))
        return index

    # --- reductions --------------------------------------------------------------------------------------------------

    def _depth(self, reduce: Reduce) -> int:
        """The innermost axis along which the result moves."""
        strides = self.kernel.parameters[reduce.parameter].strides
        return max((a for a, s in enumerate(strides) if s), default=-1)

    def _into_memory(self, reduce: Reduce) -> bool:
        """Whether an axis outside the innermost one that is kept is reduced: the result is then collected in memory."""
        strides = self.kernel.parameters[reduce.parameter].strides
        return any(s == 0 for s in strides[: self._depth(reduce) + 1])

    def _parts(self, dtype: str) -> range:
        return range(2 if is_complex(dtype) else 1)

    def _running(self, reduce: Reduce, u: int) -> list[str]:
        dtype = self.kernel.parameters[reduce.parameter].dtype
        return [f"%sum{reduce.parameter}_{u}_{i}" for i in self._parts(dtype)]

    def _open(self, axis: int) -> None:
        """Running results of the axes inside this one start."""
        for reduce in self.reduces:
            if self._depth(reduce) != axis or axis == len(self.kernel.grid) - 1:
                continue
            dtype = self.kernel.parameters[reduce.parameter].dtype
            vector = self.code.type(part(dtype))
            start = self.code.constant(dtype, identity(reduce.function, dtype))
            for u in range(self.layout.unroll):
                for slot, value in zip(self._running(reduce, u), start if is_complex(dtype) else [start], strict=True):
                    alloca = f"{slot} = alloca {vector}"
                    if alloca not in self.allocas:
                        self.allocas.append(alloca)
                    self.code.line(f"store {vector} {value}, ptr {slot}")

    def _accumulate(self, reduce: Reduce, values: list[Any]) -> None:
        code, dtype = self.code, self.kernel.parameters[reduce.parameter].dtype
        if self._depth(reduce) == len(self.kernel.grid) - 1:
            if self._into_memory(reduce):
                before = self.memory.load(reduce.parameter, 0, [], None)
                values = [combine(code, reduce.function, dtype, x, y) for x, y in zip(before, values, strict=True)]
            self.memory.store(reduce.parameter, 0, [], None, values)
            return
        vector = code.type(part(dtype))
        neutral = code.constant(dtype, identity(reduce.function, dtype))
        for u, value in enumerate(values):
            slots = self._running(reduce, u)
            sums = [code.op(f"load {vector}, ptr {slot}") for slot in slots]
            value = self.memory.only_inside(u, dtype, value, neutral)
            total = combine(code, reduce.function, dtype, tuple(sums) if is_complex(dtype) else sums[0], value)
            for slot, x in zip(slots, total if is_complex(dtype) else [total], strict=True):
                code.line(f"store {vector} {x}, ptr {slot}")

    def _close(self, axis: int) -> None:
        """Running results of the axes inside this one are joined and written down."""
        code = self.code
        for reduce in self.reduces:
            if self._depth(reduce) != axis or axis == len(self.kernel.grid) - 1:
                continue
            dtype = self.kernel.parameters[reduce.parameter].dtype
            vector = code.type(part(dtype))
            sums = []
            for u in range(self.layout.unroll):
                loaded = [code.op(f"load {vector}, ptr {slot}") for slot in self._running(reduce, u)]
                sums.append(tuple(loaded) if is_complex(dtype) else loaded[0])
            while len(sums) > 1:
                sums = [
                    combine(code, reduce.function, dtype, *pair) for pair in zip(sums[::2], sums[1::2], strict=False)
                ] + ([sums[-1]] if len(sums) % 2 else [])
            total = self._across(reduce.function, dtype, sums[0])
            self.memory.put(reduce, total, self._into_memory(reduce))

    def _across(self, function: str, dtype: str, value: Any) -> Any:
        """The lanes of a vector combined into one number."""
        code = self.code
        parts = value if is_complex(dtype) else (value,)
        while code.lanes > 1:
            half, whole = code.lanes // 2, code.type(part(dtype))
            halves = [tuple(self._cut(whole, x, first, half) for x in parts) for first in (0, half)]
            code.narrow(half)
            value = combine(code, function, dtype, *(halves if is_complex(dtype) else (h[0] for h in halves)))
            parts = value if is_complex(dtype) else (value,)
        code.narrow(self.layout.lanes)
        return value

    def _cut(self, whole: str, x: str, first: int, count: int) -> str:
        if count == 1:
            return self.code.op(f"extractelement {whole} {x}, i64 {first}")
        picks = ", ".join(f"i32 {first + i}" for i in range(count))
        return self.code.op(f"shufflevector {whole} {x}, {whole} poison, <{count} x i32> <{picks}>")

    def _store_single(self, reduce: Reduce, values: list[Any]) -> None:
        self.memory.store(reduce.parameter, 0, [], None, values)

    def _clear(self, reduce: Reduce) -> None:
        """Memory in which a result is collected starts as the function's neutral number."""
        if not self._into_memory(reduce):
            return
        parameter = self.kernel.parameters[reduce.parameter]
        value = identity(reduce.function, parameter.dtype)
        pointer = f"%p{reduce.parameter}"
        closes = []
        for axis, stride in enumerate(parameter.strides):
            if stride:
                low, high = ("%begin", "%end") if axis == 0 else ("0", str(self.kernel.grid[axis]))
                index, close = self._counted(low, high)
                pointer = self.code.op(f"getelementptr i8, ptr {pointer}, i64 {self.memory.times(index, stride)}")
                closes.append((index, close))
        self.memory.write_constant(pointer, parameter.dtype, value)
        for index, close in reversed(closes):
            close(self.code.op(f"add nsw i64 {index}, 1"))
