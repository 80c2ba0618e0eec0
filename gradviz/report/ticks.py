"""Round numbers for an axis, and how they are written."""

from __future__ import annotations

import re

from gradviz.words import duration_text, nbytes_text


def ticks(whole: float, most: int, base: int = 10) -> list[float]:
    """Round numbers from 0 up to ``whole``: at most ``most`` steps of 1, 2 or 5 (of powers of 2, for base 2).

    Examples
    --------
    >>> ticks(9.8, 5), ticks(3000, 4, base=2)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [0.0, 1024.0, 2048.0])
    """
    factors = (2, 2.5, 2) if base == 10 else (2,)
    step, turn = 1.0, 0
    while whole / step > most:
        step *= factors[turn % len(factors)]
        turn += 1
    return [step * i for i in range(int(whole / step) + 1)]


def time_tick(ns: float) -> str:
    """The label of a moment, without digits that say nothing.

    Examples
    --------
    >>> time_tick(0), time_tick(2e6), time_tick(1.5e9)
    ('0', '2 ms', '1.50 s')
    """
    return re.sub(r"\.0+ ", " ", duration_text(ns)) if ns else "0"


def size_tick(nbytes: float) -> str:
    """The label of a size, without digits that say nothing.

    Examples
    --------
    >>> size_tick(0), size_tick(4 << 20)
    ('0', '4 MiB')
    """
    return re.sub(r"\.0+ ", " ", nbytes_text(nbytes)) if nbytes else "0"
