"""What differs between two traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gradviz.graph.memory import memory
from gradviz.graph.timeline import self_ns
from gradviz.record.events import Flag, Kind
from gradviz.record.trace import Trace

_COMPARED = (Kind.CALL, Kind.PULLBACK, Kind.ACCUMULATE, Kind.COPY, Kind.SYNC, Kind.KERNEL, Kind.COMPILE)
_SLOWER_BY = 0.1  # of the time before, and 1 % of the run, and 10 µs: less is noise
_SLOWER_BY_NS = 10_000


@dataclass(frozen=True)
class Total:
    """One figure of both runs; ``unit`` is ``ns``, ``bytes`` or ``""`` for a count."""

    name: str
    before: int
    after: int
    unit: str


@dataclass(frozen=True)
class Change:
    """What became of the events with one name, on one line.

    Attributes
    ----------
    kind, name, where : the events
    count_before, count_after : how many there are
    matched : how many are in both, occurrence by occurrence
    ns_before, ns_after : their self time
    nbytes_before, nbytes_after : bytes they wrote or moved
    verdict : ``new``, ``gone``, ``more``, ``fewer``, ``slower``, ``faster``, ``larger``, ``smaller`` or ``same``
    """

    kind: Kind
    name: str
    where: str
    count_before: int
    count_after: int
    ns_before: int
    ns_after: int
    nbytes_before: int
    nbytes_after: int
    verdict: str

    @property
    def matched(self) -> int:
        """How many are in both traces, occurrence by occurrence."""
        return min(self.count_before, self.count_after)

    @property
    def delta_ns(self) -> int:
        """Time gained (negative) or lost."""
        return self.ns_after - self.ns_before

    @property
    def delta_nbytes(self) -> int:
        """Bytes saved (negative) or added."""
        return self.nbytes_after - self.nbytes_before


@dataclass(frozen=True)
class Difference:
    """Two traces side by side.

    Attributes
    ----------
    totals : duration, peak memory, copies, syncs and the like of both
    changes : groups of events, the largest change of time first, unchanged ones left out
    pairs : events that are in both, shape (pairs, 2): row before, row after
    gone, new : events that are only in the first, only in the second trace
    """

    totals: list[Total]
    changes: list[Change]
    pairs: np.ndarray
    gone: np.ndarray
    new: np.ndarray

    def only(self, *verdicts: str) -> list[Change]:
        """The changes with one of these verdicts."""
        return [change for change in self.changes if change.verdict in verdicts]


def compare(before: Trace, after: Trace) -> Difference:
    """What differs between two traces.

    Events are matched by line, kind, name and occurrence, never by time. A line is known by its function and text where
    the text was recorded (it may have moved, or run in another notebook cell), else by file and number.

    Examples
    --------
    >>> [change.where for change in compare(before, after).only("new")]  # doctest: +SKIP
    ['train.py:12']
    """
    keys: dict[tuple[object, ...], int] = {}
    rows_before, which_before = _grouped(before, keys)
    rows_after, which_after = _grouped(after, keys)
    nth_before, nth_after = _occurrence(which_before), _occurrence(which_after)
    _, at_before, at_after = np.intersect1d(
        which_before + nth_before * len(keys), which_after + nth_after * len(keys), True, return_indices=True
    )
    return Difference(
        _totals(before, after),
        _changes(before, after, (rows_before, which_before), (rows_after, which_after), list(keys)),
        np.stack([rows_before[at_before], rows_after[at_after]], axis=1),
        np.delete(rows_before, at_before),
        np.delete(rows_after, at_after),
    )


def _grouped(trace: Trace, keys: dict[tuple[object, ...], int]) -> tuple[np.ndarray, np.ndarray]:
    """The events that are compared, in order of their start, and the number of the key of each."""
    events = trace.events
    rows = np.flatnonzero(np.isin(events["kind"], _COMPARED))
    rows = rows[np.argsort(events["start_ns"][rows], kind="stable")]
    kind, name, site = (events[column][rows].astype(np.int64) for column in ("kind", "name_str", "site"))
    sites, names = len(trace.sites["line"]) + 1, len(trace.strings) + 1
    packed, which = np.unique((kind * names + name + 1) * sites + site + 1, return_inverse=True)
    numbers = []
    for one in packed.tolist():
        name_and_kind, site_and_one = divmod(one, sites)
        kind_, name_and_one = divmod(name_and_kind, names)
        key = (kind_, trace.text(name_and_one - 1), *_line(trace, site_and_one - 1))
        numbers.append(keys.setdefault(key, len(keys)))
    return rows, np.array(numbers, np.int64)[which]


def _line(trace: Trace, site: int) -> tuple[str, str | int]:
    if site < 0:
        return "", ""
    sites = trace.sites
    if text := trace.text(int(sites["text_str"][site])):
        return trace.text(int(sites["function_str"][site])), text
    return trace.text(int(sites["file_str"][site])), int(sites["line"][site])


def _occurrence(which: np.ndarray) -> np.ndarray:
    """For each entry, how many equal ones stand before it."""
    order = np.argsort(which, kind="stable")
    sizes = np.bincount(which) if len(which) else np.zeros(0, np.int64)
    nth = np.empty(len(which), np.int64)
    nth[order] = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return nth


_Grouped = tuple[np.ndarray, np.ndarray]


def _changes(before: Trace, after: Trace, old: _Grouped, new: _Grouped, keys: Iterable[tuple]) -> list[Change]:
    keys = list(keys)
    sums = [_sums(trace, *grouped, len(keys)) for trace, grouped in ((before, old), (after, new))]
    noise_ns = max(_SLOWER_BY_NS, 0.01 * max(before.duration_ns, after.duration_ns))
    found = []
    for number, (kind, name, *_) in enumerate(keys):
        (n0, ns0, bytes0, site0), (n1, ns1, bytes1, site1) = (tuple(int(c[number]) for c in s) for s in sums)
        verdict = _verdict(n0, n1, ns0, ns1, bytes0, bytes1, noise_ns)
        if verdict != "same":
            where = after.place(site1) if n1 else before.place(site0)
            found.append(Change(Kind(kind), name, where, n0, n1, ns0, ns1, bytes0, bytes1, verdict))
    return sorted(found, key=lambda change: (-abs(change.delta_ns), -abs(change.delta_nbytes)))


def _sums(trace: Trace, rows: np.ndarray, which: np.ndarray, keys: int) -> tuple[np.ndarray, ...]:
    """Count, self time, bytes and one site for each key."""
    events = trace.events
    site = np.full(keys, -1)
    site[which] = events["site"][rows]
    own_ns = np.bincount(which, self_ns(trace)[rows], keys)
    return np.bincount(which, minlength=keys), own_ns, np.bincount(which, events["nbytes"][rows], keys), site


def _verdict(n0: int, n1: int, ns0: int, ns1: int, bytes0: int, bytes1: int, noise_ns: float) -> str:
    if n0 != n1:
        return "new" if n0 == 0 else "gone" if n1 == 0 else "more" if n1 > n0 else "fewer"
    if abs(ns1 - ns0) > max(noise_ns, _SLOWER_BY * ns0):
        return "slower" if ns1 > ns0 else "faster"
    if bytes0 != bytes1:
        return "larger" if bytes1 > bytes0 else "smaller"
    return "same"


def _totals(before: Trace, after: Trace) -> list[Total]:
    pairs = zip(_figures(before), _figures(after), strict=True)
    return [Total(name, old, new, unit) for (name, unit, old), (_, _, new) in pairs]


def _figures(trace: Trace) -> list[tuple[str, str, int]]:
    events, syncs, copies = trace.events, trace.syncs, trace.copies
    counts = Counter(events["kind"].tolist())
    own_ns = self_ns(trace)
    host = ~np.isin(events["kind"], (Kind.SPAN, Kind.KERNEL))
    backward = (events["flags"] & Flag.BACKWARD) != 0
    real = syncs["on_device"] == 1
    return [
        ("time", "ns", trace.duration_ns),
        ("forward", "ns", int(own_ns[host & ~backward].sum())),
        ("backward", "ns", int(own_ns[host & backward].sum())),
        ("peak memory", "bytes", memory(trace).peak_nbytes),
        ("allocated", "bytes", int(trace.buffers["nbytes"].sum())),
        ("copies", "", counts[Kind.COPY]),
        ("copied", "bytes", int(copies["nbytes"].sum())),
        ("syncs", "", int(real.sum())),
        ("host waited", "ns", int(syncs["host_wait_ns"][real].sum())),
        ("device idle after", "ns", int(syncs["device_idle_ns"][real].sum())),
        ("calls", "", counts[Kind.CALL]),
        ("pullbacks", "", counts[Kind.PULLBACK]),
    ]
