"""How quantities are written for people."""

from __future__ import annotations

from collections.abc import Iterable

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def duration_text(ns: float) -> str:
    """Three digits and a unit.

    Examples
    --------
    >>> [duration_text(ns) for ns in (0, 812, 3_100, 17_250_000, 1.5e9, 185e9)]
    ['0 ns', '812 ns', '3.10 µs', '17.2 ms', '1.50 s', '3 min 5 s']
    """
    if abs(ns) >= 120e9:
        return f"{int(ns // 60e9)} min {int(ns % 60e9 // 1e9)} s"
    for factor, unit in _DURATIONS:
        if abs(ns) >= 0.9995 * factor and factor > 1:
            return f"{_three_digits(ns / factor)} {unit}"
    return f"{ns:.0f} ns"


def nbytes_text(nbytes: float) -> str:
    """Three digits and a binary unit.

    Examples
    --------
    >>> [nbytes_text(n) for n in (0, 812, 1536, 25 << 20)]
    ['0 B', '812 B', '1.50 KiB', '25.0 MiB']
    """
    for factor, unit in _SIZES:
        if abs(nbytes) >= 0.9995 * factor:
            return f"{_three_digits(nbytes / factor)} {unit}"
    return f"{nbytes:.0f} B"


def count_text(count: float, one: str = "", many: str = "") -> str:
    """A number with separators, and the word for so many of a thing.

    Examples
    --------
    >>> count_text(12304), count_text(1, "copy", "copies"), count_text(2, "sync"), count_text(2.5, "scalar")
    ('12,304', '1 copy', '2 syncs', '2.5 scalars')
    """
    number = f"{count:,.0f}" if count == int(count) else f"{count:,.1f}"
    word = one if count == 1 else many or (one and one + "s")
    return f"{number} {word}".rstrip()


def times_text(count: int) -> str:
    """How often.

    Examples
    --------
    >>> [times_text(n) for n in (1, 2, 12_000)]
    ['once', 'twice', '12,000 times']
    """
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def list_text(names: Iterable[str]) -> str:
    """Names in a row.

    Examples
    --------
    >>> list_text(["float", "item", "bool"])
    'float, item and bool'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def share_text(share: float) -> str:
    """A share in percent.

    Examples
    --------
    >>> [share_text(share) for share in (0, 0.004, 0.574, 1)]
    ['0 %', '<1 %', '57 %', '100 %']
    """
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"
