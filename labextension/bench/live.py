"""By how much does watching a run slow it? Recorded with and without a live view, taking turns.

python labextension/bench/live.py [STEPS]
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gradviz as gv

ROUNDS = 5
random = np.random.default_rng(0)
WEIGHTS = [random.normal(size=(256, 256)) for _ in range(3)]
INPUTS = random.normal(size=(128, 256))


def loss(weights: list[np.ndarray]) -> np.ndarray:
    hidden = INPUTS
    for weight in weights:
        hidden = np.tanh(hidden @ weight)
    return np.mean(hidden * hidden)


def seconds(steps: int, live: bool) -> float:
    """Of the steps alone: the whole profile is shown after the run, and costs it nothing."""
    gradient = gv.grad(loss)
    with gv.profile(live=live):
        started = time.perf_counter()
        for _ in range(steps):
            gradient(WEIGHTS)
        return time.perf_counter() - started


def main(steps: int) -> None:
    seconds(steps, live=False)  # the first run also waits for fresh memory
    ratios = []
    for _ in range(ROUNDS):
        plain = seconds(steps, live=False)
        ratios.append(seconds(steps, live=True) / plain)
        print(f"{plain:6.2f} s recorded, {ratios[-1]:.3f} times that watched", flush=True)
    print(f"median {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
