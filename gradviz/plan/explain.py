"""What a plan does and holds, for people: its steps, the bytes they move, each copy with what forces it, the memory at the peak."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.plan.capture.capture import DATA_SHAPED
from gradviz.plan.fuse.fuse import Step
from gradviz.plan.kernels.work import moved
from gradviz.plan.program.operation import Meta, guard, put, take
from gradviz.plan.run.place import Placement
from gradviz.plan.run.prepare import Prepared
from gradviz.plan.run.run import members
from gradviz.plan.simplify.algebra import full
from gradviz.plan.simplify.block import Node
from gradviz.plan.simplify.products import product
from gradviz.words import count_text, nbytes_text

if TYPE_CHECKING:
    from gradviz.plan.plan import Plan


class Line(NamedTuple):
    """One step.

    Attributes
    ----------
    kind : kernel, product, NumPy, loop, fill, write, guard
    what : the functions in it, a loop with its count
    where : the shape it runs over
    jobs : how often it runs side by side
    nbytes : bytes read and written
    site : the user's line that is behind the first call in it
    """

    kind: str
    what: str
    where: str
    jobs: int
    nbytes: int
    site: str


class Memory(NamedTuple):
    """Bytes that a call of a plan needs beside its arguments.

    Attributes
    ----------
    arena_nbytes : used again by each call
    scratch_nbytes : used again by each call, inside kernels
    outputs_nbytes : the results, made anew by each call
    made_nbytes : what NumPy functions return on the way, at most at one time
    """

    arena_nbytes: int
    scratch_nbytes: int
    outputs_nbytes: int
    made_nbytes: int

    @property
    def peak_nbytes(self) -> int:
        return sum(self)

    def __str__(self) -> str:
        parts = zip(("arena", "scratch", "results", "made by NumPy"), self, strict=True)
        return f"{nbytes_text(self.peak_nbytes)} at the peak: " + ", ".join(
            f"{nbytes_text(n)} {name}" for name, n in parts if n
        )


class Explanation(NamedTuple):
    """The steps of a plan as a table.

    Attributes
    ----------
    lines : the steps, in the order in which they run
    copies : (bytes, reason, line of the user) for each copy that is left
    memory : what a call holds
    head : facts about the whole
    origin : where the program comes from, what that took, and whether other processes find it on disk
    waits : for a plan on a device, (why the host waits for it, line of the user) for each time it does; None for one on the host
    """

    lines: list[Line]
    copies: list[tuple[int, str, str]]
    memory: Memory
    head: str
    origin: str = ""
    waits: list[tuple[str, str]] | None = None

    def __str__(self) -> str:
        rows = [("", "kind", "what", "over", "moves", "line")]
        rows += [(str(n + 1), *cells(line)) for n, line in enumerate(self.lines)]
        widths = [max(len(row[c]) for row in rows) for c in range(6)]
        table = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        copies = [f"  {nbytes_text(n)}: {reason}{f'  ({site})' if site else ''}" for n, reason, site in self.copies]
        waits = [f"  {reason}{f'  ({site})' if site else ''}" for reason, site in self.waits or ()]
        told = [] if self.waits is None else [f"waits for the device: {len(waits) or 'none'}", *waits]
        tail = [*told, f"memory: {self.memory}", *([f"program: {self.origin}"] if self.origin else [])]
        return "\n".join([self.head, *table, f"copies that are left: {len(copies) or 'none'}", *copies, *tail])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """As a table, in notebooks."""
        names = ("", "kind", "what", "over", "moves", "line")
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in names)
        body = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in (str(n + 1), *cells(line)))
            + "</tr>"
            for n, line in enumerate(self.lines)
        )
        copies = "".join(
            f"<li>{nbytes_text(n)}: {html.escape(reason)} {html.escape(site)}</li>" for n, reason, site in self.copies
        )
        waits = "".join(f"<li>{html.escape(reason)} {html.escape(site)}</li>" for reason, site in self.waits or ())
        told = "" if self.waits is None else f"<p>waits for the device: {len(self.waits) or 'none'}</p><ul>{waits}</ul>"
        return (
            f"<p>{html.escape(self.head)}</p><table><tr>{head}</tr>{body}</table><p>copies that are left: {len(self.copies) or 'none'}</p>"
            f"<ul>{copies}</ul>{told}<p>memory: {html.escape(str(self.memory))}</p><p>program: {html.escape(self.origin)}</p>"
        )


def cells(line: Line) -> tuple[str, ...]:
    jobs = f" × {line.jobs}" if line.jobs > 1 else ""
    return line.kind, line.what, f"{line.where}{jobs}", nbytes_text(line.nbytes), line.site


def explain(plan: Plan, line: Callable[[int], str]) -> Explanation:
    """What a plan does; ``line`` tells the user's line behind a site."""

    def place(site: int | None) -> str:
        return line(site) if site is not None and site >= 0 else ""

    lines = [describe(step, place(step.site)) for step in plan.steps]
    kinds = Counter(entry.kind for entry in lines)
    count = (
        ", ".join(f"{n} {kind}{'s' if n > 1 and kind != 'NumPy' else ''}" for kind, n in kinds.most_common())
        or "nothing to do"
    )
    captured = len(plan.program.rows) - len(plan.program.inputs)
    head = (
        f"{count_text(len(lines), 'step')} ({count}) for {captured} rows of {plan.calls} captured calls; "
        f"kernels compiled in {plan.compile_ns / 1e6:.3g} ms"
    )
    copies = copies_of(plan.prepared, place)
    if plan.machine is None:
        return Explanation(lines, copies, memory(plan), head)
    launches = count_text(max(frame.launches for frame in plan.frames), "launch", "launches")
    where = f"{plan.machine.name}{', simulated' if plan.machine.simulated else ''}"
    return Explanation(lines, copies, memory(plan), f"on {where}, {launches}: {head}", waits=waits(plan, place))


