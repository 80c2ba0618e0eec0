"""Loads and stores of a block's numbers: parameters by their strides, scratch by block.

Along the innermost axis a parameter is contiguous (whole vectors), still (one number in every lane), or strided (gathered lane by lane).
"""

from __future__ import annotations

from typing import Any

from gradviz.plan.kernels.code import SCALARS, SUFFIXES, Code, Operand, Value, is_complex, itemsize, part
from gradviz.plan.kernels.functions import combine
from gradviz.plan.kernels.kernel import Kernel, Load, Reduce, Store
from gradviz.plan.kernels.layout import Layout, statements

Moves = list[tuple[Operand, int]]  # (index of a loop, how far one iteration goes)
Index = (
    tuple[list[Operand], int] | None
)  # a vector of whole numbers per unrolled vector, and the bytes that one of them means


class Memory:
    """Where the numbers of a kernel lie, seen from the block that is being written."""

    def __init__(self, kernel: Kernel, layout: Layout, code: Code) -> None:
        self.kernel = kernel
        self.layout = layout
        self.code = code
        self.pointers = {i: f"%p{i}" for i in range(len(kernel.parameters))}  # at the outer axes' position
        self.strides = [p.strides[-1] if kernel.grid else 0 for p in kernel.parameters]
        self.written = {s.parameter for s in statements(kernel.body) if isinstance(s, Store | Reduce)}
        self._hoisted: dict[tuple[int, int], Value] = {}
        self._blocks: dict[int, Operand] = {}
        self._masks: list[Operand] | None = None
        self._unroll = 1

    # --- positions ---------------------------------------------------------------------------------------------------

    def times(self, index: Operand, factor: int) -> Operand:
        return index if factor == 1 else self.code.op(f"mul nsw i64 {index}, {factor}")

    def _moved(self, pointer: Operand, moves: Moves, offset: int) -> Operand:
        for index, step in moves:
            if step:
                pointer = self.code.op(f"getelementptr i8, ptr {pointer}, i64 {self.times(index, step)}")
        return self.code.op(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def advance(self, axis: int, index: Operand) -> None:
        """Go to a position of an outer axis."""
        for i, parameter in enumerate(self.kernel.parameters):
            self.pointers[i] = self._moved(self.pointers[i], [(index, parameter.strides[axis])], 0)

    def hoist(self) -> None:
        """Read what is the same along the innermost axis once, before it."""
        if not self.kernel.grid:
            return
        for s in statements(self.kernel.body):
            if isinstance(s, Load) and self._still(s) and (s.parameter, s.offset) not in self._hoisted:
                pointer = self._moved(self.pointers[s.parameter], [], s.offset)
                self._hoisted[s.parameter, s.offset] = self._repeated(
                    self.kernel.parameters[s.parameter].dtype, pointer
                )

    def _still(self, load: Load) -> bool:
        moves = self.strides[load.parameter] or load.steps or load.index
        return not moves and load.parameter not in self.written

    def unhoist(self) -> None:
        self._hoisted.clear()

    def enter_block(self, index: Operand, left: Operand | None, unroll: int) -> None:
        """Stand at position ``index`` of the innermost axis; ``left`` positions are left where the block is masked."""
        self._unroll = unroll
        self._blocks = {
            i: self._moved(pointer, [(index, self.strides[i])], 0) if self.strides[i] and index != "0" else pointer
            for i, pointer in self.pointers.items()
        }
        self._masks = None if left is None or self.code.lanes == 1 else [self._mask(left, u) for u in range(unroll)]

    def _mask(self, left: Operand, u: int) -> Operand:
        code, lanes = self.code, self.code.lanes
        limit = code.repeat("i8", left)
        numbers = ", ".join(f"i64 {u * lanes + lane}" for lane in range(lanes))
        return code.op(f"icmp slt <{lanes} x i64> <{numbers}>, {limit}")

    # --- parameters --------------------------------------------------------------------------------------------------

    def load(self, parameter: int, offset: int, moves: Moves, index: Index) -> list[Value]:
        dtype, stride = self.kernel.parameters[parameter].dtype, self.strides[parameter]
        if not moves and index is None and (parameter, offset) in self._hoisted:
            return [self._hoisted[parameter, offset]] * self._unroll
        pointer = self._moved(self._blocks[parameter], moves, offset)
        if self.code.lanes == 1:
            return [self._read_number(self._indexed(pointer, index), dtype)]
        if index is None and stride == 0:
            return [self._repeated(dtype, pointer)] * self._unroll
        values = []
        for u in range(self._unroll):
            if index is None and stride == itemsize(dtype):
                values.append(self._read_vector(self._vector_at(pointer, dtype, u), dtype, u))
            else:
                values.append(self._gather(self._lane_pointers(pointer, stride, index, u), dtype, u))
        return self._filled(dtype, values)

    def store(self, parameter: int, offset: int, moves: Moves, index: Index, values: list[Value]) -> None:
        dtype, stride = self.kernel.parameters[parameter].dtype, self.strides[parameter]
        pointer = self._moved(self._blocks[parameter], moves, offset)
        if self.code.lanes == 1:
            self._write_number(self._indexed(pointer, index), dtype, values[0])
            return
        for u, value in enumerate(values):
            if index is None and stride == itemsize(dtype):
                self._write_vector(self._vector_at(pointer, dtype, u), dtype, u, value)
            else:
                self._scatter(self._lane_pointers(pointer, stride, index, u), dtype, u, value)

    def _indexed(self, pointer: Operand, index: Index) -> Operand:
        return self._moved(pointer, [(index[0][0], index[1])], 0) if index else pointer

    def _vector_at(self, pointer: Operand, dtype: str, u: int) -> Operand:
        return self._moved(pointer, [], u * self.code.lanes * itemsize(dtype))

    def _lane_pointers(self, pointer: Operand, stride: int, index: Index, u: int) -> Operand:
        """The address of every lane's number."""
        code, lanes = self.code, self.code.lanes
        offsets = ", ".join(f"i64 {(u * lanes + lane) * stride}" for lane in range(lanes))
        distance = f"<{offsets}>"
        if index:
            distance = code.op(f"mul <{lanes} x i64> {index[0][u]}, splat (i64 {index[1]})")
            if stride:
                distance = code.op(f"add <{lanes} x i64> {distance}, <{offsets}>")
        return code.op(f"getelementptr i8, ptr {pointer}, <{lanes} x i64> {distance}")

    def _filled(self, dtype: str, values: list[Value]) -> list[Value]:
        """The lanes past the end hold the block's first number."""
        if self._masks is None:
            return values
        code = self.code

        def repeated(x: Operand) -> Operand:
            vector = code.type(part(dtype))
            return code.op(f"shufflevector {vector} {x}, {vector} poison, <{code.lanes} x i32> zeroinitializer")

        fill = tuple(repeated(x) for x in values[0]) if is_complex(dtype) else repeated(values[0])
        return [self.only_inside(u, dtype, value, fill) for u, value in enumerate(values)]

    def only_inside(self, u: int, dtype: str, value: Value, otherwise: Value) -> Value:
        """``value`` with the lanes past the end replaced."""
        if self._masks is None:
            return value
        mask = self._masks[u]
        if is_complex(dtype):
            return tuple(self.code.select(mask, part(dtype), x, y) for x, y in zip(value, otherwise, strict=True))
        return self.code.select(mask, dtype, value, otherwise)

    # --- vectors -----------------------------------------------------------------------------------------------------

    def _read_vector(self, pointer: Operand, dtype: str, u: int) -> Value:
        code, lanes = self.code, self.code.lanes
        if not is_complex(dtype):
            return self._truth(dtype, self._masked_load(pointer, _stored(dtype), lanes, self._mask_of(u)))
        pairs = self._masked_load(pointer, SCALARS[dtype], 2 * lanes, self._mask_of(u, pairs=True))
        wide = f"<{2 * lanes} x {SCALARS[dtype]}>"
        picks = (", ".join(f"i32 {2 * lane + i}" for lane in range(lanes)) for i in range(2))
        return tuple(code.op(f"shufflevector {wide} {pairs}, {wide} poison, <{lanes} x i32> <{p}>") for p in picks)

    def _masked_load(self, pointer: Operand, scalar: str, lanes: int, mask: Operand | None) -> Operand:
        vector = f"<{lanes} x {scalar}>"
        if mask is None:
            return self.code.op(f"load {vector}, ptr {pointer}, align 1")
        symbol = f"llvm.masked.load.v{lanes}{SUFFIXES.get(scalar, scalar)}.p0"
        self.code.declared[symbol] = f"declare {vector} @{symbol}(ptr, i32, <{lanes} x i1>, {vector})"
        return self.code.op(f"call {vector} @{symbol}(ptr {pointer}, i32 1, <{lanes} x i1> {mask}, {vector} poison)")

    def _write_vector(self, pointer: Operand, dtype: str, u: int, value: Value) -> None:
        code, lanes, scalar = self.code, self.code.lanes, _stored(dtype)
        mask = self._mask_of(u, pairs=is_complex(dtype))
        if is_complex(dtype):
            order = ", ".join(f"i32 {i * lanes + lane}" for lane in range(lanes) for i in range(2))
            vector = code.type(part(dtype))
            lanes *= 2
            value = code.op(f"shufflevector {vector} {value[0]}, {vector} {value[1]}, <{lanes} x i32> <{order}>")
        else:
            value = self._untruth(dtype, value)
        vector = f"<{lanes} x {scalar}>"
        if mask is None:
            code.line(f"store {vector} {value}, ptr {pointer}, align 1")
            return
        symbol = f"llvm.masked.store.v{lanes}{SUFFIXES.get(scalar, scalar)}.p0"
        code.declared[symbol] = f"declare void @{symbol}({vector}, ptr, i32, <{lanes} x i1>)"
        code.line(f"call void @{symbol}({vector} {value}, ptr {pointer}, i32 1, <{lanes} x i1> {mask})")

    def _gather(self, pointers: Operand, dtype: str, u: int) -> Value:
        code, lanes, scalar = self.code, self.code.lanes, _stored(dtype)
        mask = self._mask_of(u) or "splat (i1 true)"
        vector = f"<{lanes} x {scalar}>"
        symbol = f"llvm.masked.gather.v{lanes}{SUFFIXES.get(scalar, scalar)}.v{lanes}p0"
        code.declared[symbol] = f"declare {vector} @{symbol}(<{lanes} x ptr>, i32, <{lanes} x i1>, {vector})"
        found = [
            code.op(f"call {vector} @{symbol}(<{lanes} x ptr> {p}, i32 1, <{lanes} x i1> {mask}, {vector} poison)")
            for p in self._parts_at(pointers, dtype)
        ]
        return tuple(found) if is_complex(dtype) else self._truth(dtype, found[0])

    def _scatter(self, pointers: Operand, dtype: str, u: int, value: Value) -> None:
        code, lanes, scalar = self.code, self.code.lanes, _stored(dtype)
        mask = self._mask_of(u) or "splat (i1 true)"
        vector = f"<{lanes} x {scalar}>"
        symbol = f"llvm.masked.scatter.v{lanes}{SUFFIXES.get(scalar, scalar)}.v{lanes}p0"
        code.declared[symbol] = f"declare void @{symbol}({vector}, <{lanes} x ptr>, i32, <{lanes} x i1>)"
        parts = value if is_complex(dtype) else [self._untruth(dtype, value)]
        for p, x in zip(self._parts_at(pointers, dtype), parts, strict=True):
            code.line(f"call void @{symbol}({vector} {x}, <{lanes} x ptr> {p}, i32 1, <{lanes} x i1> {mask})")

    def _parts_at(self, pointers: Operand, dtype: str) -> list[Operand]:
        if not is_complex(dtype):
            return [pointers]
        lanes = self.code.lanes
        half = f"<{lanes} x i64> splat (i64 {itemsize(dtype) // 2})"
        return [pointers, self.code.op(f"getelementptr i8, <{lanes} x ptr> {pointers}, {half}")]

    def _mask_of(self, u: int, pairs: bool = False) -> Operand | None:
        if self._masks is None:
            return None
        if not pairs:
            return self._masks[u]
        lanes = self.code.lanes
        twice = ", ".join(f"i32 {lane}" for lane in range(lanes) for _ in range(2))
        vector = f"<{lanes} x i1>"
        return self.code.op(f"shufflevector {vector} {self._masks[u]}, {vector} poison, <{2 * lanes} x i32> <{twice}>")

    def _truth(self, dtype: str, value: Operand) -> Operand:
        """Booleans are bytes in memory."""
        return self.code.op(f"icmp ne {self.code.vector('i8')} {value}, zeroinitializer") if dtype == "b1" else value

    def _untruth(self, dtype: str, value: Operand) -> Operand:
        if dtype != "b1":
            return value
        return self.code.op(f"zext {self.code.type('b1')} {value} to {self.code.vector('i8')}")

    # --- scratch -----------------------------------------------------------------------------------------------------

    def keep(self, scratch: int, offset: int, moves: Moves, values: list[Value]) -> None:
        for pointers, value in zip(self._kept(scratch, offset, moves), values, strict=True):
            dtype = self.kernel.scratch[scratch].dtype
            parts = value if is_complex(dtype) else [self._untruth(dtype, value)]
            for pointer, x in zip(pointers, parts, strict=True):
                self.code.line(
                    f"store {self.code.vector(_stored(dtype))} {x}, ptr {pointer}, align {self._align(dtype)}"
                )

    def recall(self, scratch: int, offset: int, moves: Moves) -> list[Value]:
        dtype = self.kernel.scratch[scratch].dtype
        vector = self.code.vector(_stored(dtype))
        values = []
        for pointers in self._kept(scratch, offset, moves):
            found = [self.code.op(f"load {vector}, ptr {p}, align {self._align(dtype)}") for p in pointers]
            values.append(tuple(found) if is_complex(dtype) else self._bit(dtype, found[0]))
        return values

    def _kept(self, scratch: int, offset: int, moves: Moves) -> list[list[Operand]]:
        """The address of every vector of a block's number, and of its parts."""
        size = itemsize(self.kernel.scratch[scratch].dtype)
        row = size * self.code.lanes * self._unroll
        base = self._moved(
            "%scratch", [(i, step * row) for i, step in moves], self.layout.scratch_offsets[scratch] + offset * row
        )
        parts = 2 if is_complex(self.kernel.scratch[scratch].dtype) else 1
        step = size * self.code.lanes // parts
        return [[self._moved(base, [], (u * parts + i) * step) for i in range(parts)] for u in range(self._unroll)]

    def _align(self, dtype: str) -> int:
        return min(64, itemsize(part(dtype)) * self.code.lanes)

    def _bit(self, dtype: str, value: Operand) -> Operand:
        return (
            self.code.op(f"trunc {self.code.vector('i8')} {value} to {self.code.type('b1')}")
            if dtype == "b1"
            else value
        )

    # --- single numbers ----------------------------------------------------------------------------------------------

    def _read_number(self, pointer: Operand, dtype: str) -> Value:
        code = self.code
        if is_complex(dtype):
            scalar, size = SCALARS[dtype], itemsize(dtype) // 2
            other = code.op(f"getelementptr i8, ptr {pointer}, i64 {size}")
            return tuple(code.op(f"load {scalar}, ptr {p}, align 1") for p in (pointer, other))
        if dtype == "b1":
            return code.op(f"icmp ne i8 {code.op(f'load i8, ptr {pointer}, align 1')}, 0")
        return code.op(f"load {SCALARS[dtype]}, ptr {pointer}, align 1")

    def _repeated(self, dtype: str, pointer: Operand) -> Value:
        value = self._read_number(pointer, dtype)
        if is_complex(dtype):
            return tuple(self.code.repeat(part(dtype), x) for x in value)
        return self.code.repeat(dtype, value)

    def write_constant(self, pointer: Operand, dtype: str, value: Any) -> None:
        """Write one number that is known now."""
        lanes = self.code.lanes
        self.code.narrow(1)
        self._write_number(pointer, dtype, self.code.constant(dtype, value))
        self.code.narrow(lanes)

    def put(self, reduce: Reduce, value: Value, collect: bool) -> None:
        """Write one number, a reduction's, where the outer axes stand; ``collect``: combined with what is there."""
        dtype, pointer = self.kernel.parameters[reduce.parameter].dtype, self.pointers[reduce.parameter]
        lanes = self.code.lanes
        self.code.narrow(1)
        if collect:
            value = combine(self.code, reduce.function, dtype, self._read_number(pointer, dtype), value)
        self._write_number(pointer, dtype, value)
        self.code.narrow(lanes)

    def _write_number(self, pointer: Operand, dtype: str, value: Value) -> None:
        code = self.code
        if is_complex(dtype):
            other = code.op(f"getelementptr i8, ptr {pointer}, i64 {itemsize(dtype) // 2}")
            for p, x in zip((pointer, other), value, strict=True):
                code.line(f"store {SCALARS[dtype]} {x}, ptr {p}, align 1")
        elif dtype == "b1":
            code.line(f"store i8 {code.op(f'zext i1 {value} to i8')}, ptr {pointer}, align 1")
        else:
            code.line(f"store {SCALARS[dtype]} {value}, ptr {pointer}, align 1")


def _stored(dtype: str) -> str:
    """LLVM's type of a number (of a part of it, if it is complex) in memory."""
    return "i8" if dtype == "b1" else SCALARS[dtype]
