"""How a kernel is cut into launches: which axes each thread walks, and how many blocks there are.

Without reductions each thread takes positions of the whole grid. With them, the grid's axes are those that a result keeps and those it is
summed over: a *lane* walks the latter, the lanes of a block are joined in shared memory, and where one block for each result would leave
the GPU idle the walk is cut into *chunks*, which a second launch joins. Everything depends on sizes alone, so that sums always come
out the same.

Reductions that keep different axes are passes of their own over the same statements; what a kernel stores, the last pass stores, as it may
lie where the others have read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gradviz.plan.kernels.code import itemsize
from gradviz.plan.kernels.kernel import Kernel, Reduce

THREADS = 256  # of a block
WARP = 32
MOST_BLOCKS = 1024  # of a launch: several for each multiprocessor of the largest GPU
MOST_JOBS = 65_535  # CUDA's limit of a grid's second axis
A_LANE = 16  # positions that a lane walks before a walk is worth cutting
SCRATCH_NBYTES = 1 << 28  # what all threads of a launch may keep between loops


class Pass(NamedTuple):
    """One walk over the grid.

    Attributes
    ----------
    kept, reduced : the axes of the grid
    reduces : the reductions that keep these axes
    stores : whether it writes what the kernel stores
    across : neighbouring results that a block makes; 1 where the innermost axis is reduced, so that its threads stand side by side
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    reduces: tuple[Reduce, ...]
    stores: bool
    across: int


class Launch(NamedTuple):
    """A function of the module, for all jobs: ``function<<<(blocks, jobs), threads>>>(table, jobs, chunks, scratch)``."""

    function: str
    blocks: int
    jobs: int
    threads: int
    chunks: int


class Plan(NamedTuple):
    """The launches of a call, in order, with the memory that they use between them."""

    launches: list[Launch]
    partial_nbytes: int  # of each job
    scratch_nbytes: int


def passes(kernel: Kernel) -> list[Pass]:
    """The walks over a kernel's grid."""
    axes = tuple(range(len(kernel.grid)))
    groups: dict[tuple[int, ...], list[Reduce]] = {}
    for statement in kernel.body:
        if isinstance(statement, Reduce):
            strides = kernel.parameters[statement.parameter].strides
            groups.setdefault(tuple(a for a in axes if strides[a]), []).append(statement)
    if not groups:
        return [Pass(axes, (), (), True, WARP)]
    found = []
    for n, (kept, reduces) in enumerate(groups.items()):
        reduced = tuple(a for a in axes if a not in kept)
        across = WARP if axes and axes[-1] in kept else 1
        reduces.sort(
            key=lambda r: -itemsize(kernel.parameters[r.parameter].dtype)
        )  # so that partial results are aligned
        found.append(Pass(kept, reduced, tuple(reduces), n == len(groups) - 1, across))
    return found


def plan(kernel: Kernel, walks: Sequence[Pass], names: Sequence[str], sizes: Sequence[int], threads: int) -> Plan:
    """The launches for jobs with these sizes of the first axis, by blocks of so many threads."""
    size, jobs = max(sizes), len(sizes)
    grid = (size, *kernel.grid[1:]) if kernel.grid else ()
    kept_nbytes = sum(s.count * itemsize(s.dtype) for s in kernel.scratch)
    launches: list[Launch] = []
    partial = scratch = 0
    for walk, name in zip(walks, names, strict=True):
        results = math.prod(grid[a] for a in walk.kept)
        if walk.reduces:
            made, nbytes = _reducing(
                kernel, walk, name, results, math.prod(grid[a] for a in walk.reduced), jobs, threads
            )
            partial = max(partial, nbytes)
        else:
            block = min(threads, -(-max(results, 1) // WARP) * WARP) if results > 1 else 1
            made = [Launch(name, min(-(-max(results, 1) // block), 4 * MOST_BLOCKS), min(jobs, MOST_JOBS), block, 1)]
        if kept_nbytes:
            made[0], nbytes = _keeping(made[0], kept_nbytes)
            scratch = max(scratch, nbytes)
        launches += made
    return Plan(launches, partial, scratch)


def _reducing(
    kernel: Kernel, walk: Pass, name: str, results: int, summed: int, jobs: int, threads: int
) -> tuple[list[Launch], int]:
    """The launches of a pass with reductions, and the bytes of what they hand from one to the other."""
    groups = max(1, -(-results // walk.across))
    lanes = threads // walk.across
    chunks = max(1, min(summed // (lanes * A_LANE), -(-MOST_BLOCKS // (groups * jobs))))
    blocks, rows = min(groups * chunks, 4 * MOST_BLOCKS), min(jobs, MOST_JOBS)
    made = [Launch(name, blocks, rows, threads, chunks)]
    if chunks == 1:
        return made, 0
    made.append(Launch(f"{name}_join", min(max(results, 1), 4 * MOST_BLOCKS), rows, threads, chunks))
    return made, chunks * results * sum(itemsize(kernel.parameters[r.parameter].dtype) for r in walk.reduces)


def _keeping(launch: Launch, nbytes: int) -> tuple[Launch, int]:
    """A launch of few enough threads that what they keep fits, and how much that is."""
    most = max(1, SCRATCH_NBYTES // nbytes)
    jobs = max(1, min(launch.jobs, most // launch.threads))
    blocks = max(1, min(launch.blocks, most // (launch.threads * jobs)))
    return launch._replace(blocks=blocks, jobs=jobs), blocks * jobs * launch.threads * nbytes
