"""How nodes become a kernel.

Each value is a number at one position of the grid; each array is memory, to be read and written at places that move with the loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.fuse.views import Places, c_strides
from gradviz.plan.kernels import kernel as k
from gradviz.plan.kernels.runner import supported
from gradviz.plan.program.operation import Meta, Slot, guard, put, python_number, take, take_number
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Node, Value, made_in

Shape = tuple[int, ...]


class CannotLower(Exception):  # noqa: N818 - not an error: the node is run by NumPy
    """A node is nothing for a kernel."""


class Operand(NamedTuple):
    """What stands behind one parameter of a kernel: memory of ``root``, from ``offset`` bytes on."""

    root: Value
    offset: int
    written: bool
    first: Value | None = None  # of a buffer that is written to in parts: what is in it before


class Ref(NamedTuple):
    """An array inside a kernel: where it begins in a parameter or a scratch, and the strides of its axes that are no axes of the grid."""

    scratch: bool
    number: int
    offset: int
    steps: tuple[tuple[int, int], ...]
    index: tuple[int, int] | None
    strides: tuple[int, ...]


class Lowered(NamedTuple):
    """A kernel, and what its parameters are."""

    kernel: k.Kernel
    operands: list[Operand]


REDUCTIONS = {
    np.add.reduce: "add", np.sum: "add", np.multiply.reduce: "multiply", np.prod: "multiply", np.maximum.reduce: "maximum",
    np.max: "maximum", np.minimum.reduce: "minimum", np.min: "minimum", np.logical_and.reduce: "logical_and",
}  # fmt: skip
WHOLE = {np.sum, np.prod, np.max, np.min}  # reduce all axes unless told


@lru_cache(maxsize=64)
def code(dtype: np.dtype[Any]) -> str:
    """A dtype in the words of kernels."""
    return dtype.str[1:]


@lru_cache(maxsize=1024)
def broadcast_strides(shape: Shape, strides: tuple[int, ...], grid: Shape) -> tuple[int, ...]:
    """Strides along the axes of the grid, 0 where an array is repeated."""
    lead = len(grid) - len(shape)
    return (0,) * lead + tuple(
        0 if n == 1 and m != 1 else s for n, m, s in zip(shape, grid[lead:], strides, strict=True)
    )


class Lowering:
    """Writes the kernel of one group of nodes."""

    def __init__(self, nodes: Sequence[Node], grid: Shape, places: Places, wanted: set[Value]) -> None:
        self.nodes, self.grid, self.places, self.wanted = nodes, grid, places, wanted
        self.parameters: list[k.Parameter] = []
        self.operands: list[Operand] = []
        self.scratch: list[k.Scratch] = []
        self.head: list[Any] = []  # constants, and what is read once
        self.body: list[Any] = []
        self.names: dict[Value, int] = {}
        self.arrays: dict[Value, Ref] = {}
        self.rows: dict[Value, Ref] = {}  # where stacks lie that are rows of the stack of a loop around
        self.cast_names: dict[Any, int] = {}
        self.constants: dict[Any, int] = {}
        self.loops: list[tuple[Node, int]] = []  # the loops around, and their numbers
        self.count = 0
        self.loop_count = 0
        self.inner = {v for node in nodes for v in (*node.outputs, *(made_in(node) if node.loop else ()))}

    def run(self) -> Lowered:
        for node in self.nodes:
            self.node(node)
        for node in self.nodes:
            for made in node.outputs:
                if made in self.wanted and made in self.names:
                    self.body.append(k.Store(self.output(made), self.names[made]))
        grid, parameters = collapsed(self.grid, self.parameters)
        return Lowered(k.Kernel(grid, tuple(parameters), tuple(self.scratch), (*self.head, *self.body)), self.operands)

    # parameters

    def name(self) -> int:
        self.count += 1
        return self.count - 1

    def parameter(self, operand: Operand, dtype: np.dtype[Any], strides: tuple[int, ...]) -> int:
        parameter = k.Parameter(code(dtype), strides)
        for n, known in enumerate(self.operands):
            if known == operand and self.parameters[n] == parameter and not operand.written:
                return n
        self.operands.append(operand)
        self.parameters.append(parameter)
        return len(self.operands) - 1

    def output(self, value: Value) -> int:
        """New memory for a value, in C order."""
        strides = broadcast_strides(value.meta.shape, c_strides(value.meta), self.grid)
        return self.parameter(Operand(value, 0, True), value.meta.dtype, strides)

    # numbers

    def read(self, value: Value) -> int:
        """The name of a number: one made before, a constant, or read from memory."""
        if value in self.names:
            return self.names[value]
        if value.moving is not None:
            raise CannotLower
        if value.is_constant and np.ndim(value.constant) == 0:
            return self.constant(value.constant, value.meta.dtype)
        if value in self.arrays and not self.arrays[value].strides and not self.grid:
            ref, made = self.arrays[value], self.name()
            self.body.append(k.Load(made, ref.number, ref.offset, ref.steps, ref.index))
            return made
        if value in self.inner or value in self.arrays:
            raise CannotLower
        if value.maker is not None and value.maker.function is full:
            return self.constant(value.maker.args[1], value.meta.dtype)
        place = self.places[value]
        if len(value.meta.shape) > len(self.grid):
            raise CannotLower
        strides = broadcast_strides(value.meta.shape, place.strides, self.grid)
        number = self.parameter(Operand(place.root, place.offset, False), value.meta.dtype, strides)
        self.names[value] = made = self.name()
        self.head.append(k.Load(made, number))
        return made

    def constant(self, value: Any, dtype: np.dtype[Any]) -> int:
        value = np.asarray(value).astype(dtype).item()
        key = code(dtype), repr(value)
        if key not in self.constants:
            self.constants[key] = self.name()
            self.head.append(k.Constant(self.constants[key], key[0], value))
        return self.constants[key]

    def cast(self, name: int, have: np.dtype[Any], want: np.dtype[Any]) -> int:
        if have == want:
            return name
        if not supported("cast", [code(have)], code(want)):
            raise CannotLower
        return self.compute("cast", (name,), want)

    def compute(self, function: str, inputs: tuple[int, ...], dtype: np.dtype[Any]) -> int:
        made = self.name()
        self.body.append(k.Compute(made, function, inputs, code(dtype)))
        return made

    # nodes

    def node(self, node: Node) -> None:
        if node.function is guard and self.loops:
            return  # it is told behind the loop
        if not all(isinstance(v.meta, Meta) for v in node.outputs):  # what Python looks at, among others
            raise CannotLower
        if node.loop is not None:
            self.loop(node)
        elif node.function in (take, take_number):
            self.take(node)
        elif node.function is put:
            self.put(node)
        elif node.function in REDUCTIONS:
            self.reduce(node)
        else:
            self.names[node.out] = self.elementwise(node)

    def elementwise(self, node: Node) -> int:
        if node.out.meta.shape not in (self.grid, ()) and not self.loops:
            raise CannotLower
        typed = typed_call(node)
        if typed is None:
            raise CannotLower
        function, values, dtypes, out = typed
        names = []
        for value, dtype in zip(values, dtypes, strict=True):
            if value.is_constant and np.ndim(value.constant) == 0:
                names.append(self.constant(value.constant, dtype))
            else:
                names.append(self.cast(self.read(value), value.meta.dtype, dtype))
        if function == "cast":
            return self.cast(names[0], dtypes[0], out)
        return self.cast(self.compute(function, tuple(names), out), out, node.out.meta.dtype)

    def reduce(self, node: Node) -> None:
        axes = reduced_axes(node)
        if axes is None or self.loops or node.inputs[0].meta.shape != self.grid:
            raise CannotLower
        x, out = node.inputs[0], node.out
        strides = list(c_strides(out.meta))
        if len(out.meta.shape) != len(self.grid):
            kept = iter(strides)
            strides = [0 if a in axes else next(kept) for a in range(len(self.grid))]
        else:
            strides = [0 if a in axes else s for a, s in enumerate(strides)]
        name = self.cast(self.read(x), x.meta.dtype, out.meta.dtype)
        number = self.parameter(Operand(out, 0, True), out.meta.dtype, tuple(strides))
        self.body.append(k.Reduce(number, REDUCTIONS[node.function], name))

    # arrays inside

    def array(self, value: Value) -> Ref:
        """Memory of an array of which entries are read."""
        if value in self.arrays:
            return self.arrays[value]
        if value in self.inner or value.moving is not None:
            raise CannotLower
        place = self.places[value]
        lead = len(value.meta.shape) - len(self.grid)
        if lead < 0 or value.meta.shape[lead:] != self.grid:
            raise CannotLower
        strides = place.strides[lead:]
        number = self.parameter(Operand(place.root, place.offset, False), value.meta.dtype, strides)
        return Ref(False, number, 0, (), None, place.strides[:lead])

    def at(self, ref: Ref, index: Any, inputs: list[Value], shape: Shape) -> Ref:
        """A part of an array, by integers."""
        items = index if type(index) is tuple else (index,)
        if any(not isinstance(i, Slot) or not i.integer for i in items) or len(items) > len(ref.strides):
            raise CannotLower
        for axis, item in enumerate(items):
            ref = self.along(ref, inputs[item.k], ref.strides[axis], shape[axis])
        return ref._replace(strides=ref.strides[len(items) :])

    def along(self, ref: Ref, integer: Value, stride: int, n: int) -> Ref:
        """Some entries further along an axis of ``n``."""
        if integer.is_constant:
            return ref._replace(offset=ref.offset + (integer.constant % n) * stride)
        if integer.moving is None:
            raise CannotLower
        loop, start, step, listed = integer.moving
        number = next((number for node, number in self.loops if node is loop), None)
        if number is None:
            raise CannotLower
        if listed is not None:
            return self.indexed(ref, np.asarray(listed) % n, number, stride)
        assert loop.loop is not None
        if start.is_constant:
            first, last = start.constant, start.constant + step * (loop.loop.count - 1)
            if max(first, last) < 0:
                first, last = first + n, last + n
            if not (0 <= first < n and 0 <= last < n):
                raise CannotLower
            ref = ref._replace(offset=ref.offset + first * stride)
        else:
            ref = self.along(ref, start, stride, n)
        steps = dict(ref.steps)
        steps[number] = steps.get(number, 0) + step * stride
        return ref._replace(steps=tuple(sorted(steps.items())))

    def indexed(self, ref: Ref, listed: Any, loop: int, stride: int) -> Ref:
        """Entries that a list names, one for each iteration."""
        table = np.ascontiguousarray(listed * stride, np.int64)
        value = Value(Meta(table.shape, table.dtype, "array"), table)
        number = self.parameter(Operand(value, 0, False), table.dtype, (0,) * len(self.grid))
        made = self.name()
        self.body.append(k.Load(made, number, 0, ((loop, 8),)))
        if ref.index is not None:
            made = self.compute("add", (ref.index[0], made), np.dtype(np.int64))
        return ref._replace(index=(made, 1))

    def take(self, node: Node) -> None:
        x = node.inputs[0]
        ref = self.at(self.array(x), node.args[1], node.inputs, x.meta.shape)
        if len(node.out.meta.shape) != (0 if self.loops and not self.grid else len(self.grid)) or ref.strides:
            if node.out in self.wanted:
                raise CannotLower
            self.arrays[node.out] = ref
            return
        self.names[node.out] = made = self.name()
        self.body.append(
            k.Recall(made, ref.number, ref.offset, ref.steps)
            if ref.scratch
            else k.Load(made, ref.number, ref.offset, ref.steps, ref.index)
        )
        if ref.scratch and ref.index is not None:
            raise CannotLower

    def put(self, node: Node) -> None:
        """Write a number into a buffer, which later readers see."""
        array, value = node.inputs[:2]
        if self.grid or value.meta.shape:
            raise CannotLower
        whole = self.buffer(array)
        ref = self.at(whole, node.args[2], node.inputs, array.meta.shape)
        if ref.strides or ref.scratch:
            raise CannotLower
        name = self.cast(self.read(value), value.meta.dtype, array.meta.dtype)
        self.body.append(k.Store(ref.number, name, ref.offset, ref.steps, ref.index))
        self.arrays[node.out] = whole
        self.operands[whole.number] = self.operands[whole.number]._replace(root=node.out)

    def buffer(self, array: Value) -> Ref:
        """Memory that holds an array and may be written to."""
        ref = self.arrays.get(array)
        if ref is not None and not ref.scratch and self.operands[ref.number].root is array:
            return ref  # what was written to it last
        if array in self.inner:
            raise CannotLower
        number = self.parameter(Operand(array, 0, True, array), array.meta.dtype, ())
        return Ref(False, number, 0, (), None, c_strides(array.meta))

    # loops

    def loop(self, node: Node) -> None:
        loop = node.loop
        assert loop is not None
        written = {c.inside for c in loop.carried if is_written(c.inside, c.next)}
        for c in loop.carried:
            if c.inside in written:
                self.arrays[c.inside] = whole = self.buffer(c.first)
                self.operands[whole.number] = self.operands[whole.number]._replace(root=c.inside)
            else:
                if c.inside.meta.shape not in (self.grid, ()):
                    raise CannotLower
                self.names[c.inside] = self.name()
        number = self.loop_count
        self.loop_count += 1
        firsts = {
            c: self.cast(self.read(c.first), c.first.meta.dtype, c.inside.meta.dtype)
            for c in loop.carried
            if c.inside not in written
        }
        stacks = {k_: self.stack(node, k_) for k_, (_, many) in enumerate(loop.results) if many}
        around, self.body = self.body, []
        self.loops.append((node, number))
        kept = [(loop.results[which][0], self.along_loop(ref, number)) for which, ref in stacks.items()]
        rows = {value: ref for value, ref in kept if ref.strides}
        if len(rows) < sum(bool(ref.strides) for _, ref in kept):
            raise CannotLower  # one stack would have to be written in two places
        self.rows |= rows
        for inner in loop.nodes:
            self.node(inner)
        for value, ref in kept:
            if not ref.strides:
                self.keep(value, ref)
        nexts = {c: self.cast(self.read(c.next), c.next.meta.dtype, c.inside.meta.dtype) for c in firsts}
        self.loops.pop()
        inside, self.body = self.body, around
        carried = tuple((self.names[c.inside], firsts[c], nexts[c]) for c in firsts)
        self.body.append(k.Loop(number, loop.count, carried, tuple(inside)))
        self.results(node, stacks, written)

    def results(self, node: Node, stacks: dict[int, Ref], written: set[Value]) -> None:
        loop = node.loop
        assert loop is not None
        names = {c.next: self.names[c.inside] for c in loop.carried if c.inside not in written}
        for which, (made, (value, many)) in enumerate(zip(node.outputs, loop.results, strict=True)):
            if many:
                self.arrays[made] = stacks[which]
            elif value in self.arrays:
                self.arrays[made] = ref = self.arrays[value]
                if not ref.scratch and self.operands[ref.number].written:
                    self.operands[ref.number] = self.operands[ref.number]._replace(root=made)
            elif value in names:
                self.names[made] = names[value]
            else:
                raise CannotLower  # made in the last iteration, and not carried

    def stack(self, node: Node, which: int) -> Ref:
        """Memory for a value of all iterations: a scratch if nobody outside reads it."""
        made = node.outputs[which]
        if made in self.rows:
            return self.rows[made]
        lead = self.depth_of_stack(node, which)
        strides = c_strides(made.meta)
        if made in self.wanted:
            number = self.parameter(Operand(made, 0, True), made.meta.dtype, strides[lead:])
            return Ref(False, number, 0, (), None, strides[:lead])
        shape = made.meta.shape[:lead]
        self.scratch.append(k.Scratch(code(made.meta.dtype), math.prod(shape)))
        steps = tuple(math.prod(shape[axis + 1 :]) for axis in range(lead))
        return Ref(True, len(self.scratch) - 1, 0, (), None, steps)

    def depth_of_stack(self, node: Node, which: int) -> int:
        """How many loops, each inside the other, a value is kept of."""
        assert node.loop is not None
        value = node.loop.results[which][0]
        if value.meta.shape == self.grid:
            return 1
        inner = value.maker
        if inner is None or inner.loop is None or inner not in node.loop.nodes:
            raise CannotLower
        return 1 + self.depth_of_stack(inner, inner.outputs.index(value))

    def along_loop(self, ref: Ref, number: int) -> Ref:
        steps = dict(ref.steps)
        steps[number] = steps.get(number, 0) + ref.strides[0]
        return ref._replace(steps=tuple(sorted(steps.items())), strides=ref.strides[1:])

    def keep(self, value: Value, ref: Ref) -> None:
        name = self.read(value)
        self.body.append(
            k.Keep(ref.number, name, ref.offset, ref.steps)
            if ref.scratch
            else k.Store(ref.number, name, ref.offset, ref.steps)
        )


def is_written(inside: Value, following: Value) -> bool:
    """Whether a carried array is a buffer that each iteration writes to in parts."""
    while following is not inside:
        maker = following.maker
        if maker is None:
            return False
        if maker.function is put:
            following = maker.inputs[0]
        elif maker.loop is not None:
            k_ = maker.outputs.index(following)
            value = maker.loop.results[k_][0]
            carried = next((c for c in maker.loop.carried if c.next is value), None)
            if carried is None or not is_written(carried.inside, carried.next):
                return False
            following = carried.first
        else:
            return False
    return True


def reduced_axes(node: Node) -> tuple[int, ...] | None:
    """The axes a reduction reduces; None if it does more than that."""
    options = dict(node.kwargs)
    ndim = len(node.inputs[0].meta.shape)
    dtype = options.pop("dtype", None)
    if len(node.inputs) != 1 or len(node.args) > 2 or options.keys() - {"axis", "keepdims"}:
        return None
    kinds = "b" if node.function == np.logical_and.reduce else "fc"
    if node.out.meta.dtype.kind not in kinds or (dtype is not None and np.dtype(dtype) != node.out.meta.dtype):
        return None
    axis = node.args[1] if len(node.args) > 1 else options.get("axis", None if node.function in WHOLE else 0)
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in axes)) if ndim else None


def typed_call(node: Node) -> tuple[str, list[Value], list[np.dtype[Any]], np.dtype[Any]] | None:
    """(function, values, their dtypes in NumPy's loop, its result's) of an elementwise call; None if kernels know no such call."""
    if len(node.outputs) != 1 or not isinstance(node.out.meta, Meta):
        return None
    out = node.out.meta.dtype
    if node.function is np.astype:
        x = node.inputs[0]
        return ("cast", [x], [x.meta.dtype], out) if supported("cast", [code(x.meta.dtype)], code(out)) else None
    if node.function in (np.broadcast_to, np.copy, python_number):
        x = node.inputs[0]
        return "cast", [x], [x.meta.dtype], out
    values = arguments(node)
    if values is None:
        return typed_by_option(node)
    if node.function is np.where:
        if len(values) != 3:
            return None
        dtypes = [np.dtype(bool), out, out]
        return ("where", values, dtypes, out) if known("where", dtypes, out) else None
    if node.function in (np.real, np.imag) and len(values) == 1:
        dtypes = [values[0].meta.dtype]
        if dtypes[0].kind != "c":
            return None
        return (node.function.__name__, values, dtypes, out) if known(node.function.__name__, dtypes, out) else None
    if not isinstance(node.function, np.ufunc) or node.function.nout != 1 or node.function.signature is not None:
        return None
    return typed_ufunc(node.function, values)


def typed_by_option(node: Node) -> Any:
    """``ufunc(x, y, dtype=...)``: computed in that dtype."""
    if (
        [name for name, _ in node.kwargs] != ["dtype"]
        or not isinstance(node.function, np.ufunc)
        or node.function.nout != 1
    ):
        return None
    if len(node.inputs) != len(node.args) or not all(isinstance(v.meta, Meta) for v in node.inputs):
        return None
    dtype, name = np.dtype(node.kwargs[0][1]), node.function.__name__
    dtypes = [dtype] * len(node.inputs)
    return (name, node.inputs, dtypes, dtype) if dtype == node.out.meta.dtype and known(name, dtypes, dtype) else None


def typed_ufunc(ufunc: np.ufunc, values: list[Value]) -> Any:
    found = ufunc_loop(ufunc, tuple((v.meta.dtype, v.meta.kind == "weak") for v in values))
    return None if found is None else (found[0], values, *found[1:])


@lru_cache(maxsize=4096)
def ufunc_loop(ufunc: np.ufunc, operands: tuple[tuple[np.dtype[Any], bool], ...]) -> Any:
    """(function, dtypes of its inputs, of its result) for a ufunc of operands, some of which adopt the dtype they meet."""
    kinds: Any = [python_type(dtype) if adopts and dtype.kind != "b" else dtype for dtype, adopts in operands]
    if all(adopts for _, adopts in operands):
        kinds = [dtype for dtype, _ in operands]
    try:
        *dtypes, out = ufunc.resolve_dtypes((*kinds, None))
    except TypeError:
        return None
    name = {"true_divide": "divide", "conj": "conjugate"}.get(ufunc.__name__, ufunc.__name__)
    return (name, dtypes, out) if known(name, dtypes, out) else None


def python_type(dtype: np.dtype[Any]) -> type:
    return {"f": float, "c": complex}.get(dtype.kind, int)


def known(function: str, dtypes: list[np.dtype[Any]], out: np.dtype[Any]) -> bool:
    return supported(function, [code(d) for d in dtypes], code(out))


def arguments(node: Node) -> list[Value] | None:
    """The operands of a call without options: values, and numbers written in the program as constants."""
    if node.kwargs or not all(isinstance(a, (Slot, bool, int, float, complex)) for a in node.args):
        return None
    values = [
        node.inputs[a.k] if isinstance(a, Slot) else Value(Meta((), np.dtype(type(a)), "weak"), a) for a in node.args
    ]
    return values if all(isinstance(v.meta, Meta) for v in values) else None


def collapsed(grid: Shape, parameters: list[k.Parameter]) -> tuple[Shape, list[k.Parameter]]:
    """The grid with axes joined that every parameter runs through as if they were one."""
    axes = [a for a, n in enumerate(grid) if n != 1]
    joined: list[list[int]] = []
    for a in axes:
        if joined and all(p.strides[joined[-1][-1]] == p.strides[a] * grid[a] for p in parameters):
            joined[-1].append(a)
        else:
            joined.append([a])
    sizes = tuple(int(np.prod([grid[a] for a in group])) for group in joined)
    return sizes, [p._replace(strides=tuple(p.strides[group[-1]] for group in joined)) for p in parameters]
