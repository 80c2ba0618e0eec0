"""Which copies were made within one memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradviz.findings.evidence import took_ns
from gradviz.record.events import Answer, Direction, Kind, Reason, Role, Use
from gradviz.record.trace import Trace

# calls that do nothing but copy, if they make a buffer -> why
COPYING = {
    "copy": Reason.EXPLICIT,
    "array": Reason.EXPLICIT,
    "ascontiguousarray": Reason.CONTIGUOUS,
    "asfortranarray": Reason.CONTIGUOUS,
    "require": Reason.CONTIGUOUS,
    "reshape": Reason.RESHAPE,
    "ravel": Reason.RESHAPE,
    "tile": Reason.BROADCAST,
    "repeat": Reason.BROADCAST,
}


@dataclass(frozen=True)
class Copies:
    """Copies that the recorder saw, and calls that copy. One row each, in order of their events.

    Attributes
    ----------
    event, source, target : rows of events and buffers; -1 for a buffer that is not known
    nbytes, took_ns : size and time
    reason : `Reason`
    because : the call that made it necessary, -1 if none is known
    """

    event: np.ndarray
    source: np.ndarray
    target: np.ndarray
    nbytes: np.ndarray
    took_ns: np.ndarray
    reason: np.ndarray
    because: np.ndarray


def copies(trace: Trace) -> Copies:
    """All copies of ``trace`` but those between host and device."""
    table = trace.copies
    moved = (table["direction"] == Direction.HOST_TO_HOST) | (table["direction"] == Direction.DEVICE_TO_DEVICE)
    recorded = {
        c: table[c][moved].astype(np.int64) for c in ("event", "source", "target", "nbytes", "reason", "because")
    }
    called = _called(trace)
    joined = {c: np.concatenate([recorded[c], called[c]]) for c in recorded}
    order = np.argsort(joined["event"], kind="stable")
    event, source, target, nbytes, reason, because = (joined[c][order] for c in recorded)
    return Copies(event, source, target, nbytes, _took_ns(trace, event, nbytes), reason, because)


def _called(trace: Trace) -> dict[str, np.ndarray]:
    """Calls that copied, in the columns of the table."""
    reason_of = np.full(len(trace.strings) + 1, -1)
    for number, text in enumerate(trace.strings):
        if text in COPYING:
            reason_of[number] = COPYING[text]
    events, uses = trace.events, trace.uses
    copying = (events["kind"] == Kind.CALL) & (reason_of[events["name_str"]] >= 0)
    source, target = (np.full(len(trace), -1, np.int64) for _ in range(2))
    for how, column in ((Use.READ, source), (Use.MAKE, target)):
        rows = np.flatnonzero((uses["how"] == how) & copying[uses["event"]])
        column[uses["event"][rows]] = uses["buffer"][rows]
    event = np.flatnonzero(copying & (target >= 0) & (source >= 0))
    return {
        "event": event,
        "source": source[event],
        "target": target[event],
        "nbytes": events["nbytes"][event].astype(np.int64),
        "reason": reason_of[events["name_str"][event]],
        "because": np.full(len(event), -1, np.int64),
    }


def needed(trace: Trace, every: Copies) -> tuple[np.ndarray, np.ndarray]:
    """Whether anybody would have seen it if both sides had been one memory, and who.

    Returns
    -------
    (needed, reader) : an `Answer` for each copy: was one side written while the other was still in use; and the last
        event that then used the old value, -1 for none
    """
    uses, role, event = trace.uses, trace.buffers["role"], every.event
    if not len(role):
        return np.full(len(event), Answer.UNKNOWN), np.full(len(event), -1)
    written = _last(trace, uses["how"] == Use.WRITE)
    used = _last(trace, np.isin(uses["how"], (Use.READ, Use.VIEW, Use.LOAD)))
    source, target = every.source, every.target
    known = (source >= 0) & (target >= 0)
    theirs = np.isin(role[source], (Role.INPUT, Role.OUTPUT))  # the caller looks at it when we are done
    over_target = written[target] > event
    over_source = (written[source] > event) & ((used[target] > event) | (role[target] == Role.OUTPUT))
    clash = (over_target & ((used[source] > event) | theirs)) | over_source
    both_out = (role[target] == Role.OUTPUT) & theirs
    reader = np.where(over_target & (used[source] > event), used[source], np.where(over_source, used[target], -1))
    answer = np.where(clash | both_out, Answer.YES, Answer.NO)
    return np.where(known, answer, Answer.UNKNOWN), np.where(known, reader, -1)


def _last(trace: Trace, rows: np.ndarray) -> np.ndarray:
    """The last event among some rows of ``uses`` that used each buffer, -1 for none."""
    last = np.full(len(trace.buffers["nbytes"]), -1, np.int64)
    np.maximum.at(last, trace.uses["buffer"][rows], trace.uses["event"][rows])
    return last


def _took_ns(trace: Trace, event: np.ndarray, nbytes: np.ndarray) -> np.ndarray:
    """Time of each copy; on a device, where the host only hands it over, what its bytes take to read and write."""
    devices, buffers = trace.devices, trace.buffers
    own_ns = took_ns(trace)[event]
    simulated = np.flatnonzero(devices["simulated"] == 1)
    if not len(simulated) or not len(buffers["nbytes"]):
        return own_ns
    rate = float(devices["bandwidth_bytes_per_s"][simulated].max())
    on_thread = trace.lanes["kind"][trace.events["lane"][event]] == 0
    return np.where(on_thread, np.minimum(own_ns, 2e9 * nbytes / rate), own_ns).astype(np.int64)
