"""How is one program measured on many engines?

A workload file makes a `Workload`, gives it `Case` objects (sizes) and engine factories, and ends with ``W.main()``. A
factory gets a case and returns ``(call, extract)``:

* ``call()`` runs the whole gradient once and returns when it is finished (a lazy engine must block inside it);
* ``extract(out)`` turns what ``call`` returned into ``{name: numpy array}``, which is held against
  ``case.reference()`` (float64) before anything is timed.

Building tensors belongs into the factory and isn't timed. The first call, in which tracing and compiling fall, is
reported on its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import re
import resource
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine

Factory = Callable[["Case"], tuple[Callable[[], Any], Callable[[Any], dict]]]

CALL_LIMIT_S = 60.0  # a call or a compile estimated above this is skipped
MEMORY_LIMIT = 14 * 2**30  # so is a peak growth estimated above this
BUDGET_S = float(os.environ.get("BENCH_BUDGET_S", "2.5"))  # timed seconds for each engine and case
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "11"))
BLOCK_S = 0.03  # one sample is a block of calls at least this long
SLOW_S = 10.0  # a call above this is measured once
PAUSE_S = 0.04  # OpenBLAS's idle threads spin for some 25 ms after a call and would slow whoever comes next

# A sample is quiet when its threads waited for a core for less than this part of it, or (an engine with more threads
# than cores makes itself wait) when others used fewer cores than this.
QUIET_WAIT, QUIET_CORES = 0.05, 0.25


class Skip(Exception):
    """Raised by a factory: this engine can't do this case."""


class TooLong(Exception):
    """A call was stopped."""


class WrongGradient(Exception):
    """An engine's gradient differs from the reference."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what runs inside after so many seconds; a long call into C ends first."""

    def fire(*_: object) -> None:
        raise TooLong(f"> {seconds:.0f} s")

    old = signal.signal(signal.SIGALRM, fire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@dataclass
class Case:
    name: str
    size: float  # what a call's time grows with, from case to case
    inputs: dict[str, Any]
    ref: Callable[[], dict[str, np.ndarray]]
    rtol: float = 1e-9
    pilot_size: float = 0.0  # what a first call's time grows with, from pilot to case; the size if 0
    unit_count: float = 0.0  # e.g. the number of operations, for "ns per unit"
    facts: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def reference(self) -> dict[str, np.ndarray]:
        return self.ref()

    def error(self, got: dict[str, np.ndarray]) -> float:
        """The largest error of any output, relative to the reference's largest entry."""
        worst = 0.0
        for name, right in self.reference.items():
            value, right = np.asarray(got[name]), np.asarray(right)
            if value.shape != right.shape:
                raise WrongGradient(f"{name}: shape {value.shape}, expected {right.shape}")
            error = float(np.max(np.abs(value - right))) / (float(np.max(np.abs(right))) or 1.0)
            if not error <= self.rtol:
                raise WrongGradient(f"{name}: relative error {error:.3g} > {self.rtol:g}")
            worst = max(worst, error)
        return worst


@dataclass(frozen=True)
class Trial:
    """What was seen of an engine before: on a pilot or on a smaller case."""

    size: float
    pilot_size: float
    first_s: float
    call_s: float | None
    growth: int

    @property
    def compiled(self) -> bool:
        return self.call_s is None or self.first_s > max(1.0, 3 * self.call_s)


@dataclass
class Engine:
    name: str
    make: Factory
    kind: str = "engine"  # or "limit": written by hand, as fast as it gets
    pilots: bool = False  # try the workload's pilot cases first and extrapolate
    scale: float = 1.0  # the exponent assumed where there is one earlier point alone
    only: Callable[[Case], bool] = lambda case: True
    pilot_trials: list[Trial] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)

    def reason_to_skip(self, case: Case) -> str | None:
        """Why this case isn't to be tried, going by what was seen before."""
        for trials, size, seen in (
            (self.pilot_trials, case.pilot_size or case.size, lambda t: t.pilot_size),
            (self.trials, case.size, lambda t: t.size),
        ):
            if not trials:
                continue
            points = {"call": [(seen(t), t.call_s) for t in trials if t.call_s]}
            if trials[-1].compiled and (case.pilot_size or case.size) != trials[-1].pilot_size:
                points["first call"] = [(seen(t), t.first_s) for t in trials]
            for what, known in points.items():
                estimate = power_law(known, size, self.scale)
                if estimate > CALL_LIMIT_S:
                    listed = ", ".join(f"{t:.2g} s at {s:g}" for s, t in known)
                    return f"skipped: {estimate:.3g} s estimated ({what}; {listed})"
        if self.trials:
            last = self.trials[-1]
            if last.first_s > CALL_LIMIT_S and last.pilot_size == (case.pilot_size or case.size):
                return f"skipped: {last.first_s:.3g} s estimated (first call, as at the case before)"
            growth = last.growth * case.size / last.size
            if last.growth > 32 * 2**20 and growth > MEMORY_LIMIT:
                return f"skipped: {growth / 2**30:.0f} GiB estimated"
        return None


