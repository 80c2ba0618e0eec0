"""What machine is this, and how busy is it?"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import threadpoolctl

from benchmarks import CORES

PACKAGES = (
    "gradviz", "numpy", "scipy", "torch", "jax", "jaxlib", "autograd", "mygrad", "tinygrad", "numba", "optax",
    "numexpr", "opt_einsum", "llvmlite",
)  # fmt: skip


def description() -> str:
    """The machine in one line, without its name."""
    return f"{cpu()}, {CORES} cores, {memory_gib():.0f} GiB, {system()}, Python {platform.python_version()}"


def cpu() -> str:
    fields = dict(
        map(str.strip, line.split(":", 1)) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line
    )
    return fields.get("model name") or platform.machine()


def system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def versions() -> dict[str, str]:
    """Versions of the engines and libraries that are here."""
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def blas() -> str:
    """The matrix-product kernels that NumPy and the others loaded."""
    kernels = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }
    return ", ".join(sorted(kernels))


def cpu_s() -> float:
    """CPU seconds of this process and its finished children (compilers)."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def waited_s() -> float:
    """Seconds that this process's threads have waited for a core; it grows when others want the cores."""
    total = 0
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int((thread / "schedstat").read_text().split()[1])
    return total / 1e9


def foreign_s() -> float:
    """CPU seconds that everybody else has used."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, io_wait = ticks[3], ticks[4]
    return (sum(ticks) - idle - io_wait) / os.sysconf("SC_CLK_TCK") - time.process_time()


def foreign_cores(window_s: float = 0.05) -> float:
    """How many cores others are using right now."""
    used, start = foreign_s(), time.perf_counter()
    time.sleep(window_s)
    return max(0.0, (foreign_s() - used) / (time.perf_counter() - start))


def resident_nbytes(key: str) -> int:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def seconds_and_growth(call: Callable[[], Any]) -> tuple[float, int]:
    """Seconds of one call, and the bytes by which it raised the resident set at its peak."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before, start = resident_nbytes("VmRSS"), time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    return seconds, max(0, resident_nbytes("VmHWM") - before)
