"""What a plan asks of a device: memory at addresses, kernels that are launched, and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gradviz.plan.kernels.kernel import Kernel

Task = Callable[[], object]


class Launcher(Protocol):
    """A kernel ready to be launched for some jobs.

    Attributes
    ----------
    compile_ns : what it took to compile
    nbytes : memory that each run uses again
    partials : the addresses of the jobs' partial results
    launches : how often it is launched in a run
    """

    compile_ns: int
    nbytes: int
    partials: list[int]
    launches: int

    def bind(self, table: int) -> Task:
        """What launches it, its jobs described at an address."""
        ...


class Machine(Protocol):
    """A device that plans run on."""

    name: str
    simulated: bool

    def follow(self, stream: Any) -> Any:
        """The stream that is current now; what it gets waits for what another one, ``stream``, was given."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array in C order."""
        ...

    def upload(self, array: np.ndarray) -> Any:
        """An array of the host's on the device."""
        ...

    def view(self, array: Any, offset: int, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> Any:
        """An array in the memory of another one, ``offset`` bytes from where that begins."""
        ...

    def pointer(self, array: Any) -> int:
        """Where an array begins."""
        ...

    def memory(self, array: Any) -> object:
        """What owns the memory of an array."""
        ...

    def send(self, table: Any, words: np.ndarray, values: np.ndarray) -> None:
        """``table[words] = values`` without a wait."""
        ...

    def launcher(self, kernel: Kernel, jobs: int, name: str) -> Launcher:
        """A kernel made ready."""
        ...

    def segment(self, tasks: Sequence[Task]) -> Task:
        """Launches that always follow each other, as one."""
        ...

    def product(self, out: Any, x: Any, y: Any, alpha: Any, ways: tuple[str, str]) -> None:
        """``out[...] = alpha * op(x) @ op(y)``; a way is N (as it is), T (transposed) or C (and conjugated)."""
        ...


def in_order(tasks: Sequence[Task]) -> Task:
    """Tasks one after the other."""
    if len(tasks) == 1:
        return tasks[0]

    def run() -> None:
        for task in tasks:
            task()

    return run


def machine_of(device: Any) -> Machine:
    """A device as plans see it."""
    if device.simulated:
        from gradviz.plan.device.simulated import SimMachine

        return SimMachine(device)
    from gradviz.plan.device.gpu import CudaMachine

    return CudaMachine(device)
