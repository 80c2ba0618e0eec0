"""Where each value lives: in the caller's array, in an array that is handed out, or in one arena that is used again and again.

A value may take over the memory of one that is read for the last time by the same kernel, entry by entry. Every copy that is left is
entered in `Placement.copies` with the reason that forces it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.fuse.fuse import Step
from gradviz.plan.fuse.lower import Lowered, Operand
from gradviz.plan.fuse.views import Place, Places, c_strides, is_contiguous
from gradviz.plan.kernels import kernel as k
from gradviz.plan.kernels.layout import statements
from gradviz.plan.program.operation import Meta, add_at, guard, put
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Block, Node, Value, inputs_of
from gradviz.plan.simplify.guards import has_guard
from gradviz.plan.simplify.products import product

ALIGN = 64


class Home(NamedTuple):
    """Where a value lives.

    ``kind`` is "input" (the caller's memory), "constant", "arena" (``at`` bytes into it), "output" (made anew by each call),
    "donated" (in the memory of input ``at``), or "made" (whatever NumPy returns).
    """

    kind: str
    at: int


class Copy(NamedTuple):
    """Bytes that are copied although no result needs it as such."""

    step: int
    nbytes: int
    reason: str
    site: Any


class Placement:
    """The homes of all values of a block, and the steps with the parameters of their kernels joined where memory is.

    Attributes
    ----------
    homes : where each value that owns memory lives
    arena_nbytes : size of the arena
    copies : the copies that are left, with the reason for each
    called : what an input is called in reasons
    taken : inputs whose memory is used again, and for which result
    written : results that the function has written into an input: number of the input -> value
    """

    def __init__(
        self,
        block: Block,
        steps: list[Step],
        places: Places,
        donated: frozenset[int],
        written: dict[int, int],
        called: Callable[[int], str] = "input {}".format,
    ) -> None:
        self.called = called
        self.block, self.steps, self.places = block, steps, places
        self.written = {n: block.results[k] for n, k in written.items()}
        back = set(written.values())
        self.handed = [v for k, v in enumerate(block.results) if k not in back]
        self.into = set(self.written.values())
        self.places_for: dict[Value, list[Value]] = {}
        for n, v in self.written.items():
            self.places_for.setdefault(v, []).append(block.inputs[n])
        self.homes: dict[Value, Home] = {}
        self.copies: list[Copy] = []
        self.taken: dict[int, Value] = {}
        self.input_number = {v: n for n, v in enumerate(block.inputs)}
        self.donated = {block.inputs[n] for n in donated}
        self.waiting: dict[Any, list[Value]] = {}  # donated inputs by kind
        for n in sorted(donated - written.keys()):
            self.waiting.setdefault(block.inputs[n].meta, []).append(block.inputs[n])
        self.last_guard = max((n for n, s in enumerate(steps) if any(map(has_guard, s.nodes))), default=-1)
        self.until = self._until()
        self.results = self._owning_results()
        self.rewritten = self._rewritten()
        self._free: list[tuple[int, int]] = []  # (offset, size) of what the arena has left below its end
        self.arena_nbytes = 0
        self._live: list[tuple[int, Value]] = []
        self._sizes: dict[int, int] = {}
        self._gone: set[Value] = set()  # whose memory is another's by now
        for v, n in self.input_number.items():
            self.homes[v] = Home("input", n)
        for number, step in enumerate(steps):
            self._step(number, step)
            self._release(number)
        for v in self.handed:
            self._hand(v)

    def _hand(self, value: Value) -> None:
        """Enter the copy of a result that cannot be handed out as it is."""
        if not isinstance(value.meta, Meta) or value.meta.kind != "array":
            return
        root = self.places[value].root
        home = self.home(value)
        if root in self.results and home.kind != "donated":
            return
        if home.kind == "donated" and root is value:
            if self.block.inputs[home.at] in self.donated:
                return
            reason = f"returned, and written into input {home.at}, which is not donated"
        elif root.is_constant:
            reason = "returned, and a constant"
        elif root in self.input_number:
            reason = f"returned, and memory of input {self.input_number[root]}"
        else:
            reason = "returned twice" if root is value else "returned, and a part of another array"
        site = value.maker.site if value.maker is not None else None
        self.copies.append(Copy(len(self.steps), value.meta.nbytes, reason, site))

    def unused(self, n: int) -> str | None:
        """Why the memory of a donated input is not used again; None if it is."""
        root = self.block.inputs[n]
        if n in self.taken or root.meta.kind != "array":
            return None
        alike = [v for v in self.handed if isinstance(v.meta, Meta) and v.meta == root.meta]
        if not alike:
            return f"no result is of its kind, {root.meta}"
        if self.places[root] != Place(root, 0, c_strides(root.meta)) or n in self.places.copied:
            return "its entries do not follow each other in C order, and those of results do"
        if self.until.get(root, -1) >= len(self.steps):
            return "it is returned as it is"
        reader = next(
            (
                node
                for step in reversed(self.steps)
                for node in step.nodes
                if any(self.places[v].root is root for v in inputs_of(node))
            ),
            None,
        )
        free = [v for v in alike if self.home(v).kind != "donated"]
        if not free:
            return "every result of its kind already has the memory of another donated argument"
        return f"it is still read (by {reader.name if reader else 'nothing'}) when the results of its kind are made"

    def home(self, value: Value) -> Home:
        """Where the memory of a value is, also of one that looks at another."""
        root = self.places[value].root
        if root.is_constant:
            return Home("constant", 0)
        return self.homes[root]

    def copied_back(self) -> list[int]:
        """The inputs that are written into by a copy at the end, as their new value was computed elsewhere."""
        return [
            n for n, v in self.written.items() if self.home(v)[:2] != ("donated", n) or self.places[v].root is not v
        ]

    # how long

    def _until(self) -> dict[Value, int]:
        """The last step that reads what owns memory."""
        until: dict[Value, int] = {}
        for number, step in enumerate(self.steps):
            for node in step.nodes:
                for v in (*inputs_of(node), *node.outputs):
                    if isinstance(v.meta, Meta):
                        until[self.places[v].root] = number
            for job in step.jobs:
                for operand in job.operands:
                    until[operand.root] = number
                    if operand.first is not None:
                        until[self.places[operand.first].root] = max(
                            number, until.get(self.places[operand.first].root, 0)
                        )
        for v in self.block.results:
            until[self.places[v].root] = len(self.steps)
        return until

    def _rewritten(self) -> dict[Value, Value]:
        """For an array whose last reader writes into parts of it: what it is afterwards."""
        found: dict[Value, Value] = {}
        for number, step in enumerate(self.steps):
            pairs = [(o.first, o.root) for job in step.jobs for o in job.operands if o.first is not None]
            if not step.jobs and step.nodes[0].function in (put, add_at):
                pairs = [(step.nodes[0].inputs[0], step.nodes[0].out)]
            found.update({a: b for a, b in pairs if self.places[a].root is a and self.until.get(a) == number})
        return found

    def _owning_results(self) -> set[Value]:
        """What owns the memory of results that can be handed out as they are: all of it, and once."""
        seen: set[Value] = set()
        again: set[Value] = set()
        for v in self.handed:
            root = self.places[v].root
            again |= {root} & seen
            seen.add(root)
        arrays = [v for v in self.handed if isinstance(v.meta, Meta) and v.meta.kind == "array"]
        roots = {self.places[v].root for v in arrays if is_whole(v, self.places)}
        return {root for root in roots - again if not root.is_constant and root not in self.input_number}

    # memory

    def _step(self, number: int, step: Step) -> None:
        for node in step.nodes:
            if node.function is np.copy:
                self.copies.append(
                    Copy(number, node.out.meta.nbytes, "returned as it was before it is written into", node.site)
                )
        if not step.jobs:
            self._call(number, step.nodes[0])
        step.jobs = [self._job(number, step, job) for job in step.jobs]

    def _job(self, number: int, step: Step, lowered: Lowered) -> Lowered:
        """Homes for all that one kernel writes."""
        while True:
            n = next((n for n, o in enumerate(lowered.operands) if o.written and o.root not in self.homes), None)
            if n is None:
                return lowered
            lowered = self._operand(number, step, lowered, n, lowered.operands[n])

    def _operand(self, number: int, step: Step, lowered: Lowered, n: int, operand: Operand) -> Lowered:
        """A home for one result of a kernel; in that of an operand if it may be."""
        value = operand.root
        if operand.first is not None:
            read = any(o.root is self.places[operand.first].root for o in lowered.operands)
            self._buffer(number, value, operand.first, step.nodes[0].site, read)
            return lowered
        for m, other in enumerate(lowered.operands):
            alone = sum(o.root is other.root for o in lowered.operands) == 1
            if (
                alone
                and not other.written
                and self._gives_way(number, other, value)
                and same_entries(lowered.kernel, m, n)
            ):
                if (value in self.results or value in self.into) and self.homes[other.root].kind != "input":
                    continue
                self._take_over(other.root, value)
                return joined(lowered, m, n)
        self._new(value, number)
        return lowered

    def _gives_way(self, number: int, operand: Operand, value: Value) -> bool:
        """Whether the memory of an operand may be overwritten by a value of the same kind."""
        root = operand.root
        if (
            root.is_constant
            or operand.offset
            or root.meta.nbytes != value.meta.nbytes
            or root.meta.dtype != value.meta.dtype
        ):
            return False
        if self.until.get(root) != number or root in self._gone:
            return False
        kind = self.homes[root].kind
        if kind == "input":
            return self._may_lie_in(value, root) and number > self.last_guard
        return kind == "arena" or (kind == "output" and root not in self.results)

    def _becomes(self, value: Value) -> Value:
        """What is written into a value, as the last that is read of it, and so on: a result is then written where it will be handed out."""
        while value not in self.results and (following := self.rewritten.get(value)) is not None:
            value = following
        return value

    def _donors(self, value: Value) -> list[Value]:
        """The inputs in whose memory a result could lie."""
        if value in self.into:
            return self.places_for[value]
        if value not in self.results:
            return []
        waiting = self.waiting.get(value.meta, [])
        while waiting and self.input_number[waiting[0]] in self.taken:
            waiting.pop(0)
        return waiting

    def _may_lie_in(self, value: Value, root: Value) -> bool:
        """Whether a result may lie in the memory of an input."""
        n = self.input_number[root]
        if root.meta != value.meta or n in self.taken or self.places[root] != Place(root, 0, c_strides(root.meta)):
            return False
        if n in self.places.copied:
            return False
        if n in self.written:
            return self.written[n] is value
        return root in self.donated and value in self.results and value not in self.into

    def _take_over(self, root: Value, value: Value) -> None:
        self._gone.add(root)
        home = self.homes[root]
        if home.kind == "input":
            home = Home("donated", home.at)
            self.taken[home.at] = value
        self.homes[value] = home
        self._live = [(n, v) for n, v in self._live if v is not root]
        if home.kind == "arena":
            self._live.append((home.at, value))

    def _buffer(self, number: int, value: Value, first: Value, site: Any, read: bool) -> None:
        """Memory for an array that a step writes parts of, starting from what ``first`` is; ``read`` if the step reads that as well."""
        root = self.places[first].root
        if first is root and not read and self._gives_way(number, Operand(root, 0, False), value) and not (
            (value in self.results or value in self.into) and self.homes[root].kind == "arena"
        ):  # fmt: skip
            self._take_over(root, value)
            return
        self._new(value, number)
        if first.maker is None or first.maker.function is not full:
            self.copies.append(Copy(number, value.meta.nbytes, self.why(first, number), site))

    def why(self, value: Value, number: int) -> str:
        """What keeps the memory of a value from being overwritten."""
        root = self.places[value].root
        if root.is_constant:
            return "a constant"
        if root in self.input_number:
            n = self.input_number[root]
            free = root in self.donated or n in self.written
            return f"{self.called(n)} is the caller's (donate it)" if not free else f"{self.called(n)} is read later"
        if root in {self.places[v].root for v in self.block.results}:
            return "returned as it was before the write"
        if self.until.get(root, 0) > number:
            return "read later"
        if root is value:
            return "read while parts of it are written"
        return "a part of an array"

    def _new(self, value: Value, number: int) -> None:
        if number > self.last_guard:
            for root in self._donors(value):
                if self.until.get(root, -1) < number and self._may_lie_in(value, root):
                    self._take_over(root, value)
                    return
        if self._becomes(value) in self.results:
            self.homes[value] = Home("output", id(value))
            return
        size = -(-max(value.meta.nbytes, 1) // ALIGN) * ALIGN
        fits = [(have, at) for at, have in self._free if have >= size]
        if fits:
            have, at = min(fits)
            self._free.remove((at, have))
            if have > size:
                self._free.append((at + size, have - size))
        else:
            at = self.arena_nbytes
            self.arena_nbytes += size
        self.homes[value] = Home("arena", at)
        self._sizes[at] = size
        self._live.append((at, value))

    def _release(self, number: int) -> None:
        """Give back what no later step reads."""
        still = []
        for at, value in self._live:
            if self.until.get(value, -1) <= number:
                self._free.append((at, self._sizes[at]))
            else:
                still.append((at, value))
        self._live = still
        self._free.sort()
        merged: list[tuple[int, int]] = []
        for at, size in self._free:
            if merged and merged[-1][0] + merged[-1][1] == at:
                merged[-1] = merged[-1][0], merged[-1][1] + size
            else:
                merged.append((at, size))
        self._free = merged

    def _call(self, number: int, node: Node) -> None:
        """Memory for what NumPy computes."""
        if node.function is guard:
            return
        if node.loop is not None or node.several or not isinstance(node.out.meta, Meta):
            for v in node.outputs:
                if isinstance(v.meta, Meta) and v.meta.kind != "array":
                    self._new(v, number)
                else:
                    self.homes[v] = Home("made", 0)
        elif node.function in (put, add_at):
            read = any(self.places[v].root is self.places[node.inputs[0]].root for v in node.inputs[1:])
            self._buffer(number, node.out, node.inputs[0], node.site, read)
        elif node.function is full or node.function is product or takes_out(node) or node.out.meta.kind != "array":
            self._new(node.out, number)
        else:
            self.homes[node.out] = Home("made", 0)


def is_whole(value: Value, places: Places) -> bool:
    """Whether a value is all of the memory it lies in, in C order, perhaps in another shape."""
    place = places[value]
    if place.root is value:
        return True
    root = place.root
    if (
        root.meta.nbytes != value.meta.nbytes
        or root.meta.dtype != value.meta.dtype
        or root.meta.kind != "array"
        or place.offset
    ):
        return False
    return is_contiguous(value.meta, place.strides) and is_contiguous(root.meta, places[root].strides)


def takes_out(node: Node) -> bool:
    """Whether NumPy can compute a node into memory that is given."""
    function = node.function
    ufunc = function if isinstance(function, np.ufunc) else getattr(function, "__self__", None)
    reducing = getattr(function, "__name__", "") in ("reduce", "accumulate")
    return (
        isinstance(ufunc, np.ufunc)
        and ufunc.nout == 1
        and (function is ufunc or reducing)
        and node.out.meta.kind != "weak"
    )


def same_entries(kernel: k.Kernel, source: int, target: int) -> bool:
    """Whether a kernel reads a parameter only where and before it writes another, so that both may be one."""
    if kernel.parameters[source] != kernel.parameters[target]:
        return False
    if any(s == 0 and n > 1 for s, n in zip(kernel.parameters[target].strides, kernel.grid, strict=True)):
        return False
    for statement in statements(kernel.body):
        access = isinstance(statement, (k.Load, k.Store)) and statement.parameter in (source, target)
        if access and (statement.offset or statement.steps or statement.index is not None):
            return False
        if isinstance(statement, k.Reduce) and statement.parameter == target:
            return False
    return True


def joined(lowered: Lowered, source: int, target: int) -> Lowered:
    """The kernel with one parameter for both; the one that was written to stays."""

    def moved(n: int) -> int:
        n = target if n == source else n
        return n - 1 if n > source else n

    def renumbered(body: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            s._replace(body=renumbered(s.body)) if isinstance(s, k.Loop)
            else s._replace(parameter=moved(s.parameter)) if isinstance(s, (k.Load, k.Store, k.Reduce))
            else s
            for s in body
        )  # fmt: skip

    kernel = lowered.kernel
    parameters = tuple(p for n, p in enumerate(kernel.parameters) if n != source)
    operands = [o for n, o in enumerate(lowered.operands) if n != source]
    return Lowered(kernel._replace(parameters=parameters, body=renumbered(kernel.body)), operands)
