"""What each line of the user's program costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.graph.timeline import self_ns
from gradviz.record.events import Flag, Kind
from gradviz.record.trace import Trace

_ON_THE_HOST = (Kind.CALL, Kind.PULLBACK, Kind.ACCUMULATE, Kind.COPY, Kind.SYNC, Kind.COMPILE)


@dataclass(frozen=True)
class Line:
    """What one line costs. Host times are self times: nothing is counted twice, so lines may be added up.

    Attributes
    ----------
    site : a row of ``trace.sites``; -1 for everything that belongs to no line
    where, function, text : the line, for people
    forward_ns, backward_ns : host time of its calls, and of their pullbacks and accumulations
    device_ns : time of its kernels
    calls, pullbacks : how many ran
    copies, copied_nbytes : copies made
    syncs, wait_ns, idle_ns : times the host waited for a device; how long; how long the device then stood idle
    allocated_nbytes : bytes allocated
    """

    site: int
    where: str
    function: str
    text: str
    forward_ns: int
    backward_ns: int
    device_ns: int
    calls: int
    pullbacks: int
    copies: int
    copied_nbytes: int
    syncs: int
    wait_ns: int
    idle_ns: int
    allocated_nbytes: int

    @property
    def host_ns(self) -> int:
        """Forward and backward host time together."""
        return self.forward_ns + self.backward_ns


def lines(trace: Trace) -> list[Line]:
    """The lines of the user's program that something was recorded for, the dearest first.

    Examples
    --------
    >>> lines(trace)[0].where  # doctest: +SKIP
    'train.py:12'
    """
    events, copies, syncs, buffers = trace.events, trace.copies, trace.syncs, trace.buffers
    line_of_site, first_sites = _merged_sites(trace)
    line = line_of_site[events["site"]]
    kind = events["kind"]
    backward = (events["flags"] & Flag.BACKWARD) != 0
    host = np.isin(kind, _ON_THE_HOST)
    real_syncs = syncs["on_device"] == 1
    made = buffers["alloc_event"] >= 0

    def summed(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(line[rows], None if weights is None else weights, len(first_sites)).astype(np.int64)

    own_ns = self_ns(trace)
    columns = {
        "forward_ns": summed(host & ~backward, own_ns[host & ~backward]),
        "backward_ns": summed(host & backward, own_ns[host & backward]),
        "device_ns": summed(kind == Kind.KERNEL, own_ns[kind == Kind.KERNEL]),
        "calls": summed(kind == Kind.CALL),
        "pullbacks": summed(kind == Kind.PULLBACK),
        "copies": summed(copies["event"]),
        "copied_nbytes": summed(copies["event"], copies["nbytes"]),
        "syncs": summed(syncs["event"][real_syncs]),
        "wait_ns": summed(syncs["event"][real_syncs], syncs["host_wait_ns"][real_syncs]),
        "idle_ns": summed(syncs["event"][real_syncs], syncs["device_idle_ns"][real_syncs]),
        "allocated_nbytes": summed(buffers["alloc_event"][made], buffers["nbytes"][made]),
    }
    seen = np.flatnonzero(np.bincount(line, minlength=len(first_sites)))
    found = [
        Line(
            site,
            trace.place(site),
            *_texts(trace, site),
            **{name: int(c[i]) for name, c in columns.items()},
        )
        for i, site in ((int(i), int(first_sites[i])) for i in seen)
    ]
    return sorted(found, key=lambda one: (-one.host_ns, -one.device_ns, one.site))


def _merged_sites(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Line number in the table for each site (the last entry serves site -1), and the first site of each line."""
    sites = trace.sites
    keys = np.stack([sites[c].astype(np.int64) for c in ("file_str", "line", "cell", "cell_hash_str")], axis=1)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return np.append(which, len(first)), np.append(first, -1)


def _texts(trace: Trace, site: int) -> tuple[str, str]:
    if site < 0:
        return "", ""
    return trace.text(int(trace.sites["function_str"][site])), trace.text(int(trace.sites["text_str"][site]))
