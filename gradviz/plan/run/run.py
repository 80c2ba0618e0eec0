"""How a plan runs: one Python function, written for it, that calls kernels and NumPy on memory laid out beforehand.

What does not change from call to call (addresses in the arena, views of it, tables of kernels) belongs to a `Frame`; a plan has one
frame for each call that is under way at the same time.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradviz.plan.capture.overlap import address
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.fuse.lower import Operand
from gradviz.plan.fuse.views import is_contiguous
from gradviz.plan.kernels import blas
from gradviz.plan.kernels.runner import compile_kernel
from gradviz.plan.kernels.threads import cores
from gradviz.plan.program.operation import Meta, Operation, Slot, add_at, filled, guard, put
from gradviz.plan.program.program import checked
from gradviz.plan.run import entry
from gradviz.plan.run.entry import CONSTANT, INPUT, ITEM, MADE, NUMBER
from gradviz.plan.run.place import takes_out
from gradviz.plan.run.prepare import Prepared
from gradviz.plan.run.table import FIXED, Spot, Table
from gradviz.plan.run.turns import Turns
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Node, Value, inputs_of
from gradviz.plan.simplify.products import product

ndarray = np.ndarray
MOST_MEMBERS = 6  # functions of a kernel that are named
FEW = 16  # inputs whose addresses are simply looked up in each call


word_at = ctypes.c_int64.from_address
PROBE = np.empty(3)
# an ndarray begins with a reference count, its type and the address of its first entry: 0.2 µs, where the documented way takes 1 µs
QUICK = word_at(id(PROBE) + 16).value == address(PROBE)
ADDRESS = "word_at(id({name}) + 16).value" if QUICK else "{name}.__array_interface__['data'][0]"


class Frame:
    """The memory of one call of a plan, and the function that runs it."""

    def __init__(self, prepared: Prepared) -> None:
        self.block, self.steps, self.placement, self.insides = prepared
        block, placement = self.block, self.placement
        self.places = placement.places
        raw = np.empty(placement.arena_nbytes + 64, np.uint8)
        self.arena = raw[-address(raw) % 64 :][: max(placement.arena_nbytes, 1)]
        self.numbers = [n for n, v in enumerate(block.inputs) if v.meta.kind != "array"]
        self.slots = {n: np.zeros((), block.inputs[n].meta.dtype) for n in self.numbers}
        self.fixed: dict[Value, Any] = {}
        self.writer = Writer(self)
        self.compile_ns = 0
        self.scratch_nbytes = 0
        for step in self.steps:
            self.writer.begin()
            self.writer.step(step)
        self.run: Callable[[Sequence[Any]], list[Any]] = self.writer.function()
        self.run_watched: Any = None  # written when a recorder is there

    def direct(self) -> tuple[Any, list[Any]]:
        """What runs it without Python, and what that gives; None and nothing where Python is needed."""
        table, given = self.writer.table, self.writer.given()
        if given is None or not table.whole or entry.direct is None:
            return None, []
        return entry.direct.Steps([0] * table.cells, table.made, table.steps, self), given

    def watched(self, values: Sequence[Any], recorder: Any, sites: Sequence[Any]) -> list[Any]:
        """Run, and let a recorder see each step."""
        if self.run_watched is None:
            self.run_watched = self.writer.watched_function(self.steps)
        lines = recorder.recording.lines

        def note(step: Step, start_ns: int, end_ns: int, read: list[Any], made: list[Any]) -> None:
            found = lines.known(*sites[step.site]) if 0 <= step.site < len(sites) else -1
            recorder.ran(title(step), start_ns, end_ns, read, made, found)

        return self.run_watched(values, recorder.clock, note)

    def array(self, value: Value) -> Any:
        """The array for a value whose memory is always the same; None for others."""
        if value in self.fixed:
            return self.fixed[value]
        place = self.places[value]
        root, made = place.root, None
        if value.is_constant:
            made = value.constant if value.meta.kind == "array" else np.asarray(value.constant)
        elif root is value:
            home = self.placement.homes[root]
            if home.kind == "arena":
                made = np.ndarray(value.meta.shape, value.meta.dtype, self.arena.data, home.at)  # type: ignore[arg-type]
            elif home.kind == "input" and home.at in self.slots:
                made = self.slots[home.at]
        else:
            base = self.array(root)
            if base is not None:
                strides = place.strides
                made = np.lib.stride_tricks.as_strided(
                    shifted(base, place.offset, value.meta.dtype), value.meta.shape, strides
                )
        self.fixed[value] = made
        return made

    def base_address(self, root: Value) -> int | None:
        array = self.array(root)
        return None if array is None else address(array)


def shifted(base: Any, offset: int, dtype: Any) -> Any:
    """A one-entry array that begins some bytes into another's memory."""
    holder = base
    while isinstance(holder.base, ndarray):
        holder = holder.base
    start = address(base) + offset - address(holder)
    flat = holder.reshape(-1).view(np.uint8)
    return flat[start : start + dtype.itemsize].view(dtype)


