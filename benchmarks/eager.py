"""What does an eager gradient cost, beside NumPy, beside the rivals, and with the recorder on?

Every figure is a ratio of two programs that took turns in this run, or a number of bytes; `main` prints each with its
goal. A ratio is that of the fastest rounds, which other work on the machine has disturbed least; the quartiles of the
ratio over the rounds, in brackets, tell how much it was disturbed.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gradviz as gv
from benchmarks import machine, w1_evalpoly, w2_contract, w4_chain, w5_mlp, w6_buffer
from benchmarks.rivals import torch_module
from benchmarks.workload import BLOCK_S, PAUSE_S, Case, Workload

ROUNDS = 15
BUDGET_S = 6.0  # timed seconds for each side; slow rivals get fewer rounds
SLOW_S = 1.0  # a call above this isn't warmed up, and its first run counts

Calls = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Figure:
    """One measured number with its goal."""

    what: str
    value: float
    low: float  # quartiles over the rounds
    high: float
    goal: float
    at_most: bool
    unit: str = "×"

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        return (
            f"{'met   ' if self.met else 'MISSED'} {self.what}: {self.value:.3g} {self.unit} "
            f"({self.low:.3g} to {self.high:.3g}), goal {sign} {self.goal:g} {self.unit}"
        )


class Turns:
    """Several programs timed in turn: seconds per call, for each program and round."""

    def __init__(self, calls: Calls, rounds: int = ROUNDS) -> None:
        self.seconds: dict[str, list[float]] = {name: [] for name in calls}
        numbers, spent, slow = {}, dict.fromkeys(calls, 0.0), set()
        for name, call in calls.items():
            call_s = timed(call, 1)
            if call_s > SLOW_S:
                slow.add(name)
                self.seconds[name].append(call_s)
                spent[name] = call_s
            else:
                call_s = timed(call, 1)
            numbers[name] = max(1, math.ceil(BLOCK_S / call_s))
        gc.collect()
        gc.freeze()
        for _ in range(rounds):
            for name, call in calls.items():
                if spent[name] > BUDGET_S:
                    continue
                gc.collect()
                time.sleep(PAUSE_S)
                if name not in slow:
                    call()
                block_s = timed(call, numbers[name])
                spent[name] += block_s
                self.seconds[name].append(block_s / numbers[name])
        gc.unfreeze()
        medians = (f"{name} {statistics.median(seconds) * 1e3:.4g} ms" for name, seconds in self.seconds.items())
        print(f"       {', '.join(medians)}", flush=True)

    def ratio(self, what: str, over: str, under: str, *, scale: float = 1.0, **goal: float) -> Figure:
        """Time of ``over`` by time of ``under``, times ``scale``, with a goal ``at_most`` or ``at_least``."""
        above, below = self.seconds[over], self.seconds[under]
        return figure(what, scale * min(above) / min(below), [scale * a / b for a, b in zip(above, below)], **goal)


def timed(call: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return time.perf_counter() - start


def figure(what: str, value: float, rounds: list[float] | None = None, unit: str = "×", **goal: float) -> Figure:
    low, _, high = statistics.quantiles(rounds, n=4) if rounds and len(rounds) > 1 else [value] * 3
    ((word, bound),) = goal.items()
    return Figure(what, value, low, high, bound, word == "at_most", unit)


def engines(workload: Workload, case: Case, **chosen: str) -> Calls:
    """The calls of some of a workload's engines on a case, each checked first, under names of ours."""
    made = {engine.name: engine.make for engine in workload.engines}
    calls = {}
    for name, engine in chosen.items():
        call, extract = made[engine](case)
        case.error(extract(call()))
        calls[name] = call
    return calls


