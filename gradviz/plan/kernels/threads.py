"""A few threads that run machine code side by side: a call through ctypes lets Python's lock go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

Task = Callable[[], object]


class Pool:
    """Threads that start when first needed and then wait for tasks. Tasks are machine code: they neither raise nor call Python."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Task, threading.Lock]] = SimpleQueue()
        self._threads = 0
        self._starting = threading.Lock()

    def run(self, tasks: Sequence[Task]) -> None:
        """Run all tasks, the first one in this thread; return when all are done."""
        if len(tasks) - 1 > self._threads:
            self._start(len(tasks) - 1)
        waits = []
        for task in tasks[1:]:
            done = threading.Lock()
            done.acquire()
            waits.append(done)
            self._queue.put((task, done))
        try:
            tasks[0]()
        finally:
            _wait(waits)

    def _start(self, count: int) -> None:
        with self._starting:
            while self._threads < count:
                threading.Thread(target=self._work, name="gradviz-kernel", daemon=True).start()
                self._threads += 1

    def _work(self) -> None:
        while True:
            task, done = self._queue.get()
            try:
                task()
            finally:
                done.release()


def _wait(waits: Sequence[threading.Lock]) -> None:
    """Until all are done, even if the user interrupts: the threads write into memory that this one would give back."""
    interrupted = False
    for done in waits:
        while True:
            try:
                done.acquire()
                break
            except KeyboardInterrupt:
                interrupted = True
    if interrupted:
        raise KeyboardInterrupt


pool = Pool()


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    pool.__init__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
