"""A kernel's machine code bound to a table of jobs: everything about a call that does not change is prepared once.

Where ``call.c`` is compiled (see `gradviz.compiled`), a call goes there directly, and threads take shares of it as they come.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradviz.compiled import compiled as compiled_module
from gradviz.plan.kernels.entries import FIRST_ADDRESS, columns
from gradviz.plan.kernels.layout import ALIGN, round_up
from gradviz.plan.kernels.threads import Task, cores, pool

if TYPE_CHECKING:
    from gradviz.plan.kernels.run_llvm import Compiled

Piece = tuple[
    Callable[..., object], int, int, int
]  # an entry of the machine code, a job, and a range of its chunks, or of jobs from it

direct: Any = compiled_module(__name__)
WORTH_A_THREAD = 20_000 if direct else 100_000  # nanoseconds of work for each thread; Python's take 20 to 50 µs to wake
SHARES = 4 if direct else 1  # for each thread: who wakes late, or shares its core, takes fewer


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
        work = sum(self.sizes) * math.prod(kernel.grid[1:]) * layout.cost
        threads = max(1, min(threads, cores(), int(work / WORTH_A_THREAD)))
        if direct is not None and not direct.SHARES:
            threads = 1
        shares = self._share(threads * SHARES if threads > 1 else 1)
        threads = min(threads, len(shares))
        self._scratch, place = _aligned(layout.scratch_bytes * threads)
        self.nbytes = layout.scratch_bytes * threads + sum(kept)  # of memory that each run uses again
        last: Piece = (compiled.enter_finish, 0, 0, self._chunks[0])
        finish: list[Piece] = [last] if layout.partials and len(shares) > 1 and len(self.sizes) == 1 else []
        if direct is not None:
            after = self._addressed(last) if finish else None
            given = [[self._addressed(piece) for piece in share] for share in shares]
            self.run: Task = direct.Task(given, after, threads, place, layout.scratch_bytes, work)
            return
        self._tasks = [self._task(pieces, place + i * layout.scratch_bytes) for i, pieces in enumerate(shares)]
        self._after = self._task(finish, 0)
        self.run = self._tasks[0] if len(self._tasks) == 1 else self._run_side_by_side

    def __call__(self) -> None:
        self.run()

    def set_addresses(self, job: int, addresses: Sequence[int]) -> None:
        """Where the parameters of a job lie."""
        start = job * self.columns + FIRST_ADDRESS
        self.table[start : start + len(addresses)] = list(addresses)

    def _run_side_by_side(self) -> None:
        pool.run(self._tasks)
        self._after()

    def _addressed(self, piece: Piece) -> tuple[int, int, int, int]:
        """A piece as addresses: of the code, of the job's row."""
        entry, job, begin, end = piece
        code = ctypes.cast(entry, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
        return code, ctypes.addressof(self.table) + 8 * self.columns * job, begin, end

    def _task(self, pieces: list[Piece], scratch: int) -> Task:
        """Everything that one thread does."""
        calls = []
        for entry, job, begin, end in pieces:
            row = ctypes.addressof(self.table) + 8 * self.columns * job
            calls.append(
                partial(
                    entry, ctypes.c_void_p(row), ctypes.c_int64(begin), ctypes.c_int64(end), ctypes.c_void_p(scratch)
                )
            )
        if len(calls) == 1:
            return calls[0]

        def one_after_the_other() -> None:
            for call in calls:
                call()

        return one_after_the_other

    def _share(self, count: int) -> list[list[Piece]]:
        """Cut the work in at most so many shares, of about as many positions: whole jobs, and parts of jobs that are long.

        Jobs with partial results are not cut, unless there is only one.
        """
        layout = self.compiled.layout
        fine = not layout.partials or len(self.sizes) == 1
        cuts, total, done = [(0, 0)], sum(self.sizes), 0
        for job, size in enumerate(self.sizes):
            while len(cuts) < count and (done + size) * count > total * len(cuts):
                wanted = (total * len(cuts) / count - done) / layout.chunk
                chunk = round(wanted) if fine else round(wanted / self._chunks[job]) * self._chunks[job]
                cuts.append((job, chunk) if chunk < self._chunks[job] else (job + 1, 0))
            done += size
        shares = [self._between(*pair) for pair in pairwise([*cuts, (len(self.sizes), 0)])]
        return [share for share in shares if share]

    def _between(self, start: tuple[int, int], end: tuple[int, int]) -> list[Piece]:
        """What lies between two cuts, each a job and a chunk of it."""
        (job, chunk), (last, stop) = start, end
        run, jobs = self.compiled.enter_run, self.compiled.enter_jobs
        if job == last:
            return [(run, job, chunk, stop)] if chunk < stop else []
        pieces: list[Piece] = []
        if chunk:
            pieces.append((run, job, chunk, self._chunks[job]))
            job += 1
        if job < last:
            pieces.append((jobs, job, 0, last - job))
        if stop:
            pieces.append((run, last, 0, stop))
        return pieces


def _aligned(nbytes: int) -> tuple[object, int]:
    """Memory that starts at a cache line, and its address."""
    memory = (ctypes.c_char * (nbytes + ALIGN))()
    return memory, round_up(ctypes.addressof(memory), ALIGN)
