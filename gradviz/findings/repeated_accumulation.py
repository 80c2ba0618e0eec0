"""Whether a sum is built up by making a new array for each term.

``a + b`` in a loop allocates and writes a whole array for each term, where adding in place would write into the one
that is there. It happens to cotangents that cannot be written to, and to sums in the program itself.
"""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import Group, groups, statement, took_ns
from gradviz.findings.finding import Finding
from gradviz.graph.timeline import enclosing_span
from gradviz.record.events import Kind, Reason, Role, Use
from gradviz.record.trace import Trace
from gradviz.words import nbytes_text, times_text

KIND = "repeated_accumulation"
_TERMS = 3


def find(trace: Trace) -> list[Finding]:
    """Three or more new arrays for one sum, of cotangents or on one line of the program."""
    return _of_cotangents(trace) + _of_the_program(trace)


def _of_cotangents(trace: Trace) -> list[Finding]:
    """Copies of cotangents so that others could be added, more than one for a variable."""
    copies = trace.copies
    rows = np.flatnonzero(copies["reason"] == Reason.FIRST_ACCUMULATION)
    event = copies["event"][rows]
    many = _in_one_variable(trace, event, copies["nbytes"][rows]) >= _TERMS
    rows, event = rows[many], event[many]
    spent_ns = took_ns(trace)[event]
    return [
        _cotangents(trace, copies["target"][rows[group.rows]], group)
        for group in groups(trace, event, spent_ns, copies["nbytes"][rows])
    ]


def _cotangents(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers,
        confidence=0.8,
        title=f"cotangents of {group.name} are added into a new array {times_text(len(group))}",
        reason="What arrives for one variable is held by somebody else too, so each sum needs memory of its own: "
        f"{nbytes_text(group.cost_nbytes)} in all.",
        remedy="Let pullbacks return fresh arrays that they do not keep, so that gradviz adds in place.",
        before="cache['ct'] = ct * w\nreturn cache['ct']",
        after="return ct * w",
        valid_if="Nothing reads the kept array afterwards.",
    )


def _in_one_variable(trace: Trace, event: np.ndarray, nbytes: np.ndarray) -> np.ndarray:
    """For each copy, how many there were for the same variable in the same backward pass.

    The variable is the one that the pullback just before made a cotangent of that size for.
    """
    table = trace.contributions
    if not len(event) or not len(table["event"]):
        return np.zeros(len(event), np.int64)
    order = np.lexsort((table["nbytes"], table["event"]))
    made_by, size, variable = (table[c][order].astype(np.int64) for c in ("event", "nbytes", "variable"))
    pullback = np.maximum.accumulate(np.where(trace.events["kind"] == Kind.PULLBACK, np.arange(len(trace)), -1))[event]
    scale = int(max(size.max(), nbytes.max())) + 1
    at = np.searchsorted(made_by * scale + size, pullback * scale + nbytes)
    at = np.minimum(at, len(order) - 1)
    known = (made_by[at] == pullback) & (size[at] == nbytes)
    keys = np.stack([enclosing_span(trace)[event].astype(np.int64), np.where(known, variable[at], -1)], axis=1)
    _, which, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return np.where(known, counts[which], 0)


def _of_the_program(trace: Trace) -> list[Finding]:
    """Sums whose old value only the next sum on the same line reads."""
    adds, old, nbytes = _links(trace)
    spent_ns = _writing_ns(trace, adds, nbytes)
    return [
        _program(trace, old[group.rows], group)
        for group in groups(trace, adds, spent_ns, nbytes)
        if len(group) >= _TERMS
    ]


def _program(trace: Trace, buffers: np.ndarray, group: Group) -> Finding:
    return statement(
        trace,
        KIND,
        group,
        buffers=buffers,
        confidence=0.8,
        title=f"a sum makes a new array for each of {len(group):,} terms",
        reason="The old sum is read only by the next one, so its memory could have been written to: "
        f"{nbytes_text(group.cost_nbytes)} were allocated instead.",
        remedy="Add in place; gradviz keeps a copy only where a pullback needs the old value.",
        before="for term in terms:\n    total = total + term",
        after="for term in terms:\n    total += term",
        valid_if="No other name leads to the old sum.",
    )


def _links(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Additions that read a sum which the same line made and nothing else uses; that sum; its size."""
    events, buffers = trace.events, trace.buffers
    event, buffer, how = (trace.uses[c] for c in ("event", "buffer", "how"))
    name = trace.strings.index("add") if "add" in trace.strings else -2
    adds = (events["kind"] == Kind.CALL) & (events["name_str"] == name)
    uses = np.bincount(buffer, minlength=len(buffers["nbytes"]))
    maker, reader = (np.full(len(uses), -1, np.int64) for _ in range(2))
    for rows, column in ((how == Use.MAKE, maker), (how == Use.READ, reader)):
        column[buffer[rows]] = event[rows]
    linked = (uses == 2) & (maker >= 0) & (reader >= 0) & (buffers["role"] != Role.OUTPUT)
    linked &= adds[maker] & adds[reader] & (events["site"][maker] == events["site"][reader])
    linked &= events["nbytes"][reader] == buffers["nbytes"]  # the sum has not grown by broadcasting
    old = np.flatnonzero(linked)
    return reader[old], old, buffers["nbytes"][old]


def _writing_ns(trace: Trace, adds: np.ndarray, nbytes: np.ndarray) -> np.ndarray:
    """The time to write so many bytes to memory, at most that of the addition."""
    rate = float(trace.devices["bandwidth_bytes_per_s"].max(initial=0))
    return np.minimum(nbytes / rate * 1e9 if rate else 0, took_ns(trace)[adds])
