"""What do the constants of the simulated GPUs come to on this one? Measured beside the preset of the same name.

python -m tests.gpu.calibrate [--device sim:a100] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradviz.devices.sim import PRESETS, Preset
from tests.gpu.machine import Gpu, gpu

LARGE_NBYTES = 1 << 28


def measure(machine: Gpu) -> dict[str, float]:
    """Nanoseconds, and bytes per second, by the names that `Preset` has for them."""
    xp, cuda = machine.xp, machine.xp.cuda
    x, m = machine.array(64), machine.array(8, 8) + 8 * xp.eye(8)
    out = xp.empty(64)
    large, target = xp.zeros(LARGE_NBYTES // 8), xp.empty(LARGE_NBYTES // 8)
    host, stream = np.ones(64), cuda.get_current_stream()
    event, timed = cuda.Event(disable_timing=True), cuda.Event()
    empty_ns = machine.host_ns(lambda: xp.empty(64))

    def then_wait(run: Callable[[], Any]) -> int:
        return machine.host_ns(lambda: (run(), stream.synchronize()), 50)

    sync_ns = machine.host_ns(stream.synchronize)
    copy_ns = machine.took_ns(lambda: np.copyto(target, large), 10)
    down_ns, small_down_ns = (machine.host_ns(lambda a=a: a.get(), 3) for a in (large, x))
    made = {
        "pool_hit_ns": empty_ns,
        "ufunc_ns": machine.host_ns(lambda: np.add(x, x, out=out)),
        "reduction_ns": machine.host_ns(lambda: x.sum()) - empty_ns,
        "product_ns": machine.host_ns(lambda: m @ m) - empty_ns,
        "solver_ns": machine.host_ns(lambda: np.linalg.inv(m), 50) - empty_ns,
        "fft_ns": machine.host_ns(lambda: np.fft.fft(x), 50) - empty_ns,
        "view_ns": machine.host_ns(lambda: x[1:]),
        "sync_ns": sync_ns,
        "download_ns": small_down_ns - sync_ns,
        "upload_ns": machine.host_ns(lambda: xp.asarray(host)) - empty_ns,
        "event_ns": machine.host_ns(lambda: event.record(stream)),
        "timed_event_ns": machine.host_ns(lambda: timed.record(stream)),
        "bandwidth_bytes_per_s": 2 * LARGE_NBYTES / copy_ns * 1e9,
        "link_bytes_per_s": LARGE_NBYTES / max(down_ns - small_down_ns, 1) * 1e9,
    }
    queued_ns = machine.host_ns(lambda: np.add(x, x, out=out))
    made["launch_ns"] = (
        then_wait(lambda: np.add(x, x, out=out)) - queued_ns - sync_ns
    )  # arrival, and the shortest kernel
    if not machine.simulated:
        made["malloc_ns"] = malloc_ns(machine)
    return made


def malloc_ns(machine: Gpu) -> int:
    """The driver's allocator, without a pool."""
    kept: list[Any] = []
    return machine.host_ns(lambda: kept.append(machine.xp.cuda.Memory(1 << 20)), 20)


def preset_of(name: str) -> Preset | None:
    """The simulated GPU of that name."""
    return next((p for key, p in PRESETS.items() if key in name.lower().replace(" ", "")), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    machine = gpu(options.device)
    measured, preset = measure(machine), preset_of(machine.name)
    (options.out / "calibration.json").write_text(json.dumps({"device": machine.name, "measured": measured}, indent=1))
    print(f"\nconstants on {machine.name}, beside the preset {preset.name if preset else '(none has this name)'}")
    for name, value in measured.items():
        assumed = f"{getattr(preset, name):>12.4g}" if preset else ""
        print(f"  {name:24} {value:>12.4g} {assumed}")


if __name__ == "__main__":
    main()