def recorded(call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> None:
        with gv.profile():
            call()

    return run


def repeated(call: Callable[[], Any], number: int) -> Callable[[], Any]:
    def run() -> None:
        for _ in range(number):
            call()

    return run


def elementwise_chain() -> list[Figure]:
    """999 operations (sin, multiply, add) and a sum, on arrays of 10 numbers."""
    case = w4_chain.make_case(10, 333)
    calls = engines(w4_chain.W, case, gradviz="gradviz", torch="torch eager", autograd="autograd")
    x, forward = case.inputs["x"], w4_chain.chain(np.sin, 333)
    turns = Turns({"numpy": lambda: forward(x), **calls})
    return [
        turns.ratio("chain of 1000 operations: gradient / NumPy's forward", "gradviz", "numpy", at_most=4),
        turns.ratio("chain of 1000 operations: PyTorch eager / gradviz", "torch", "gradviz", at_least=4),
        turns.ratio("chain of 1000 operations: autograd / gradviz", "autograd", "gradviz", at_least=4),
    ]


def evalpoly() -> list[Figure]:
    """Horner's rule by a loop over ``p[i]``."""
    small, large = w1_evalpoly.make_case(10_000), w1_evalpoly.make_case(100_000)
    calls = engines(
        w1_evalpoly.W, small, gradviz="gradviz", torch="torch eager, loop p[i]", autograd="autograd, loop p[i]"
    )
    (gradviz_large,) = engines(w1_evalpoly.W, large, gradviz="gradviz").values()
    turns = Turns({**calls, "large": gradviz_large})
    what = "evalpoly over p[i]"
    return [
        turns.ratio(f"{what}, N = 10 000: PyTorch eager / gradviz", "torch", "gradviz", at_least=4),
        turns.ratio(f"{what}, N = 10 000: autograd / gradviz", "autograd", "gradviz", at_least=10),
        turns.ratio(f"{what}: time per coefficient, N = 100 000 / 10 000", "large", "gradviz", scale=0.1, at_most=1.5),
        figure(f"{what}, N = 10 000: peak of the backward pass beyond the tape", peak_mb(small), unit="MB", at_most=4),
    ]


def peak_mb(case: Case) -> float:
    """Peak of what the pullbacks of `w1_evalpoly.horner` allocate, in MB."""
    tracemalloc.start()
    _, pull = gv.vjp(w1_evalpoly.horner, case.inputs["x"], case.inputs["p"])
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    pull(np.float64(1.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - before) / 1e6


def hand_written(case: Case) -> Callable[[], Any]:
    """The adjoint of ten contractions as a person would write it in NumPy."""
    a, b, both = case.inputs["A"], case.inputs["B"], case.inputs["wrt"] == "AB"

    def call() -> tuple[list, list]:
        total, flat, cs, ga, gb = 0.0, [], [], [], []
        for ai, bi in zip(a, b):
            flat.append(ai.reshape(-1, ai.shape[-1]))
            cs.append(flat[-1] @ bi)
            total += np.vdot(cs[-1], cs[-1]).real
        for ai, fi, bi, ci in zip(a, flat, b, cs):
            ct = 2 * ci
            ga.append((ct @ bi.conj().T).reshape(ai.shape))
            if both:
                gb.append(fi.conj().T @ ct)
        return ga, gb

    case.error(w2_contract.extractor(case, False)(call()))
    return call


def contraction() -> list[Figure]:
    """Ten contractions ``abc,cd->abd``, complex128, 32 to each index, as in the first story."""
    found = []
    for form in ("tensordot", "einsum"):
        for wrt in ("A", "AB"):
            case = w2_contract.make_case(32, form, wrt)
            calls = engines(w2_contract.W, case, gradviz="gradviz", torch="torch eager")
            turns = Turns({"hand": hand_written(case), **calls, "recorded": recorded(calls["gradviz"])})
            what = f"ten contractions by {form}, gradient wrt {' and '.join(wrt)}"
            found.append(turns.ratio(f"{what}: gradviz / NumPy adjoint by hand", "gradviz", "hand", at_most=1.15))
            if (form, wrt) == ("tensordot", "AB"):
                found.append(turns.ratio(f"{what}: recorder on / off", "recorded", "gradviz", at_most=1.10))
    return found


def buffer() -> list[Figure]:
    """Rows ``C[i] = A[i] @ M`` written into a buffer one by one."""
    small, large = w6_buffer.make_case(1000), w6_buffer.make_case(10_000)
    name = "C[i] = A[i] @ M"
    calls = engines(w6_buffer.W, large, gradviz="gradviz", torch=f"torch eager, {name}")
    (gradviz_small,) = engines(w6_buffer.W, small, gradviz="gradviz").values()
    turns = Turns({**calls, "small": gradviz_small})
    return [
        turns.ratio("buffer of 10 000 rows: PyTorch eager / gradviz", "torch", "gradviz", at_least=5),
        turns.ratio("buffer: time per row, 10 000 / 1000 rows", "gradviz", "small", scale=0.1, at_most=1.5),
    ]


def recorder() -> list[Figure]:
    """The recorder's own cost: off, on, and in memory."""
    mlp = engines(w5_mlp.W, w5_mlp.W.cases[0], off="gradviz")
    chain = engines(w4_chain.W, w4_chain.make_case(10, 333), off="gradviz")
    mlp_turns = Turns({**mlp, "on": recorded(mlp["off"])})
    chain_turns = Turns({**chain, "on": recorded(chain["off"])})
    return [
        mlp_turns.ratio("step of an MLP: recorder on / off", "on", "off", at_most=1.10),
        chain_turns.ratio("chain of 1000 operations: recorder on / off", "on", "off", at_most=2.5),
        figure(
            "chain of 1000 operations: part of the time that goes into asking whether to record",
            100 * 1000 * one_test_s() / min(chain_turns.seconds["off"]),
            unit="%",
            at_most=2,
        ),
        figure(
            "10 chains of 1000 operations: memory of the recorder",
            nbytes_per_event(repeated(chain["off"], 10)),
            unit="B/event",
            at_most=150,
        ),
        figure(
            "100 steps of an MLP: memory of the recorder",
            nbytes_per_event(repeated(mlp["off"], 100)),
            unit="B/event",
            at_most=150,
        ),
    ]


def one_test_s(number: int = 1_000_000) -> float:
    """Seconds of the test that a call makes while nothing is recorded: one attribute of its tape."""
    tape = type("Tape", (), {"__slots__": ("quick",)})()
    tape.quick = True

    def test() -> None:
        for _ in range(number):
            if not tape.quick:
                raise AssertionError

    def nothing() -> None:
        for _ in range(number):
            pass

    return max(0.0, min(timed(test, 1) for _ in range(5)) - min(timed(nothing, 1) for _ in range(5))) / number


def nbytes_per_event(call: Callable[[], Any]) -> float:
    """Bytes that a recording holds when the program has ended, by the number of events in it."""
    recorded(call)()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    with gv.profile() as profile:
        call()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held / len(profile.trace)


PARTS = {
    "chain": elementwise_chain,
    "evalpoly": evalpoly,
    "contraction": contraction,
    "buffer": buffer,
    "recorder": recorder,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--check", action="store_true", help="end with 1 if a goal was missed")
    options = parser.parse_args()
    torch_module()
    figures = []
    for name in options.part or PARTS:
        for one in PARTS[name]():
            figures.append(one)
            print(one, flush=True)
    if options.json:
        kept = {
            "machine": machine.description(), "blas": machine.blas(), "versions": machine.versions(),
            "figures": [{**asdict(one), "met": one.met} for one in figures],
        }  # fmt: skip
        options.json.write_text(json.dumps(kept, indent=1))
    return int(options.check and not all(one.met for one in figures))


if __name__ == "__main__":
    raise SystemExit(main())