class Writer:
    """Writes the source of a frame's function."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.space: dict[str, Any] = {"np": np, "word_at": word_at, "own": own}
        self.lines: list[str] = []
        self.names: dict[Value, str] = {v: f"inputs[{n}]" for n, v in enumerate(frame.block.inputs)}
        self.made_names: dict[int, str] = {}  # memory made by a call -> its name
        self.begins: list[int] = []  # the first line of each step
        self.addressed: set[int] = set()  # inputs whose address is wanted in a variable
        self.patches: dict[int, list[tuple[Any, int, int]]] = {}  # input -> (table, place, offset)
        self.table = Table(len(frame.block.inputs))

    def begin(self) -> None:
        """The lines of the next step begin here."""
        self.begins.append(len(self.lines))

    def bind(self, thing: Any) -> str:
        """A name for an object in the function's namespace."""
        name = f"g{len(self.space)}"
        self.space[name] = thing
        return name

    # values

    def value(self, value: Any) -> str:
        """Source text for a value, as an array or number for NumPy."""
        if value in self.names:
            return self.names[value]
        if value.is_constant:
            return self.bind(value.constant)
        fixed = self.frame.array(value)
        if fixed is not None:
            if value.meta.kind == "array":
                self.names[value] = self.bind(fixed)
                return self.names[value]
            return f"{self.bind(fixed)}[()]" if value.meta.kind == "number" else f"{self.bind(fixed)}.item()"
        root = self.frame.places[value].root
        if root is not value and value.maker is not None:
            self.names[value] = name = self.variable()
            self.lines.append(f"{name} = {self.call(value.maker)}")
            return name
        raise AssertionError(value)

    def variable(self) -> str:
        return f"v{len(self.names)}_{len(self.lines)}"

    def call(self, node: Node, **extra: str) -> str:
        """Source text for a call of a node's function."""
        names = [self.value(v) for v in node.inputs]
        args = [self.argument(a, names) for a in node.args]
        args += [f"{n}={self.argument(a, names)}" for n, a in node.kwargs]
        args += [f"{n}={text}" for n, text in extra.items()]
        return f"{self.bind(node.function)}({', '.join(args)})"

    def argument(self, template: Any, names: list[str]) -> str:
        if isinstance(template, Slot):
            return names[template.k]
        slots = [part for part in flat(template) if isinstance(part, Slot)]
        if not slots:
            return self.bind(filled(template, []))
        return f"{self.bind(filled)}({self.bind(template)}, [{', '.join(names)}])"

    # steps

    def step(self, step: Step) -> None:
        if step.jobs:
            self.kernels(step)
            return
        (node,) = step.nodes
        if node.function is full:
            self.fill(node)
        elif node.function is product:
            self.product(node)
        else:
            self.table.needs_python()
            self.with_numpy(step, node)

    def with_numpy(self, step: Step, node: Node) -> None:
        """A step of which no part runs without Python."""
        if node.loop is not None:
            self.loop(step)
        elif node.function is guard:
            check = partial(checked, Operation(0, guard, node.args, (), None, ()))
            self.lines.append(f"{self.bind(check)}([{self.value(node.inputs[0])}])")
        elif node.function is put:
            self.put(node)
        elif node.function is add_at:
            target = self.target(node.out, node.inputs[0])
            names = [self.value(v) for v in node.inputs]
            ufunc = dict(node.kwargs).get("ufunc", np.add)
            index, what = (self.argument(a, names) for a in node.args[1:3])
            self.lines.append(f"{self.bind(ufunc.at)}({target}, {index}, {what})")
        elif takes_out(node) and self.frame.placement.homes[node.out].kind != "made":
            target = self.target(node.out)
            self.lines.append(self.call(node, out=target))
        else:
            self.made(node)

    def made(self, node: Node) -> None:
        """A call that makes memory of its own."""
        text = self.call(node)
        if node.several:
            self.keep(node.outputs, text)
        else:
            self.keep(node.outputs, f"({text},)")

    def keep(self, values: list[Value], text: str) -> None:
        """Give names or places to the several results of a call."""
        names = [
            self.name(v)
            if not isinstance(v.meta, Meta) or v.meta.kind == "array"
            else f"{self.bind(self.frame.array(v))}[()]"
            for v in values
        ]
        self.lines.append(f"{', '.join(names)}, = {text}" if names else text)
        for v, name in zip(values, names, strict=True):
            if isinstance(v.meta, Meta) and v.meta.kind == "array":
                self.lines.append(f"{name} = own({name}, inputs)")
                self.arrive(v)

    def name(self, value: Value) -> str:
        self.names[value] = f"w{len(self.lines)}_{len(self.names)}"
        return self.names[value]

    def target(self, value: Value, first: Value | None = None) -> str:
        """The array that a value is computed into, holding what ``first`` is already."""
        home = self.frame.placement.homes[value]
        if home.kind == "output" and home.at in self.made_names:
            self.names[value] = self.made_names[home.at]
        elif home.kind == "output":
            name = self.made_names[home.at] = self.name(value)
            self.lines.append(f"{name} = np.empty({value.meta.shape}, {self.bind(value.meta.dtype)})")
            self.arrive(value)
        elif home.kind == "donated":
            self.names[value] = f"inputs[{home.at}]"
        else:
            fixed = self.bind(self.frame.array(value))
            if value.meta.kind == "array":
                self.names[value] = fixed
        target = self.names[value] if value.meta.kind == "array" else fixed
        if first is not None and not self.same_memory(value, first):
            if first.maker is not None and first.maker.function is full:
                number = first.maker.args[1]
                self.lines.append(f"{target}.fill({self.bind(number)})")
                self.table.fill(self.spot(value), value.meta, number)
            else:
                self.lines.append(f"{target}[...] = {self.value(first)}")
                self.copied(value, first)
        return target

    def copied(self, value: Value, first: Value) -> None:
        """Enter a copy in the table."""
        place = self.frame.places[first]
        same = first.meta.dtype == value.meta.dtype and first.meta.shape == value.meta.shape
        if same and is_contiguous(first.meta, place.strides):
            self.table.copy(self.spot(value), self.spot(place.root, place.offset), value.meta.nbytes)
        else:
            self.table.needs_python()

    def spot(self, root: Value, offset: int = 0) -> Spot:
        """Where the memory of a value is, as the table says it."""
        base = self.frame.base_address(root)
        if base is not None:
            return Spot(FIXED, base + offset)
        home = self.frame.placement.homes[root]
        if home.kind in ("input", "donated"):
            return Spot(home.at, offset)
        if home.kind != "output":
            self.table.needs_python()
            return Spot(FIXED, 0)
        return Spot(self.table.made[self.table.make(home.at, root.meta)][2], offset)

    def fill(self, node: Node) -> None:
        """An array of one number."""
        number = node.args[1]
        self.lines.append(f"{self.target(node.out)}.fill({self.bind(number)})")
        self.table.fill(self.spot(node.out), node.out.meta, number)

    def same_memory(self, value: Value, first: Value) -> bool:
        if first.is_constant or self.frame.places[first].root is not first:
            return False
        mine, other = self.frame.placement.homes[value], self.frame.placement.homes[first]
        if mine.kind == "donated":
            return other.kind in ("input", "donated") and other.at == mine.at
        return mine.kind in ("arena", "output") and mine == other

    def put(self, node: Node) -> None:
        target = self.target(node.out, node.inputs[0])
        names = [self.value(v) for v in node.inputs]
        index = self.argument(node.args[2], names)
        self.lines.append(f"{target}[{index}] = {names[1]}")

    def product(self, node: Node) -> None:
        """A call of BLAS."""
        target = self.target(node.out)
        bound = self.gemm(node)
        if bound is None:
            self.lines.append(f"{target}[...] = {self.call(node)}")
            self.table.needs_python()
            return
        operands = (*node.inputs, node.out)
        self.lines.append(f"{self.bind(bound)}({', '.join(map(self.place, operands))})")
        if blas.direct is None:
            return
        patches = []
        for cell, value in zip(bound.cells, operands, strict=True):
            place = self.frame.places[value]
            spot = self.spot(place.root, place.offset)
            if spot.cell == FIXED:
                word_at(cell).value = spot.offset
            else:
                patches.append((cell, spot))
        self.table.run(bound, patches)

    def gemm(self, node: Node) -> Any:
        """A product bound to BLAS, None where it cannot be told."""
        found = blas.blas()
        _, _, alpha, *ways = node.args
        dtype = node.out.meta.dtype
        sides = []
        for v, way in zip(node.inputs, ways, strict=True):
            layout = blas.leading(self.frame.places[v].strides, v.meta.shape, dtype.itemsize)
            if layout is None or (layout[0] and way == "C"):
                return None
            transposed = layout[0] != (way != "N")
            sides.append((blas.WAYS["C" if way == "C" else "T" if transposed else "N"], layout[1]))
        if found is None:
            return None
        (m, n), k = node.out.meta.shape, node.inputs[0].meta.shape[1 if ways[0] == "N" else 0]
        (way_a, lda), (way_b, ldb) = sides
        return found.gemm(dtype, (way_a, way_b), (m, n, k), alpha, (lda, ldb, n))

    def place(self, value: Value) -> str:
        """Source text for the address of a value."""
        place = self.frame.places[value]
        base = self.frame.base_address(place.root)
        if base is not None:
            return str(base + place.offset)
        home = self.frame.placement.homes[place.root]
        if home.kind in ("input", "donated"):
            self.addressed.add(home.at)
            return f"a{home.at} + {place.offset}"
        return f"{self.address_of(place.root)} + {place.offset}"

    def loop(self, step: Step) -> None:
        """A loop that no kernel can do, iteration by iteration."""
        inside, prepared = self.frame.insides[step]
        frame = Frame(prepared)
        turns = Turns(inside, frame)
        self.frame.compile_ns += frame.compile_ns
        self.frame.scratch_nbytes += frame.placement.arena_nbytes + frame.scratch_nbytes + turns.nbytes
        self.keep(inside.node.outputs, f"{self.bind(turns)}([{', '.join(self.value(v) for v in turns.reads)}])")

    def kernels(self, step: Step) -> None:
        """The kernels of a step, each with all the memory it is run on."""
        alike: dict[Any, list[list[Operand]]] = {}
        for job in step.jobs:
            alike.setdefault(job.kernel, []).append(job.operands)
        for kernel, jobs in alike.items():
            compiled = compile_kernel(kernel)
            self.frame.compile_ns += compiled.compile_ns
            call = compiled.bind([kernel.grid[0] if kernel.grid else 1] * len(jobs), threads=cores())
            self.frame.scratch_nbytes += call.nbytes
            patches: list[tuple[int, Spot]] = []
            for n, operands in enumerate(jobs):
                for k, operand in enumerate(operands):
                    if operand.written:
                        self.target(operand.root, operand.first)
                    self.operand(call.table, n * call.columns + 2 + k, operand, patches)
            self.bind(call)  # it owns the table, and the scratch
            self.lines.append(f"{self.bind(call.run)}()")
            if blas.direct is not None and isinstance(call.run, blas.direct.Task):
                self.table.run(call.run, patches)
            else:
                self.table.needs_python()

    def operand(self, table: Any, place: int, operand: Operand, patches: list[tuple[int, Spot]]) -> None:
        root = operand.root
        base = self.frame.base_address(root)
        if base is not None:
            table[place] = base + operand.offset
            return
        patches.append((ctypes.addressof(table) + 8 * place, self.spot(root, operand.offset)))
        home = self.frame.placement.homes[root]
        if home.kind in ("input", "donated"):
            self.patches.setdefault(home.at, []).append((table, place, operand.offset))
        else:
            self.lines.append(f"{self.bind(table)}[{place}] = {self.address_of(root)} + {operand.offset}")

    def address_of(self, root: Value) -> str:
        return f"a_{self.names[root]}"

    def arrive(self, value: Value) -> None:
        """Note the address of memory that is made by the call; kernels ask for it."""
        name = self.names[value]
        self.lines.append(f"a_{name} = {ADDRESS.format(name=name)}")

    # the whole

    def function(self) -> Any:
        frame = self.frame
        head: list[str] = []
        for n in frame.places.copied:
            head += [f"given{n} = inputs[{n}]", f"inputs[{n}] = np.ascontiguousarray(given{n})"]
        head += [f"{self.bind(frame.slots[n])}[()] = inputs[{n}]" for n in frame.numbers]
        head += [f"a{n} = {ADDRESS.format(name=f'inputs[{n}]')}" for n in sorted(self.addressed)]
        if len(self.patches) > FEW:
            head.append(f"{self.bind(Pointing(self.patches))}(inputs)")
        else:
            for n, places in self.patches.items():
                head.append(f"a = {ADDRESS.format(name=f'inputs[{n}]')}")
                head += [f"{self.bind(table)}[{place}] = a + {offset}" for table, place, offset in places]
        outs = f"[{', '.join(runs(once_each([self.result(v) for v in frame.placement.handed])))}]"
        back = [self.copied_back(n, frame.placement.written[n]) for n in frame.placement.copied_back()]
        tail = [f"outs = {outs}", *back, "return outs"] if back else [f"return {outs}"]
        if frame.places.copied:
            self.table.needs_python()
        self.head, self.tail = head, tail
        self.source = "\n    ".join([*head, *self.lines, *tail])
        exec(f"def run(inputs):\n    {self.source}", self.space)  # noqa: S102 - the text is made of names of ours alone
        return self.space["run"]

    def copied_back(self, n: int, value: Value) -> str:
        """Source text for the copy of a value into an input."""
        frame = self.frame
        place, meta = frame.places[value], frame.block.inputs[n].meta
        same = (value.meta.dtype, value.meta.shape) == (meta.dtype, meta.shape)
        if (
            same
            and is_contiguous(value.meta, place.strides)
            and is_contiguous(meta, frame.places[frame.block.inputs[n]].strides)
        ):
            self.table.copy(Spot(n, 0), self.spot(place.root, place.offset), meta.nbytes)
        else:
            self.table.needs_python()
        return f"np.copyto({f'given{n}' if n in frame.places.copied else f'inputs[{n}]'}, {self.value(value)})"

    def watched_function(self, steps: list[Step]) -> Any:
        """The same function, telling ``note(step, start, end, arrays read, arrays made)`` after each step."""
        lines = list(self.head)
        for step, begin, end in zip(steps, self.begins, [*self.begins[1:], len(self.lines)], strict=True):
            made = [v for node in step.nodes for v in node.outputs]
            read = [v for node in step.nodes for v in inputs_of(node) if v not in set(made)]
            lines += ["start = clock()", *self.lines[begin:end], "end = clock()"]
            lines.append(f"note({self.bind(step)}, start, end, [{self.arrays(read)}], [{self.arrays(made)}])")
        text = "\n    ".join([*lines, *self.tail])
        exec(f"def run(inputs, clock, note):\n    {text}", self.space)  # noqa: S102 - as above
        return self.space["run"]

    def arrays(self, values: list[Value]) -> str:
        """Source text for the arrays among some values that there are at run time."""
        roots = dict.fromkeys(
            self.frame.places[v].root
            for v in values
            if isinstance(v.meta, Meta) and v.meta.kind == "array" and not v.is_constant
        )
        names = [self.names.get(root) or self.fixed_name(root) for root in roots]
        return ", ".join(dict.fromkeys(name for name in names if name))

    def fixed_name(self, root: Value) -> str | None:
        if root not in self.frame.placement.homes:
            return None
        fixed = self.frame.array(root)
        return None if fixed is None else self.bind(fixed)

    def result(self, value: Value) -> str:
        """Source text for a result, in memory of its own."""
        placement = self.frame.placement
        if value.is_constant:
            name = self.bind(value.constant)
            return f"{name}.copy()" if isinstance(value.constant, ndarray) else name
        home = placement.home(value)
        if (
            home.kind == "donated"
            and self.frame.places[value].root is value
            and placement.block.inputs[home.at] in placement.donated
        ):
            return self.names[value]
        root = self.frame.places[value].root
        if root in placement.results and home.kind in ("output", "made"):
            return self.names[root] if root is value else f"{self.names[root]}.reshape({value.meta.shape})"
        if value.meta.kind != "array":
            return self.value(value)
        return f"np.array({self.value(value)})"

    def given(self) -> list[Any] | None:
        """The results, as ``entry.c`` reads them; None where Python has to make one."""
        found = [self.given_one(v) for v in self.frame.placement.handed]
        arrays = [one[:2] for one in found if one is not None and one[0] in (INPUT, MADE)]
        return None if None in found or len(set(arrays)) < len(arrays) else found

    def given_one(self, value: Value) -> Any:
        placement = self.frame.placement
        if value.is_constant:
            return None if isinstance(value.constant, ndarray) else (CONSTANT, 0, value.constant)
        if value.meta.kind != "array":
            fixed = self.frame.array(value)
            return None if fixed is None else (NUMBER if value.meta.kind == "number" else ITEM, 0, fixed)
        if self.frame.places[value].root is not value:
            return None
        home = placement.home(value)
        if home.kind == "donated" and placement.block.inputs[home.at] in placement.donated:
            return INPUT, home.at, None
        if home.kind == "output" and value in placement.results:
            return MADE, self.table.make(home.at, value.meta), None
        return None


