"""The GPU that is measured: a real one, by way of CuPy, or for a rehearsal a simulated one."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

import gradviz as gv


@dataclass(frozen=True)
class Gpu:
    """Something with CuPy's functions, and a clock."""

    name: str
    xp: Any
    now_ns: Callable[[], int]
    simulated: bool

    def synchronize(self) -> None:
        self.xp.cuda.Device(0).synchronize()

    def array(self, *shape: int, seed: int = 0, is_complex: bool = False) -> Any:
        rng = np.random.default_rng(seed)
        made = rng.standard_normal(shape)
        return self.xp.asarray(made + 1j * rng.standard_normal(shape) if is_complex else made)

    def took_ns(self, run: Callable[[], Any], times: int = 1) -> int:
        """Host time of so many calls and of waiting for all they queued, divided by their number; the median of several."""
        run()
        self.synchronize()
        measured = []
        for _ in range(5):
            start = self.now_ns()
            for _ in range(times):
                run()
            self.synchronize()
            measured.append((self.now_ns() - start) // times)
        return int(statistics.median(measured))

    def host_ns(self, run: Callable[[], Any], times: int = 200) -> int:
        """Host time of a call alone: what it queues is waited for after the clock was read."""
        measured = []
        for _ in range(5):
            self.synchronize()
            start = self.now_ns()
            for _ in range(times):
                run()
            measured.append((self.now_ns() - start) // times)
        return int(statistics.median(measured))


def gpu(name: str = "cuda") -> Gpu:
    """``cuda``, or ``sim:a100`` and the like."""
    if name.startswith("sim:"):
        xp = gv.simulate(name, fresh=True)
        return Gpu(name, xp, xp.device.now_ns, True)
    cupy = importlib.import_module("cupy")
    about = cupy.cuda.runtime.getDeviceProperties(0)
    return Gpu(about["name"].decode(), cupy, perf_counter_ns, False)
