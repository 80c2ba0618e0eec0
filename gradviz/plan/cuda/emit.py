"""A kernel written as CUDA C.

Each pass over the grid is a function ``void f(const long long* table, long long jobs, long long chunks, char* scratch)``. A row of the
table is one job, as for the host's machine code: the size of the first axis, the address of partial results, the address of each
parameter. The table lies in the GPU's memory, so a launch is the same in every call, and a graph of launches stays right when arrays move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradviz.plan.cuda.code import TYPES, CudaCode
from gradviz.plan.cuda.memory import CudaMemory
from gradviz.plan.cuda.passes import THREADS, Pass, passes
from gradviz.plan.kernels.code import is_complex, itemsize, part
from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.kernels.functions import combine, identity
from gradviz.plan.kernels.kernel import Kernel, Load, Loop, Reduce, Store
from gradviz.plan.kernels.layout import statements
from gradviz.plan.kernels.statements import Body

COMPLEX_HEADER = "#include <cupy/complex.cuh>\n"
MOST_SMALL = 1 << 31  # positions that 32 bits count, by which divisions are several times faster


class Source(NamedTuple):
    """A kernel's text, its passes and the name of the function of each."""

    text: str
    passes: list[Pass]
    names: list[str]
    uses_complex: bool

    @property
    def module(self) -> str:
        """The text as a file of its own."""
        return (COMPLEX_HEADER if self.uses_complex else "") + self.text


def emit(kernel: Kernel, prefix: str, size: int | None = None) -> Source:
    """A kernel as CUDA C, its functions named ``prefix`` and the number of a pass; ``size`` is the most of the first axis."""
    grid = (max(kernel.grid[0], size or 0), *kernel.grid[1:]) if kernel.grid else ()
    whole = "unsigned int" if math.prod(grid) < MOST_SMALL else "long long"
    walks = passes(kernel)
    names = [f"{prefix}{n}" for n in range(len(walks))]
    writers = [Function(kernel, walk, name, whole) for walk, name in zip(walks, names, strict=True)]
    texts = [writer.text() for writer in writers]
    return Source("\n".join(texts), walks, names, any(w.code.uses_complex for w in writers))


class CudaBody(Body):
    """The statements of a kernel's body, at one position."""

    code: CudaCode

    def __init__(self, kernel: Kernel, code: CudaCode, memory: CudaMemory, stores: bool) -> None:
        super().__init__(kernel, code, memory, 1)  # type: ignore[arg-type] - it asks for load, store, keep and recall
        self.stores = stores

    def write(self, body: tuple[Any, ...], reduce: Any) -> None:
        super().write(body if self.stores else tuple(s for s in body if not isinstance(s, Store)), reduce)

    def _loop(self, loop: Loop, reduce: Any) -> None:
        code = self.code
        counter = code.name()
        for inside, first, _ in loop.carried:
            dtype = self.dtypes[first]
            names = tuple(code.name() for _ in range(2 if is_complex(dtype) else 1))
            starts = self.values[first][0] if is_complex(dtype) else (self.values[first][0],)
            for name, start in zip(names, starts, strict=True):
                code.line(f"{TYPES[part(dtype)]} {name} = {start};")
            self._set(inside, dtype, [names if is_complex(dtype) else names[0]])
        carried = [(inside, self.values[inside], self.dtypes[inside]) for inside, _, _ in loop.carried]
        code.line(f"for (long long {counter} = 0; {counter} < {loop.count}; ++{counter}) {{")
        self.loops[loop.number] = counter
        if loop.counter is not None:
            self._set(loop.counter, "i8", [counter])
        self.write(loop.body, reduce)
        nexts = [self.values[last][0] for _, _, last in loop.carried]
        held = [self._held(value, dtype) for value, (_, _, dtype) in zip(nexts, carried, strict=True)]
        for (inside, names, dtype), following in zip(carried, held, strict=True):
            pairs = zip(names[0], following, strict=True) if is_complex(dtype) else [(names[0], following)]
            for name, x in pairs:
                code.line(f"{name} = {x};")
            self._set(inside, dtype, names)
        code.line("}")

    def _held(self, value: Any, dtype: str) -> Any:
        """The same number under another name: carried ones may change places."""
        if is_complex(dtype):
            return tuple(self.code.made(part(dtype), x) for x in value)
        return self.code.made(dtype, value)