class Pointing:
    """Enters the addresses of many inputs into tables."""

    def __init__(self, patches: dict[int, list[tuple[Any, int, int]]]) -> None:
        self.patches = patches

    def __call__(self, inputs: Sequence[Any]) -> None:
        for n, places in self.patches.items():
            start = word_at(id(inputs[n]) + 16).value if QUICK else address(inputs[n])
            for table, place, offset in places:
                table[place] = start + offset


def title(step: Step) -> str:
    """What a step is called in a trace: a kernel with its members, a loop with its count."""
    return f"kernel: {members(step.nodes_of_a_job)}" if step.jobs else step.nodes[0].name


def members(nodes: list[Node]) -> str:
    """The functions of some nodes, the commonest first; loops with what is in them."""
    loops = [f"{n.name} ({members(n.loop.nodes)})" for n in nodes if n.loop is not None]
    counts = Counter(n.name for n in nodes if n.loop is None).most_common()
    named = [f"{n} {name}" if n > 1 else name for name, n in counts[:MOST_MEMBERS]]
    rest = sum(n for _, n in counts[MOST_MEMBERS:])
    return ", ".join(loops + named + ([f"{rest} more"] if rest else []))


def once_each(names: list[str]) -> list[str]:
    """The same results, with a copy for each array that was handed out before."""
    seen: set[str] = set()
    made: list[str] = []
    for name in names:
        shared = name in seen and (name.isidentifier() or name.startswith("inputs["))
        made.append(f"np.array({name})" if shared else name)
        seen.add(name)
    return made


def runs(names: list[str]) -> list[str]:
    """The same list, with inputs that follow each other as one slice."""
    made: list[str] = []
    at = 0
    numbers = [int(name[7:-1]) if name.startswith("inputs[") else None for name in names]
    while at < len(names):
        end = at + 1
        while numbers[at] is not None and end < len(names) and numbers[end] == numbers[at] + end - at:  # type: ignore[operator]
            end += 1
        made.append(names[at] if end == at + 1 else f"*inputs[{numbers[at]} : {numbers[at] + end - at}]")  # type: ignore[operator]
        at = end
    return made


def own(array: Any, inputs: Sequence[Any]) -> Any:
    """What NumPy returned, in memory of its own and in C order."""
    if array.base is None and array.flags.c_contiguous and not any(array is x for x in inputs):
        return array
    return np.array(array, order="C")


def flat(template: Any) -> Any:
    if type(template) is Slot or not isinstance(template, tuple):
        yield template
        return
    for part in template:
        yield from flat(part)
