"""The functions of a kernel's module that Python calls; see `emit`."""

from __future__ import annotations

from gradviz.plan.kernels.code import SCALARS, Code, is_complex, itemsize, part
from gradviz.plan.kernels.functions import combine
from gradviz.plan.kernels.kernel import Kernel
from gradviz.plan.kernels.layout import Layout, Partial
from gradviz.plan.kernels.vector_math import Library

FIRST_ADDRESS = 2  # a row: the size of the first axis, the address of partial results, the addresses of the parameters


def columns(kernel: Kernel) -> int:
    return FIRST_ADDRESS + len(kernel.parameters)


def entries(kernel: Kernel, layout: Layout, prefix: str, library: Library) -> str:
    return "\n".join(
        [_run(kernel, layout, prefix), _finish(kernel, layout, prefix, library), _jobs(kernel, layout, prefix)]
    )


def _head(name: str) -> str:
    return f"define void @{name}(ptr %row, i64 %begin, i64 %end, ptr noalias %scratch) #0 {{\nentry:\n"


def _addresses(kernel: Kernel) -> list[str]:
    lines = ["%size = load i64, ptr %row", "%c1 = getelementptr i64, ptr %row, i64 1", "%partials = load ptr, ptr %c1"]
    for i in range(len(kernel.parameters)):
        lines += [f"%a{i} = getelementptr i64, ptr %row, i64 {FIRST_ADDRESS + i}", f"%p{i} = load ptr, ptr %a{i}"]
    return lines


def _run(kernel: Kernel, layout: Layout, prefix: str) -> str:
    lines = _addresses(kernel)
    actual = [f"%p{i}" for i in range(len(kernel.parameters))]
    lines += [f"%low = mul nsw i64 %begin, {layout.chunk}", f"%top = mul nsw i64 %end, {layout.chunk}"]
    if not layout.partials:
        lines += _call("%low", "%top", actual)
        return _head(prefix + "run") + "\n".join([*lines, "ret void", "}"])
    lines += [
        f"%single = icmp sle i64 %size, {layout.chunk}",
        "br label %head",
        "head:",
        "%chunk = phi i64 [ %begin, %entry ], [ %next, %body ]",
        "%more = icmp slt i64 %chunk, %end",
        "br i1 %more, label %body, label %done",
        "body:",
        f"%from = mul nsw i64 %chunk, {layout.chunk}",
        f"%to = add nsw i64 %from, {layout.chunk}",
        f"%place = mul nsw i64 %chunk, {layout.partial_bytes}",
        "%mine = getelementptr i8, ptr %partials, i64 %place",
    ]
    for p in layout.partials:
        lines += [
            f"%m{p.parameter} = getelementptr i8, ptr %mine, i64 {p.offset + p.origin}",
            f"%q{p.parameter} = select i1 %single, ptr %p{p.parameter}, ptr %m{p.parameter}",
        ]
        actual[p.parameter] = f"%q{p.parameter}"
    lines += [
        *_call("%from", "%to", actual),
        "%next = add nsw i64 %chunk, 1",
        "br label %head",
        "done:",
        "ret void",
        "}",
    ]
    return _head(prefix + "run") + "\n".join(lines)


def _call(low: str, top: str, actual: list[str]) -> list[str]:
    given = "".join(f", ptr {p}" for p in actual)
    return [
        f"%inside = icmp slt i64 {top}, %size",
        f"%high = select i1 %inside, i64 {top}, i64 %size",
        f"call void @positions(i64 {low}, i64 %high, ptr %scratch{given})",
    ]


def _jobs(kernel: Kernel, layout: Layout, prefix: str) -> str:
    return _head(prefix + "jobs") + "\n".join([
        "br label %head",
        "head:",
        "%number = phi i64 [ %begin, %entry ], [ %next, %body ]",
        "%more = icmp slt i64 %number, %end",
        "br i1 %more, label %body, label %done",
        "body:",
        f"%place = mul nsw i64 %number, {8 * columns(kernel)}",
        "%job = getelementptr i8, ptr %row, i64 %place",
        "%size = load i64, ptr %job",
        f"%rounded = add nsw i64 %size, {layout.chunk - 1}",
        f"%whole = udiv i64 %rounded, {layout.chunk}",
        "%none = icmp eq i64 %whole, 0",
        "%chunks = select i1 %none, i64 1, i64 %whole",
        f"call void @{prefix}run(ptr %job, i64 0, i64 %chunks, ptr %scratch)",
        f"call void @{prefix}finish(ptr %job, i64 0, i64 %chunks, ptr %scratch)",
        "%next = add nsw i64 %number, 1",
        "br label %head",
        "done:",
        "ret void",
        "}",
    ])  # fmt: skip


