"""Which findings a trace gives, the dearest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradviz.findings import (
    broadcast_made_real,
    constant_upload,
    copy_of_a_copy,
    defensive_copy,
    denormals,
    dense_zeros,
    dtype_upcast,
    layout_copy,
    peak_memory,
    repeated_accumulation,
    saved_never_read,
    scalar_never_needed,
    shape_sync,
    sync_in_loop,
    sync_in_pullback,
    unused_cotangent,
)
from gradviz.findings.finding import Finding
from gradviz.record.trace import Trace

# The order settles who speaks where two kinds have the same evidence: what explains more comes first.
KINDS: dict[str, Callable[[Trace], list[Finding]]] = {
    kind.KIND: kind.find
    for kind in (
        scalar_never_needed,
        sync_in_pullback,
        shape_sync,
        sync_in_loop,
        dense_zeros,
        denormals,
        unused_cotangent,
        repeated_accumulation,
        copy_of_a_copy,
        broadcast_made_real,
        layout_copy,
        defensive_copy,
        dtype_upcast,
        constant_upload,
        saved_never_read,
        peak_memory,
    )
}
_SAME = 0.5  # so much of its evidence in an earlier claim makes a finding a repetition
_OF_ITS_OWN = {peak_memory.KIND}  # says who holds memory, whatever else is wrong with it


def find_all(trace: Trace) -> list[Finding]:
    """All findings of a trace, ranked: what costs most time first, then most bytes, harmless ones last.

    No two claim the same events, and together they never claim more time than the run took.

    Examples
    --------
    >>> [finding.kind for finding in find_all(trace)]  # doctest: +SKIP
    ['sync_in_pullback', 'peak_memory']
    """
    claimed: set[int] = set()
    kept: list[Finding] = []
    for kind, find in KINDS.items():
        for finding in find(trace):
            if kind not in _OF_ITS_OWN:
                mine = set(finding.events)
                if len(mine & claimed) > _SAME * len(mine):
                    continue
                claimed |= mine
            kept.append(finding)
    kept.sort(
        key=lambda finding: (finding.harmless, finding.kind in _OF_ITS_OWN, -finding.cost_ns, -finding.cost_nbytes)
    )
    return _within(kept, trace.duration_ns)


def _within(found: list[Finding], left_ns: int) -> list[Finding]:
    """The findings with later claims cut to what earlier ones have left of the run."""
    whole_ns, cut = max(left_ns, 1), []
    for finding in found:
        cost_ns = min(finding.cost_ns, left_ns)
        left_ns -= cost_ns
        cut.append(
            finding if cost_ns == finding.cost_ns else replace(finding, cost_ns=cost_ns, share=cost_ns / whole_ns)
        )
    return cut