def power_law(points: list[tuple[float, float]], size: float, exponent: float) -> float:
    """Seconds at a size, from the last one or two ``(size, seconds)``; 0 if there are none."""
    points = sorted(points)
    if not points:
        return 0.0
    last_size, last_s = points[-1]
    if len(points) > 1 and last_size > points[-2][0]:
        before_size, before_s = points[-2]
        exponent = min(4.0, max(0.0, math.log(last_s / before_s) / math.log(last_size / before_size)))
    return last_s * (size / last_size) ** exponent if size > last_size else last_s


@dataclass
class Job:
    """One engine on one case, ready to be timed."""

    engine: Engine
    call: Callable[[], Any]
    setup_s: float
    first_s: float
    first_cpu_s: float
    error: float
    call_s: float = 0.0
    growth: int = 0
    number: int = 1  # calls in a sample
    spent_s: float = 0.0
    samples: list[float] = field(default_factory=list)
    quiet: list[bool] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.call_s > SLOW_S or (self.spent_s > BUDGET_S and len(self.samples) >= 3)

    def settle(self) -> None:
        """Choose how many calls make a sample, by a warm call."""
        start = time.perf_counter()
        self.call()
        self.number = max(1, math.ceil(BLOCK_S / max(time.perf_counter() - start, 1e-7)))

    def sample(self) -> None:
        if self.call_s < 0.5:
            self.call()
        waited, foreign, start = machine.waited_s(), machine.foreign_s(), time.perf_counter()
        for _ in range(self.number):
            self.call()
        seconds = time.perf_counter() - start
        waited, foreign = machine.waited_s() - waited, machine.foreign_s() - foreign
        self.add(seconds / self.number, seconds, waited / seconds < QUIET_WAIT or foreign / seconds < QUIET_CORES)

    def add(self, call_s: float, spent_s: float, quiet: bool) -> None:
        self.samples.append(call_s)
        self.spent_s += spent_s
        self.quiet.append(quiet)

    def row(self, case: Case) -> dict[str, Any]:
        quiet = [seconds for seconds, is_quiet in zip(self.samples, self.quiet, strict=True) if is_quiet]
        # A busy sample tells how busy the machine was, not how fast the engine is.
        median_s = statistics.median(quiet if len(quiet) >= 3 else self.samples)
        return {
            "median_s": median_s,
            "min_s": min(self.samples),
            "max_s": max(self.samples),
            "n": len(self.samples),
            "n_quiet": len(quiet),
            "calls_per_sample": self.number,
            "setup_s": self.setup_s,
            "first_call_s": self.first_s,
            "first_call_cpu_s": self.first_cpu_s,
            "growth_nbytes": self.growth,
            "relative_error": self.error,
            "ns_per_unit": median_s / case.unit_count * 1e9 if case.unit_count else None,
        }


