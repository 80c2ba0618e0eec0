"""A kernel's machine code bound to a table of jobs: everything about a call that does not change is prepared once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gradviz.plan.entries import FIRST_ADDRESS, columns
from gradviz.plan.layout import ALIGN, round_up
from gradviz.plan.threads import Task, cores, pool

if TYPE_CHECKING:
    from gradviz.plan.run_llvm import Compiled

WORTH_A_THREAD = 100_000  # nanoseconds of work for each thread; to wake one takes 20 to 50 µs


class Call:
    """Call it to run the kernel on all jobs.

    ``table`` is a ctypes array of whole numbers, ``columns`` for each job; the address of parameter ``i`` of job ``j`` stands at
    ``table[j * columns + 2 + i]`` and may be changed between calls. One call at a time: its scratch is its own.
    """

    def __init__(self, compiled: Compiled, sizes: Sequence[int], threads: int) -> None:
        self.compiled = compiled
        self.sizes = tuple(sizes)
        kernel, layout = compiled.kernel, compiled.layout
        self.columns = columns(kernel)
        self.table = (ctypes.c_int64 * (self.columns * len(self.sizes)))()
        self._chunks = (
            [max(1, -(-size // layout.chunk)) for size in self.sizes] if kernel.grid else [1] * len(self.sizes)
        )
        kept = [n * layout.partial_bytes if n > 1 else 0 for n in self._chunks]
        self._partials, address = _aligned(sum(kept))
        for job, size in enumerate(self.sizes):
            self.table[job * self.columns] = size
            self.table[job * self.columns + 1] = address
            address += kept[job]
        tasks = self._share(threads)
        self._scratch, place = _aligned(layout.scratch_bytes * len(tasks))
        self._tasks: list[Task] = [
            partial(
                function,
                ctypes.c_void_p(row),
                ctypes.c_int64(begin),
                ctypes.c_int64(end),
                ctypes.c_void_p(place + i * layout.scratch_bytes),
            )
            for i, (function, row, begin, end) in enumerate(tasks)
        ]
        self._after = self._finish() if len(self.sizes) == 1 and layout.partials and self._chunks[0] > 1 else None
        if len(self._tasks) == 1 and self._after is None:
            self.run: Task = self._tasks[0]
        else:
            self.run = self._run

    def __call__(self) -> None:
        self.run()

    def set_addresses(self, job: int, addresses: Sequence[int]) -> None:
        """Where the parameters of a job lie."""
        start = job * self.columns + FIRST_ADDRESS
        self.table[start : start + len(addresses)] = list(addresses)

    def _run(self) -> None:
        if len(self._tasks) == 1:
            self._tasks[0]()
        else:
            pool.run(self._tasks)
        if self._after is not None:
            self._after()

    def _row(self, job: int) -> int:
        return ctypes.addressof(self.table) + 8 * self.columns * job

    def _finish(self) -> Task:
        """What combines the chunks of a single job; many jobs combine their own."""
        chunks = ctypes.c_int64(self._chunks[0])
        return partial(
            self.compiled.enter_finish, ctypes.c_void_p(self._row(0)), ctypes.c_int64(0), chunks, ctypes.c_void_p(0)
        )

    def _share(self, threads: int) -> list[tuple[Callable[..., object], int, int, int]]:
        """Cut the work in one piece a thread: ranges of chunks of one job, or ranges of jobs with about as many positions."""
        kernel, compiled = self.compiled.kernel, self.compiled
        single = len(self.sizes) == 1
        inner = 1
        for n in kernel.grid[1:]:
            inner *= n
        work = sum(self.sizes) * inner * compiled.layout.cost
        threads = max(1, min(threads, cores(), int(work / WORTH_A_THREAD)))
        weights = [1] * self._chunks[0] if single else list(self.sizes)
        function = compiled.enter_run if single else compiled.enter_jobs
        return [(function, self._row(0), begin, end) for begin, end in _ranges(weights, threads)]


def _ranges(weights: list[int], count: int) -> list[tuple[int, int]]:
    """At most ``count`` ranges of about the same weight that cover everything."""
    total, ranges, begin, done = sum(weights), [], 0, 0
    for i, weight in enumerate(weights):
        done += weight
        if done * count >= total * (len(ranges) + 1) and i + 1 < len(weights) and len(ranges) + 1 < count:
            ranges.append((begin, i + 1))
            begin = i + 1
    return [*ranges, (begin, len(weights))]


def _aligned(nbytes: int) -> tuple[object, int]:
    """Memory that starts at a cache line, and its address."""
    memory = (ctypes.c_char * (nbytes + ALIGN))()
    return memory, round_up(ctypes.addressof(memory), ALIGN)
