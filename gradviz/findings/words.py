"""How numbers read inside the sentences of a finding."""

from __future__ import annotations

from collections.abc import Iterable


def bytes_text(nbytes: float) -> str:
    """A size.

    Examples
    --------
    >>> [bytes_text(n) for n in (8, 1536, 25 << 20)]
    ['8 B', '1.5 KiB', '25 MiB']
    """
    return _scaled(nbytes, 1024, ("B", "KiB", "MiB", "GiB"))


def time_text(ns: float) -> str:
    """A duration.

    Examples
    --------
    >>> [time_text(ns) for ns in (812, 17_250_000)]
    ['812 ns', '17.2 ms']
    """
    return _scaled(ns, 1000, ("ns", "µs", "ms", "s"))


def times_text(count: int) -> str:
    """How often.

    Examples
    --------
    >>> [times_text(n) for n in (1, 2, 12_000)]
    ['once', 'twice', '12,000 times']
    """
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def many_text(count: float, one: str, many: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> many_text(1, "copy", "copies"), many_text(3, "scalar"), many_text(2.5, "scalar")
    ('1 copy', '3 scalars', '2.5 scalars')
    """
    number = f"{count:,.0f}" if count == int(count) else f"{count:.1f}"
    return f"{number} {one if count == 1 else many or one + 's'}"


def list_text(names: Iterable[str]) -> str:
    """Names in a row.

    Examples
    --------
    >>> list_text(["float", "item", "bool"])
    'float, item and bool'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    """In the first unit that needs no more than three digits, else in the last."""
    *smaller, last = units
    for unit in smaller:
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= step
    return f"{value:.3g} {last}" if value < 1000 else f"{value:.0f} {last}"