class Workload:
    def __init__(self, key: str, title: str, unit: str = "") -> None:
        self.key, self.title, self.unit = key, title, unit
        self.cases: list[Case] = []
        self.pilot_cases: list[Case] = []
        self.engines: list[Engine] = []
        self.rows: list[dict[str, Any]] = []
        self.facts: dict[str, Any] = {}
        self.before: list[Callable[[], dict[str, Any]]] = []
        self.patience_s = float(os.environ.get("BENCH_WAIT_S", "60"))  # spent waiting for a quiet machine
        self.path: Path | None = None

    def engine(self, name: str, **options: Any) -> Callable[[Factory], Factory]:
        def register(make: Factory) -> Factory:
            self.engines.append(Engine(name, make, **options))
            return make

        return register

    def limit(self, name: str, **options: Any) -> Callable[[Factory], Factory]:
        return self.engine(name, kind="limit", **options)

    def add_row(self, case: Case, engine: Engine, **measured: Any) -> None:
        self.rows.append({"case": case.name, "engine": engine.name, "kind": engine.kind, **measured})
        shown = {k: f"{v:.4g}" for k, v in measured.items() if k in ("median_s", "min_s", "first_call_s", "n_quiet")}
        print(f"  {engine.name}: {measured.get('note') or shown}", flush=True)
        self.save()

    def first_call(self, engine: Engine, case: Case, limit_s: float) -> Job:
        start = time.perf_counter()
        with time_limit(limit_s):
            call, extract = engine.make(case)
            setup_s = time.perf_counter() - start
            start, cpu = time.perf_counter(), machine.cpu_s()
            out = call()
            first_s, first_cpu_s = time.perf_counter() - start, machine.cpu_s() - cpu
            return Job(engine, call, setup_s, first_s, first_cpu_s, case.error(extract(out)))

    def fly_pilots(self, engine: Engine) -> None:
        for case in self.pilot_cases:
            size, limit_s = case.pilot_size or case.size, 1.5 * CALL_LIMIT_S
            try:
                job = self.first_call(engine, case, limit_s)
            except TooLong:
                engine.pilot_trials.append(Trial(case.size, size, limit_s, None, 0))
                return
            start = time.perf_counter()
            job.call()
            call_s = time.perf_counter() - start
            engine.pilot_trials.append(Trial(case.size, size, job.first_s, call_s, 0))
            print(f"  pilot {engine.name} {case.name}: first call {job.first_s:.3f} s, then {call_s:.4f} s", flush=True)

    def prepare(self, engine: Engine, case: Case) -> Job | None:
        """The first two calls; None, and a row that says why, if there is nothing to time."""
        limit_s = 2 * CALL_LIMIT_S
        try:
            if engine.pilots and not engine.pilot_trials:
                self.fly_pilots(engine)
            if reason := engine.reason_to_skip(case):
                raise Skip(reason)
            job = self.first_call(engine, case, limit_s)
            waited = machine.waited_s()
            with time_limit(limit_s):
                job.call_s, job.growth = machine.seconds_and_growth(job.call)
            if job.call_s > SLOW_S:
                job.add(job.call_s, job.call_s, (machine.waited_s() - waited) / job.call_s < QUIET_WAIT)
        except Skip as reason:
            self.add_row(case, engine, note=str(reason))
        except TooLong as reason:
            engine.trials.append(Trial(case.size, case.pilot_size or case.size, limit_s, None, 0))
            self.add_row(case, engine, note=f"stopped: {reason}")
        except WrongGradient as reason:
            self.add_row(case, engine, note=f"WRONG GRADIENT: {reason}", wrong=True)
        except Exception as error:  # noqa: BLE001 (an engine's failure is a result)
            first_line = (str(error).strip().splitlines() or [""])[0]
            self.add_row(case, engine, note=f"failed: {type(error).__name__}: {first_line[:140]}")
            if os.environ.get("BENCH_TRACE"):
                traceback.print_exc()
        else:
            engine.trials.append(Trial(case.size, case.pilot_size or case.size, job.first_s, job.call_s, job.growth))
            return job
        return None

    def wait_for_quiet(self) -> None:
        while self.patience_s > 0 and machine.foreign_cores() > 0.5:
            time.sleep(0.1)
            self.patience_s -= 0.15

    def run_case(self, case: Case) -> None:
        print(f"{self.key} {case.name}", flush=True)
        jobs = [job for engine in self.engines if engine.only(case) and (job := self.prepare(engine, case))]
        gc.collect()
        gc.freeze()
        for job in jobs:
            if not job.done:
                job.settle()
        for _ in range(ROUNDS):
            for job in jobs:
                if not job.done:
                    gc.collect()
                    time.sleep(PAUSE_S)
                    self.wait_for_quiet()
                    job.sample()
        gc.unfreeze()
        for job in jobs:
            self.add_row(case, job.engine, **job.row(case))

    def save(self) -> None:
        if self.path:
            kept = {
                "workload": self.key, "title": self.title, "unit": self.unit, "machine": machine.description(),
                "versions": machine.versions(), "facts": self.facts, "rows": self.rows,
            }  # fmt: skip
            self.path.write_text(json.dumps(kept, indent=1))

    def main(self) -> int:
        parser = argparse.ArgumentParser(description=self.title)
        parser.add_argument("--json", type=Path, help="write the rows here; with --case or --engine replace these only")
        parser.add_argument("--case", default="", help="only the case of this name")
        parser.add_argument("--engine", default="", help="only engines whose name this pattern finds")
        parser.add_argument("--trace", action="store_true", help="print tracebacks of failures")
        options = parser.parse_args()
        if options.trace:
            os.environ["BENCH_TRACE"] = "1"
        sys.setrecursionlimit(200_000)
        # An engine that wants more memory than this fails; it doesn't take the machine along.
        resource.setrlimit(resource.RLIMIT_DATA, (18 * 2**30, resource.RLIM_INFINITY))
        self.path = options.json
        self.engines = [engine for engine in self.engines if re.search(options.engine, engine.name)]
        cases = [case for case in self.cases if options.case in ("", case.name)]
        if self.path and self.path.exists() and (options.engine or options.case):
            old = json.loads(self.path.read_text())
            replaced = {(case.name, engine.name) for case in cases for engine in self.engines}
            self.rows = [row for row in old["rows"] if (row["case"], row["engine"]) not in replaced]
            self.facts = old["facts"]
        else:
            for measure in self.before:
                self.facts.update(measure())
        for case in cases:
            self.run_case(case)
        self.facts["blas"] = machine.blas()
        self.save()
        return int(any(row.get("wrong") for row in self.rows))