def copies_of(prepared: Prepared, place: Callable[[int | None], str]) -> list[tuple[int, str, str]]:
    """The copies that are left, those in the turns of loops included."""
    found = [(c.nbytes, c.reason, place(c.site)) for c in prepared.placement.copies]
    for step, (inside, turn) in prepared.insides.items():
        assert inside.node.loop is not None
        count, site = inside.node.loop.count, place(step.site)
        each = copies_of(turn, place)
        for n in turn.placement.copied_back():
            reason = (
                "handed on, and computed where it is kept"
                if n < len(turn.block.inputs) - inside.rows
                else "kept, and handed on"
            )
            each.append((turn.block.inputs[n].meta.nbytes, reason, site))
        found += [(nbytes * count, f"{reason}, in each of {count} turns", where) for nbytes, reason, where in each]
    return found


def waits(plan: Plan, place: Callable[[int | None], str]) -> list[tuple[str, str]]:
    """Why, and at which line, the host waits for the device in each call."""
    found = [(f"{name} is compared with what it was when the plan was made", "") for name in plan.compared]
    for step in plan.steps:
        if not step.jobs:
            found += [
                (f"{why}{f', {times} times' if times > 1 else ''}", place(at))
                for why, times, at in reads(step.nodes, 1)
            ]
    handed = [v for v in plan.placement.handed if isinstance(v.meta, Meta) and v.meta.kind == "weak" and v.maker]
    found += [("a number of Python's is returned", place(v.maker.site)) for v in handed if v.maker is not None]
    hosted = dict.fromkeys(node for frame in plan.frames for node in frame.hosted)
    return found + [(f"the device has no such {node.name}: the host computes it", place(node.site)) for node in hosted]


def reads(nodes: list[Node], times: int) -> Iterator[tuple[str, int, int | None]]:
    """(why, how often, site) for what has to be known of values while some nodes run."""
    for node in nodes:
        if node.loop is not None:
            yield from reads(node.loop.nodes, times * node.loop.count)
        elif node.function is guard:
            yield f"Python looks at a value ({node.args[1]})", times, node.site
        elif sized_by_values(node):
            yield f"how large the result of {node.name} is depends on values", times, node.site


def sized_by_values(node: Node) -> bool:
    """Whether a device has to tell how large a result is."""
    mask = node.function is take and any(isinstance(v.meta, Meta) and v.meta.dtype.kind == "b" for v in node.inputs[1:])
    return mask or node.function in DATA_SHAPED or (node.function is np.where and node.several)


def describe(step: Step, site: str) -> Line:
    if step.jobs:
        kernel = step.jobs[0].kernel
        grid = " × ".join(map(str, kernel.grid)) or "numbers"
        return Line(
            "kernel",
            members(step.nodes_of_a_job),
            grid,
            len(step.jobs),
            sum(moved(job.kernel) for job in step.jobs),
            site,
        )
    (node,) = step.nodes
    kind = {guard: "guard", full: "fill", put: "write", product: "product"}.get(node.function, "NumPy")
    if node.loop is not None:
        kind = "loop"
    metas = [v.meta for v in (*node.inputs, *node.outputs) if isinstance(v.meta, Meta)]
    shape = node.outputs[0].meta.shape if isinstance(node.outputs[0].meta, Meta) else ()
    return Line(kind, members([node]), " × ".join(map(str, shape)) or "numbers", 1, sum(m.nbytes for m in metas), site)


def memory(plan: Plan) -> Memory:
    """What a call of a plan needs beside its arguments."""
    placement: Placement = plan.placement
    outputs = sum(v.meta.nbytes for v in placement.handed if isinstance(v.meta, Meta) and new_memory(placement, v))
    made = [(v, home) for v, home in placement.homes.items() if home.kind == "made" and v not in placement.results]
    most = 0
    for number in range(len(plan.steps)):
        most = max(
            most,
            sum(v.meta.nbytes for v, _ in made if isinstance(v.meta, Meta) and placement.until.get(v, -1) >= number),
        )
    return Memory(placement.arena_nbytes, plan.frames[0].scratch_nbytes if plan.frames else 0, outputs, most)


def new_memory(placement: Placement, value: Any) -> bool:
    if value.meta.kind != "array":
        return False
    home = placement.home(value)
    return not (home.kind == "donated" and placement.block.inputs[home.at] in placement.donated)
