"""When is the outcome of a case right?"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as onp


class Expect:
    """What a case must come to. ``judge`` says None when it did, else what is wrong."""

    case_id = ""

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        raise NotImplementedError


class value(Expect):
    """A number, an array or a tree of them; shapes count too, dtypes if asked for."""

    def __init__(self, want: Any, rtol: float = 1e-6, atol: float = 1e-9, check_dtype: bool = False):
        self._want, self.rtol, self.atol, self.check_dtype = want, rtol, atol, check_dtype

    def want(self) -> Any:
        return self._want

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        if raised is not None:
            return f"raised {type(raised).__name__}: {raised}"
        return difference(got, self.want(), self.rtol, self.atol, check_dtype=self.check_dtype)


class stored(value):
    """Like `value`, but the numbers lie in ``expected.json`` under the case's id."""

    def __init__(self, **tolerances: float):
        super().__init__(None, **tolerances)

    def want(self) -> Any:
        text = (Path(__file__).parent / "expected.json").read_text()
        return decode(json.loads(text)["values"][self.case_id])


class check(Expect):
    """A predicate on what came out; it answers True, or a text that names the fault."""

    def __init__(self, predicate: Callable[[Any], Any], text: str):
        self.predicate, self.text = predicate, text

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        if raised is not None:
            return f"raised {type(raised).__name__}: {raised}"
        answer = self.predicate(got)
        return None if answer is True else f"{answer} (wanted: {self.text})"


class error(Expect):
    """A clear error; ``clear`` is a pattern that its text must show."""

    def __init__(self, clear: str = ""):
        self.clear = clear

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        if raised is None:
            return f"no error, but {shortened(got)}"
        if isinstance(raised, RecursionError | MemoryError):
            return f"raised {type(raised).__name__}"
        if not re.search(self.clear, str(raised), re.IGNORECASE | re.DOTALL):
            return f"unclear error {type(raised).__name__}: {raised}"
        return None


class value_or_error(Expect):
    """The right value or a clear error, but never a silently wrong number."""

    def __init__(self, want: Any, clear: str, **tolerances: float):
        self.value, self.error = value(want, **tolerances), error(clear)

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        return (self.value if raised is None else self.error).judge(got, raised)


@dataclass(frozen=True)
class Sweep:
    """A program at several sizes: ``make(n)`` gives the call to time; each size is twice the one before.

    ``small`` is what it came to at a small size.
    """

    make: Callable[[int], Callable[[], Any]]
    sizes: tuple[int, ...]
    small: Any


class growth(Expect):
    """The right value at a small size, and a time that grows by at most ``2**max_slope`` from one size to the next."""

    def __init__(self, want: Any, max_slope: float = 1.5, rtol: float = 1e-6, atol: float = 1e-9):
        self.value, self.max_slope = value(want, rtol=rtol, atol=atol), max_slope

    def judge(self, got: Any, raised: Exception | None) -> str | None:
        wrong = self.value.judge(got.small if raised is None else None, raised)
        if wrong:
            return wrong
        for _ in range(10):  # a busy machine can spoil some attempts, not the shape of the curve
            seconds = fastest([got.make(n) for n in got.sizes])
            slope = math.log2(seconds[-1] / seconds[-2])
            if slope <= self.max_slope:
                return None
        times = ", ".join(f"{s:.3f} s at {n}" for n, s in zip(got.sizes, seconds, strict=True))
        return f"time grows with power {slope:.2f} of the size, more than {self.max_slope}: {times}"


def fastest(calls: list[Callable[[], Any]]) -> list[float]:
    """Seconds of the fastest run of each call; they take turns, so that a busy moment spoils one round for all."""
    best = [math.inf] * len(calls)
    stop = time.perf_counter() + 5
    for turn in range(15):
        for k, call in enumerate(calls):
            start = time.thread_time()  # what other programs take of the processor does not count
            call()
            best[k] = min(best[k], time.thread_time() - start)
        if turn >= 2 and time.perf_counter() > stop:
            break
    return best


def difference(
    got: Any, want: Any, rtol: float, atol: float, path: str = "out", check_dtype: bool = False
) -> str | None:
    """Where ``got`` differs from ``want``, as a short text; None if nowhere."""

    def inner(got: Any, want: Any, step: str) -> str | None:
        return difference(got, want, rtol, atol, path + step, check_dtype)

    if want is None or isinstance(want, str | bool):
        return None if got is want or got == want else f"{path}: {got!r} instead of {want!r}"
    if isinstance(want, dict):
        if not isinstance(got, dict) or set(got) != set(want):
            return f"{path}: {shortened(got)} instead of a dict with keys {sorted(want)}"
        return next(filter(None, (inner(got[k], want[k], f"[{k!r}]") for k in want)), None)
    if isinstance(want, tuple):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            return f"{path}: {type(got).__name__} instead of a tuple of {len(want)}"
        pairs = enumerate(zip(got, want, strict=True))
        return next(filter(None, (inner(g, w, f"[{i}]") for i, (g, w) in pairs)), None)
    return array_difference(onp.asarray(got), onp.asarray(want), rtol, atol, path, check_dtype)


def array_difference(
    got: onp.ndarray, want: onp.ndarray, rtol: float, atol: float, path: str, check_dtype: bool
) -> str | None:
    if got.dtype == object:
        return f"{path}: {shortened(got)} instead of numbers"
    if got.shape != want.shape:
        return f"{path}: shape {got.shape} instead of {want.shape}"
    if check_dtype and got.dtype != want.dtype:
        return f"{path}: dtype {got.dtype} instead of {want.dtype}"
    if not onp.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return f"{path}: {shortened(got)} instead of {shortened(want)}"
    return None


def shortened(x: Any) -> str:
    numbers = onp.asarray(x).ravel()
    return onp.array2string(numbers[:4], precision=5, separator=",") + ("..." if numbers.size > 4 else "")


def decode(t: Any) -> Any:
    """A tree of arrays from ``expected.json``: d is a dict, t a tuple, a an array, c a complex one, s its shape."""
    if "d" in t:
        return {k: decode(v) for k, v in t["d"].items()}
    if "t" in t:
        return tuple(decode(v) for v in t["t"])
    if "c" in t:
        return (onp.array(t["c"][0], float) + 1j * onp.array(t["c"][1], float)).reshape(t["s"])
    return onp.array(t["a"], float).reshape(t["s"])