class Function:
    """Writes the function of one pass, and the one that joins its chunks."""

    def __init__(self, kernel: Kernel, walk: Pass, name: str, whole: str) -> None:
        self.kernel, self.walk, self.name, self.whole = kernel, walk, name, whole
        self.code = CudaCode()
        self.memory = CudaMemory(kernel, self.code)

    def text(self) -> str:
        if not self.walk.reduces:
            return self.elementwise()
        return f"{self.reducing()}\n{self.joining()}"

    # ---- parts of both

    def head(self, name: str) -> list[str]:
        lines = [
            f'extern "C" __global__ void {name}(const long long* table, long long jobs, long long chunks, char* scratch) {{',
            "const long long threads = (long long)gridDim.x * gridDim.y * blockDim.x;",
            "const long long thread = ((long long)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;",
            "for (long long job = blockIdx.y; job < jobs; job += gridDim.y) {",
            f"const long long* const row = table + job * {columns(self.kernel)};",
            "const long long size = row[0]; char* const partials = (char*)row[1];",
        ]
        lines += [f"char* const p{i} = (char*)row[{FIRST_ADDRESS + i}];" for i in range(len(self.kernel.parameters))]
        return lines

    def sizes(self, axes: Sequence[int]) -> str:
        return " * ".join(["1LL", *("size" if a == 0 else f"{self.kernel.grid[a]}LL" for a in axes)])

    def indices(self, axes: Sequence[int], position: str) -> list[str]:
        """Statements that cut a position along some axes into one index ``i0``, ``i1`` ... for each."""
        lines = [f"{self.whole} rest_{position} = ({self.whole}){position};"] if len(axes) > 1 else []
        for a in reversed(axes):
            if a == axes[0]:
                lines.append(
                    f"const {self.whole} i{a} = {f'rest_{position}' if len(axes) > 1 else f'({self.whole}){position}'};"
                )
                continue
            n = f"({self.whole}){self.kernel.grid[a]}"
            lines += [f"const {self.whole} i{a} = rest_{position} % {n};", f"rest_{position} /= {n};"]
        return lines

    def stand(self) -> None:
        used = {s.parameter for s in statements(self.kernel.body) if isinstance(s, (Load, Store))}
        self.memory.stand([f"i{a}" for a in range(len(self.kernel.grid))], sorted(used))

    def elementwise(self) -> str:
        code = self.code
        axes = self.walk.kept
        code.lines += self.head(self.name)
        code.line(f"const long long positions = {self.sizes(axes)};")
        code.line(
            "const long long begin = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * blockDim.x;"
        )
        code.line("for (long long position = begin; position < positions; position += step) {")
        code.lines += self.indices(axes, "position")
        self.stand()
        CudaBody(self.kernel, code, self.memory, True).write(self.kernel.body, None)
        return "\n".join([*code.lines, "}", "}", "}"])

    # ---- reductions

    def parts(self, reduce: Reduce) -> tuple[str, list[str], Any]:
        """The dtype of a result's parts, the names of its running parts, and the same as one number."""
        dtype = self.kernel.parameters[reduce.parameter].dtype
        names = [f"sum{reduce.parameter}_{n}" for n in range(2 if is_complex(dtype) else 1)]
        return part(dtype), names, tuple(names) if is_complex(dtype) else names[0]

    def begin(self) -> None:
        """Running results start as the number that changes nothing."""
        for reduce in self.walk.reduces:
            dtype = self.kernel.parameters[reduce.parameter].dtype
            p, names, _ = self.parts(reduce)
            start = self.code.constant(dtype, identity(reduce.function, dtype))
            for name, x in zip(names, start if is_complex(dtype) else [start], strict=True):
                self.code.line(f"{TYPES[p]} {name} = {x};")

    def add(self, reduce: Reduce, value: Any) -> None:
        """A number joins a running result."""
        dtype = self.kernel.parameters[reduce.parameter].dtype
        _, names, running = self.parts(reduce)
        total = combine(self.code, reduce.function, dtype, running, value)
        for name, x in zip(names, total if is_complex(dtype) else [total], strict=True):
            self.code.line(f"{name} = {x};")

    def across_lanes(self, across: int) -> None:
        """The running results of a block's lanes, ``across`` threads apart, become one, in lane 0; ``lanes`` is a power of two."""
        code = self.code
        for reduce in self.walk.reduces:
            dtype = self.kernel.parameters[reduce.parameter].dtype
            _, _, running = self.parts(reduce)
            mine, other = (
                f"shared + threadIdx.x * {itemsize(dtype)}",
                f"shared + (threadIdx.x + reach * {across}) * {itemsize(dtype)}",
            )
            self.memory.write(mine, dtype, running)
            code.line("__syncthreads();")
            code.line("for (int reach = lanes / 2; reach > 0; reach /= 2) {")
            code.line("if (lane < reach) {")
            self.add(reduce, self.memory.read(other, dtype))
            self.memory.write(mine, dtype, running)
            code.line("}")
            code.line("__syncthreads();")
            code.line("}")

    def reducing(self) -> str:
        code, walk = self.code, self.walk
        code.lines += self.head(self.name)
        code.lines += self.shared()
        code.line(f"const int lanes = blockDim.x / {walk.across}, lane = threadIdx.x / {walk.across};")
        code.line(f"const long long results = {self.sizes(walk.kept)}, summed = {self.sizes(walk.reduced)};")
        code.line(
            f"const long long groups = (results + {walk.across - 1}) / {walk.across}, length = (summed + chunks - 1) / chunks;"
        )
        code.line("for (long long work = blockIdx.x; work < groups * chunks; work += gridDim.x) {")
        code.line("const long long chunk = work / groups, first = chunk * length;")
        code.line("const long long last = first + length < summed ? first + length : summed;")
        code.line(f"const long long result = work % groups * {walk.across} + threadIdx.x % {walk.across};")
        self.begin()
        code.line("if (result < results)")
        code.line("for (long long position = first + lane; position < last; position += lanes) {")
        code.lines += self.indices(walk.kept, "result") + self.indices(walk.reduced, "position")
        self.stand()
        CudaBody(self.kernel, code, self.memory, walk.stores).write(self.kernel.body, self.join_in)
        code.line("}")
        self.across_lanes(walk.across)
        code.line("if (lane == 0 && result < results) {")
        self.put("chunks == 1")
        code.lines += ["}", "}", "}", "}"]
        return "\n".join(code.lines)

    def join_in(self, reduce: Reduce, values: list[Any]) -> None:
        if reduce in self.walk.reduces:
            self.add(reduce, values[0])

    def shared(self) -> list[str]:
        size = max(itemsize(self.kernel.parameters[r.parameter].dtype) for r in self.walk.reduces)
        return [f"__shared__ double cells[{THREADS * size // 8}];", "char* const shared = (char*)cells;"]

    def put(self, whole: str) -> None:
        """Write results where they belong if ``whole`` holds, else beside those of other chunks."""
        code = self.code
        code.lines += self.indices(self.walk.kept, "result")
        for reduce in self.walk.reduces:
            dtype = self.kernel.parameters[reduce.parameter].dtype
            _, _, running = self.parts(reduce)
            place = code.name()
            code.line(f"char* const {place} = {whole} ? {self.home(reduce)} : {self.partial(reduce)};")
            self.memory.write(place, dtype, running)

    def home(self, reduce: Reduce) -> str:
        strides = self.kernel.parameters[reduce.parameter].strides
        return f"p{reduce.parameter}" + "".join(f" + (long long)i{a} * {strides[a]}" for a in self.walk.kept)

    def partial(self, reduce: Reduce) -> str:
        """Those of one reduction lie together, chunk by chunk."""
        before = 0
        for other in self.walk.reduces:
            if other is reduce:
                break
            before += itemsize(self.kernel.parameters[other.parameter].dtype)
        size = itemsize(self.kernel.parameters[reduce.parameter].dtype)
        return f"partials + chunks * results * {before} + (chunk * results + result) * {size}"

    def joining(self) -> str:
        """The function that joins chunks: a block for each result, a lane for each chunk."""
        code = self.code
        code.lines = []
        code.lines += self.head(f"{self.name}_join")
        code.lines += self.shared()
        code.line("const int lanes = blockDim.x, lane = threadIdx.x;")
        code.line(f"const long long results = {self.sizes(self.walk.kept)};")
        code.line("for (long long result = blockIdx.x; result < results; result += gridDim.x) {")
        self.begin()
        code.line("for (long long chunk = lane; chunk < chunks; chunk += lanes) {")
        for reduce in self.walk.reduces:
            self.add(reduce, self.memory.read(self.partial(reduce), self.kernel.parameters[reduce.parameter].dtype))
        code.line("}")
        self.across_lanes(1)
        code.line("if (lane == 0) {")
        code.lines += self.indices(self.walk.kept, "result")
        for reduce in self.walk.reduces:
            self.memory.write(self.home(reduce), self.kernel.parameters[reduce.parameter].dtype, self.parts(reduce)[2])
        code.lines += ["}", "}", "}", "}"]
        return "\n".join(code.lines)
