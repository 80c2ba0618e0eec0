"""What is decided about a kernel before it is written: lanes, blocks, chunks, and where scratch and partial results lie.

A *block* is the positions whose numbers are kept in registers together: ``unroll`` vectors of ``lanes`` lanes each, so that chains of
dependent calls run side by side. A *chunk* is a fixed number of positions along the first axis, fewer where each takes long. It is what
threads share out, and what a reduction over the first axis is cut into: sums do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.plan.kernels.code import is_complex, itemsize, part
from gradviz.plan.kernels.functions import find
from gradviz.plan.kernels.kernel import Compute, Constant, Kernel, Load, Loop, Reduce, Store

SCRATCH_BYTES = 1 << 19  # what one block may keep: half of a core's second-level cache
CHUNK = 1 << 14  # positions; 16 vectors of running sums see 256 terms each at most
CHUNK_NS = 200_000  # of work, roughly: chunks of positions that take long are shorter, so that threads have something to share out
ALIGN = 64


class Partial(NamedTuple):
    """Where one chunk's part of a reduction lies: ``offset`` bytes into the chunk's memory."""

    parameter: int
    function: str
    offset: int
    origin: int  # bytes from the lowest address to position 0: strides may be negative


class Layout(NamedTuple):
    """The decisions; sizes in bytes, ``chunk`` in positions of the first axis, ``cost`` in nanoseconds a position, roughly."""

    lanes: int
    unroll: int
    looping: bool
    chunk: int
    partials: tuple[Partial, ...]
    partial_bytes: int
    scratch_offsets: tuple[int, ...]
    scratch_bytes: int
    cost: float


def statements(body: tuple[Any, ...]) -> Iterator[Any]:
    """All statements, those in loops after their loop."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from statements(statement.body)


def lay_out(kernel: Kernel, vector_bytes: int) -> Layout:
    everything = list(statements(kernel.body))
    looping = any(isinstance(s, Loop) for s in everything)
    lanes = _lanes(kernel, everything, vector_bytes)
    unroll = _unroll(kernel, everything, looping, lanes)
    offsets, scratch_bytes = _scratch(kernel, lanes * unroll)
    partials, partial_bytes = _partials(kernel)
    inner = max(1, math.prod(kernel.grid[1:]))
    cost = _cost(kernel.body) / max(1, lanes)
    block = lanes * unroll if len(kernel.grid) == 1 else 1
    positions = min(CHUNK, round_up(int(CHUNK_NS / cost), block) if cost else CHUNK)
    chunk = max(positions // inner, 64 if partial_bytes > ALIGN * max(1, len(partials)) else 1)
    return Layout(lanes, unroll, looping, chunk, partials, partial_bytes, offsets, scratch_bytes, cost)


def _lanes(kernel: Kernel, everything: list[Any], vector_bytes: int) -> int:
    if not kernel.grid:
        return 1
    dtypes = {p.dtype for p in kernel.parameters} | {s.dtype for s in everything if isinstance(s, Compute | Constant)}
    sizes = [itemsize(part(d)) for d in dtypes if d[0] in "fc"] or [itemsize(d) for d in dtypes]
    return vector_bytes // max(4, *sizes) if sizes else vector_bytes // 8


def _unroll(kernel: Kernel, everything: list[Any], looping: bool, lanes: int) -> int:
    if not kernel.grid:
        return 1
    parts = sum(2 if isinstance(s, Compute) and is_complex(s.dtype) else 1 for s in everything)
    limits = ((30, 8), (60, 4), (150, 2)) if looping else ((24, 4), (80, 2))
    unroll = next((u for most, u in limits if parts <= most), 1)
    kept = sum(s.count * itemsize(s.dtype) for s in kernel.scratch) * lanes
    while unroll > 2 and kept * unroll > SCRATCH_BYTES:
        unroll //= 2
    vectors = round_up(kernel.grid[-1], lanes) // lanes
    if looping and unroll > 2 and vectors <= 4 * unroll:  # a block costs the same, full or not: the fewest idle vectors
        return (
            max(1, vectors)
            if vectors <= unroll
            else min(range(unroll, unroll // 2, -1), key=lambda u: round_up(vectors, u))
        )
    while unroll > 1 and len(kernel.grid) > 1 and (unroll // 2) * lanes >= kernel.grid[-1]:
        unroll //= 2
    return unroll


def _scratch(kernel: Kernel, block: int) -> tuple[tuple[int, ...], int]:
    offsets, total = [], 0
    for scratch in kernel.scratch:
        offsets.append(total)
        total += round_up(scratch.count * block * itemsize(scratch.dtype), ALIGN)
    return tuple(offsets), total


def _partials(kernel: Kernel) -> tuple[tuple[Partial, ...], int]:
    found, total = [], 0
    for statement in kernel.body:
        if isinstance(statement, Reduce) and kernel.grid:
            strides = kernel.parameters[statement.parameter].strides
            if strides[0] == 0:
                reach = [(n - 1) * s for n, s in zip(kernel.grid[1:], strides[1:], strict=True) if n > 0]
                origin = -sum(r for r in reach if r < 0)
                size = origin + sum(r for r in reach if r > 0) + itemsize(kernel.parameters[statement.parameter].dtype)
                found.append(Partial(statement.parameter, statement.function, total, origin))
                total += round_up(size, ALIGN)
    return tuple(found), total


def _cost(body: tuple[Any, ...]) -> float:
    total = 0.0
    for s in body:
        match s:
            case Loop():
                total += s.count * _cost(s.body)
            case Compute():
                function = find(s.function, s.dtype[0]) or find(s.function, "f")
                total += 0.4 * (function.cost if function else 1.0)
            case Load() | Store():
                total += 1.0
            case _:
                total += 0.3
    return total


def round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
