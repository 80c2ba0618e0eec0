"""How many bytes were alive at each moment, and who held them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from gradviz.record.events import Role
from gradviz.record.trace import Trace


@dataclass(frozen=True)
class Memory:
    """Bytes alive over time.

    Attributes
    ----------
    times_ns : moments, rising, shape (points,)
    nbytes : bytes alive from that moment to the next by `Role`, shape (points, roles)
    peak_ns, peak_nbytes : when most bytes were alive, and how many
    moments : how many moments there were before any were left out
    """

    times_ns: np.ndarray
    nbytes: np.ndarray
    peak_ns: int
    peak_nbytes: int
    moments: int

    @cached_property
    def total_nbytes(self) -> np.ndarray:
        """Bytes alive from each moment to the next, all roles together."""
        return self.nbytes.sum(axis=1)

    def highest(self, until_ns: int, stretches: int) -> np.ndarray:
        """The most bytes alive in each of ``stretches`` equal parts of the time from 0 to ``until_ns``."""
        edges_ns = np.linspace(0, until_ns, stretches + 1)
        before = np.searchsorted(self.times_ns, edges_ns[:-1], "right") - 1
        most = np.where(before >= 0, self.total_nbytes[before], 0)
        part = np.clip(np.searchsorted(edges_ns, self.times_ns, "right") - 1, 0, stretches - 1)
        np.maximum.at(most, part, self.total_nbytes)
        return most


@dataclass(frozen=True)
class Holder:
    """Buffers alive at one moment that were made by the same call on the same line for the same purpose.

    Attributes
    ----------
    name : the event that allocated them; "" if they are older than the recording
    where : the user's line
    buffers : their rows, largest first
    """

    nbytes: int
    role: Role
    name: str
    where: str
    buffers: np.ndarray = field(repr=False)


def memory(trace: Trace, device: int | None = None, points: int = 20_000) -> Memory:
    """Bytes alive over time in ``trace``.

    Parameters
    ----------
    trace : what was recorded
    device : count only buffers of this row of ``trace.devices``
    points : at most about so many moments are kept; the highest and lowest of each stretch are never lost

    Examples
    --------
    >>> memory(trace).peak_nbytes  # doctest: +SKIP
    1048576
    """
    buffers = trace.buffers
    rows = np.arange(len(buffers["nbytes"])) if device is None else np.flatnonzero(buffers["device"] == device)
    freed = rows[buffers["free_ns"][rows] >= 0]
    when_ns = np.concatenate([buffers["alloc_ns"][rows], buffers["free_ns"][freed]])
    change = np.concatenate([buffers["nbytes"][rows], -buffers["nbytes"][freed]])
    role = np.concatenate([buffers["role"][rows], buffers["role"][freed]])
    times_ns, moment = np.unique(when_ns, return_inverse=True)
    if not len(times_ns):
        return Memory(np.zeros(1, np.int64), np.zeros((1, len(Role)), np.int64), 0, 0, 0)
    total = _alive(moment, change, len(times_ns))
    peak = int(total.argmax())
    kept = _telling(total, points)
    nbytes = np.stack([_alive(moment[role == r], change[role == r], len(times_ns))[kept] for r in Role], axis=1)
    return Memory(times_ns[kept], nbytes, int(times_ns[peak]), int(total[peak]), len(times_ns))


def holders(trace: Trace, at_ns: int, device: int | None = None) -> list[Holder]:
    """Who held memory at one moment, the largest first.

    Parameters
    ----------
    at_ns : usually ``memory(trace).peak_ns``
    """
    buffers, events = trace.buffers, trace.events
    alive = (buffers["alloc_ns"] <= at_ns) & ((buffers["free_ns"] < 0) | (buffers["free_ns"] > at_ns))
    if device is not None:
        alive &= buffers["device"] == device
    rows = np.flatnonzero(alive)
    rows = rows[np.argsort(-buffers["nbytes"][rows], kind="stable")]
    made_by = buffers["alloc_event"][rows]  # -1 picks what is appended
    site, name = np.append(events["site"], -1)[made_by], np.append(events["name_str"], 0)[made_by]
    keys = np.stack([site, name, buffers["role"][rows]], axis=1).astype(np.int64)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for group, (site, name, role) in enumerate(distinct.tolist()):
        held = rows[which == group]
        nbytes = int(buffers["nbytes"][held].sum())
        found.append(Holder(nbytes, Role(role), trace.text(name), trace.place(site), held))
    return sorted(found, key=lambda holder: -holder.nbytes)


def _alive(moment: np.ndarray, change: np.ndarray, moments: int) -> np.ndarray:
    """Running sum of the changes at each moment, in integers (floats lose bytes beyond 2**53)."""
    steps = np.zeros(moments, np.int64)
    np.add.at(steps, moment, change)
    return np.cumsum(steps)


def _telling(total: np.ndarray, points: int) -> np.ndarray:
    """Positions of the highest and lowest value of each of ``points / 2`` stretches, with the first and the last."""
    if len(total) <= points:
        return np.arange(len(total))
    edges = np.linspace(0, len(total), max(points // 2, 1) + 1).astype(int)
    stretches = [(low, high) for low, high in pairwise(edges.tolist()) if high > low]
    extremes = [low + total[low:high].argmax() for low, high in stretches]
    extremes += [low + total[low:high].argmin() for low, high in stretches]
    return np.unique([0, len(total) - 1, *extremes])
