"""What each pullback cost, with all that it caused."""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import backward, inside, on_device, took_ns
from gradviz.record.events import Kind
from gradviz.record.trace import Trace


def owners(trace: Trace) -> np.ndarray:
    """The pullback that each event of a reverse pass lies in, or follows: what adds up its cotangents, and its kernels.

    Returns
    -------
    Rows of ``trace.events``, -1 for none; shape (events,)
    """
    kind = trace.events["kind"]
    within = inside(trace, Kind.PULLBACK)
    last = np.maximum.accumulate(np.where(kind == Kind.PULLBACK, np.arange(len(trace)), -1))
    follows = backward(trace) & (on_device(trace) | (kind == Kind.ACCUMULATE) | (kind == Kind.COPY))
    return np.where(within >= 0, within, np.where(follows, last, -1))


def part_ns(trace: Trace) -> np.ndarray:
    """Time of each pullback for one of the cotangents it makes, all taken to be as dear as each other. Shape (events,)."""
    cotangents = np.bincount(trace.contributions["event"], minlength=len(trace))
    return pullback_ns(trace) // np.maximum(cotangents, 1)


def pullback_ns(trace: Trace) -> np.ndarray:
    """Time of each pullback with what it caused: the host's or the device's, whichever is longer. Shape (events,)."""
    owner, own_ns, device = owners(trace), took_ns(trace), on_device(trace)
    sums = [
        np.bincount(owner[rows], own_ns[rows], len(trace)) for rows in ((owner >= 0) & ~device, (owner >= 0) & device)
    ]
    return np.maximum(*sums).astype(np.int64)
