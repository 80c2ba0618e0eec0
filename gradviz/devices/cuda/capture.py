"""How is it proved that nothing waits: CUDA refuses every wait while it captures a stream into a graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_RUNNING: deque[tuple[Any, Any, Any]] = deque()  # event, graph, pool: what a graph that still runs needs


@contextmanager
def captured(cupy: Any, stopped: Callable[[str], Exception]) -> Iterator[None]:
    """Capture what the block queues, and run it as one graph at the end of the block; nobody waits for it.

    Memory comes from a pool of the block's own: a graph writes to addresses, and blocks that Python frees while it is captured
    would else be handed to work that runs at once.

    Parameters
    ----------
    stopped : makes the error for what CUDA or CuPy refused, from its message
    """
    cuda = cupy.cuda
    while _RUNNING and _RUNNING[0][0].done:
        _RUNNING.popleft()
    outer, stream, pool = cuda.get_current_stream(), cuda.Stream(non_blocking=True), cuda.MemoryPool()
    stream.wait_event(outer.record())
    with cuda.using_allocator(pool.malloc), stream:
        stream.begin_capture()
        try:
            yield
        except BaseException as error:
            _abandon(stream)
            if is_refusal(error):
                raise stopped(str(error)) from error
            raise
        try:
            graph = stream.end_capture()
        except Exception as error:
            raise stopped(str(error)) from error
    graph.launch(stream)
    done = stream.record()
    outer.wait_event(done)
    _RUNNING.append((done, graph, pool))


def is_refusal(error: BaseException) -> bool:
    """Whether it says that something cannot be captured: CUDA names the capture, CuPy has not implemented that of its libraries."""
    return isinstance(error, NotImplementedError) or "captur" in str(error).lower()


def _abandon(stream: Any) -> None:
    """End a capture that failed; CUDA then says so once more."""
    try:
        stream.end_capture()
    except Exception as error:
        if not is_refusal(error):
            raise
