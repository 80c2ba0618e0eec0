"""Loads and stores of one position: parameters by their strides, scratch by thread, so that neighbours read neighbouring bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradviz.plan.cuda.code import TYPES, CudaCode
from gradviz.plan.kernels.code import Operand, Value, is_complex, itemsize, part
from gradviz.plan.kernels.kernel import Kernel

Moves = list[tuple[Operand, int]]  # (index of a loop, how far one iteration goes)
Index = tuple[list[Operand], int] | None


class CudaMemory:
    """Where the numbers of a kernel lie, seen from a position; the names ``q0``, ``q1`` ... are its parameters' addresses there."""

    def __init__(self, kernel: Kernel, code: CudaCode) -> None:
        self.kernel, self.code = kernel, code
        self.scratch_starts: list[int] = []  # bytes that a thread keeps in earlier ones
        total = 0
        for scratch in kernel.scratch:
            self.scratch_starts.append(total)
            total += scratch.count * itemsize(scratch.dtype)

    def stand(self, indices: Sequence[Operand], parameters: Sequence[int]) -> None:
        """Go to a position of the grid."""
        for i in parameters:
            strides = self.kernel.parameters[i].strides
            moves = "".join(f" + (long long){x} * {s}" for x, s in zip(indices, strides, strict=True) if s)
            self.code.line(f"char* const q{i} = p{i}{moves};")

    def place(self, parameter: int, offset: int, moves: Moves, index: Index) -> str:
        text = "".join(f" + {i} * {step}" for i, step in moves if step)
        text += f" + (long long){index[0][0]} * {index[1]}" if index else ""
        return f"q{parameter}{text}{f' + {offset}' if offset else ''}"

    def load(self, parameter: int, offset: int, moves: Moves, index: Index) -> list[Value]:
        return [self.read(self.place(parameter, offset, moves, index), self.kernel.parameters[parameter].dtype)]

    def store(self, parameter: int, offset: int, moves: Moves, index: Index, values: list[Value]) -> None:
        self.write(self.place(parameter, offset, moves, index), self.kernel.parameters[parameter].dtype, values[0])

    def keep(self, scratch: int, offset: int, moves: Moves, values: list[Value]) -> None:
        self.write(self._kept(scratch, offset, moves), self.kernel.scratch[scratch].dtype, values[0])

    def recall(self, scratch: int, offset: int, moves: Moves) -> list[Value]:
        return [self.read(self._kept(scratch, offset, moves), self.kernel.scratch[scratch].dtype)]

    def _kept(self, scratch: int, offset: int, moves: Moves) -> str:
        steps = "".join(f" + {i} * {step}" for i, step in moves if step)
        size = itemsize(self.kernel.scratch[scratch].dtype)
        return f"scratch + {self.scratch_starts[scratch]} * threads + (({offset}{steps}) * threads + thread) * {size}"

    def read(self, place: str, dtype: str) -> Any:
        """A number at an address."""
        made, p = self.code.made, part(dtype)
        if is_complex(dtype):
            return made(p, cell(place, p)), made(p, cell(f"{place} + {itemsize(p)}", p))
        return made(dtype, f"{cell(place, 'u1')} != 0" if dtype == "b1" else cell(place, dtype))

    def write(self, place: str, dtype: str, value: Any) -> None:
        p = part(dtype)
        parts = value if is_complex(dtype) else (value,)
        for n, x in enumerate(parts):
            self.code.line(f"{cell(f'{place} + {n * itemsize(p)}' if n else place, 'u1' if p == 'b1' else p)} = {x};")


def cell(place: str, dtype: str) -> str:
    """The memory of a number, as C says it."""
    return f"*({TYPES[dtype]}*)({place})"