def _finish(kernel: Kernel, layout: Layout, prefix: str, library: Library) -> str:
    """Chunks are combined in pairs, pairs of pairs and so on: rounding errors grow with the logarithm of their number."""
    code = Code(1, library)
    code.line("%some = icmp sgt i64 %end, 1")
    if not layout.partials:
        return _head(prefix + "finish") + "ret void\n}"
    code.line("br i1 %some, label %work, label %out")
    code.start("work")
    for partial in layout.partials:
        _halve(kernel, layout, partial, code)
    code.line("br label %out")
    lines = [*_addresses(kernel), *code.lines, "out:", "ret void", "}"]
    return _head(prefix + "finish") + "\n".join(lines)


def _halve(kernel: Kernel, layout: Layout, partial: Partial, code: Code) -> None:
    """For (gap = 1; gap < chunks; gap *= 2) for (c = 0; c + gap < chunks; c += 2 gap) partial[c] += partial[c + gap]."""
    parameter = kernel.parameters[partial.parameter]
    gaps, chunks, after, over = (code.fresh_label(s) for s in ("gaps", "chunks", "after", "over"))
    before = code.label
    code.line(f"br label %{gaps}")
    code.start(gaps)
    gap, twice, c, following, other = (code.name() for _ in range(5))
    at = len(code.lines)
    code.line("")
    code.line(f"{twice} = shl i64 {gap}, 1")
    code.line(f"br label %{chunks}")
    code.start(chunks)
    inner = len(code.lines)
    code.line("")
    code.line(f"{other} = add nsw i64 {c}, {gap}")
    pair = [
        code.op(f"getelementptr i8, ptr %partials, i64 {code.op(f'mul nsw i64 {i}, {layout.partial_bytes}')}")
        for i in (c, other)
    ]
    pair = [code.op(f"getelementptr i8, ptr {p}, i64 {partial.offset + partial.origin}") for p in pair]
    _each(kernel, partial, code, pair, lambda x, y: combine(code, partial.function, parameter.dtype, x, y))
    code.line(f"{following} = add nsw i64 {c}, {twice}")
    code.lines[inner] = f"{c} = phi i64 [ 0, %{gaps} ], [ {following}, %{code.label} ]"
    reach = code.op(f"add nsw i64 {following}, {gap}")
    more = code.op(f"icmp slt i64 {reach}, %end")
    code.line(f"br i1 {more}, label %{chunks}, label %{after}")
    code.start(after)
    code.lines[at] = f"{gap} = phi i64 [ 1, %{before} ], [ {twice}, %{code.label} ]"
    again = code.op(f"icmp slt i64 {twice}, %end")
    code.line(f"br i1 {again}, label %{gaps}, label %{over}")
    code.start(over)
    source = code.op(f"getelementptr i8, ptr %partials, i64 {partial.offset + partial.origin}")
    _each(kernel, partial, code, [f"%p{partial.parameter}", source], lambda _, y: y)


def _each(kernel: Kernel, partial: Partial, code: Code, pair: list[str], made: object) -> None:
    """Loops over the positions of a result: ``first = made(first, second)``."""
    parameter = kernel.parameters[partial.parameter]
    if any(stride and not size for stride, size in zip(parameter.strides[1:], kernel.grid[1:], strict=True)):
        return
    opened = []
    for axis, stride in enumerate(parameter.strides):
        if stride == 0:
            continue
        head, before = code.fresh_label("each"), code.label
        code.line(f"br label %{head}")
        code.start(head)
        index, at = code.name(), len(code.lines)
        code.line("")
        pair = [code.op(f"getelementptr i8, ptr {p}, i64 {code.op(f'mul nsw i64 {index}, {stride}')}") for p in pair]
        opened.append((head, before, index, at, kernel.grid[axis]))
    scalar = SCALARS[parameter.dtype] if parameter.dtype != "b1" else "i8"
    parts = range(2) if is_complex(parameter.dtype) else range(1)
    size = itemsize(part(parameter.dtype))
    spots = [[code.op(f"getelementptr i8, ptr {p}, i64 {i * size}") for i in parts] for p in pair]
    loaded = [[code.op(f"load {scalar}, ptr {p}, align 1") for p in ps] for ps in spots]
    if parameter.dtype == "b1":
        loaded = [[code.op(f"icmp ne i8 {x}, 0") for x in xs] for xs in loaded]
    total = made(*(tuple(xs) if len(xs) > 1 else xs[0] for xs in loaded))  # type: ignore[operator]
    if parameter.dtype == "b1":
        total = code.op(f"zext i1 {total} to i8")
    for p, x in zip(spots[0], total if is_complex(parameter.dtype) else [total], strict=True):
        code.line(f"store {scalar} {x}, ptr {p}, align 1")
    for head, before, index, at, size in reversed(opened):
        following = code.op(f"add nsw i64 {index}, 1")
        code.lines[at] = f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{code.label} ]"
        done = code.fresh_label("done")
        code.line(f"br i1 {code.op(f'icmp slt i64 {following}, {size}')}, label %{head}, label %{done}")
        code.start(done)
