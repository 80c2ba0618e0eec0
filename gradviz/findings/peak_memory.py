"""Who holds the memory when most of it is in use."""

from __future__ import annotations

import numpy as np

from gradviz.findings.evidence import LEAST_NBYTES, Group, statement
from gradviz.findings.finding import Finding
from gradviz.graph.memory import Holder, holders, memory
from gradviz.record.events import Role
from gradviz.record.trace import Trace
from gradviz.words import count_text, nbytes_text

KIND = "peak_memory"
_PART = 0.25
_ARRAYS = 4  # a peak of fewer is what any program needs that reads one array and makes another
_MOST = 3

# role -> (why it is held, what to do, before, after, when that is valid)
_TEXTS = {
    Role.SAVED: (
        "Pullbacks need these values, so they stay from the forward call to the pullback.",
        "Recompute them in the backward pass with gv.checkpoint.",
        "h = layer(h, w)",
        "h = gv.checkpoint(layer)(h, w)",
        "The time of one more forward run of this part is worth the memory.",
    ),
    Role.COTANGENT: (
        "These cotangents are alive at the same time.",
        "Differentiate with respect to fewer inputs at once, or in batches whose gradients are summed.",
        "g = gv.grad(loss)(w, batch)",
        "g = sum(gv.grad(loss)(w, part) for part in np.split(batch, 4)) / 4",
        "The loss is a mean over the batch.",
    ),
}
_ELSE = (
    "These arrays are alive at the same time.",
    "Let go of what is not needed (del, narrower scopes), or write in place.",
    "y = np.exp(x)\nz = y + 1",
    "y = np.exp(x)\ny += 1",
    "No pullback and no other name needs the old value.",
)


def find(trace: Trace) -> list[Finding]:
    """Up to three lines that each hold more than a quarter of the peak, more than 1 MiB, in four arrays or more."""
    peak = memory(trace)
    if peak.peak_nbytes < LEAST_NBYTES:
        return []
    made_here = [one for one in holders(trace, peak.peak_ns) if one.role not in (Role.INPUT, Role.OUTPUT) and one.where]
    least = max(_PART * peak.peak_nbytes, LEAST_NBYTES)
    large = [one for one in made_here if one.nbytes >= least and len(one.buffers) >= _ARRAYS]
    return [_held(trace, one, peak.peak_nbytes) for one in large[:_MOST]]


def _held(trace: Trace, holder: Holder, peak_nbytes: int) -> Finding:
    made_by = trace.buffers["alloc_event"][holder.buffers]
    made_by = made_by[made_by >= 0]
    group = Group(
        int(trace.events["site"][made_by[0]]), holder.name, np.arange(len(made_by)), made_by, 0, holder.nbytes
    )
    reason, remedy, before, after, valid_if = _TEXTS.get(holder.role, _ELSE)
    share = holder.nbytes / peak_nbytes
    return statement(
        trace,
        KIND,
        group,
        buffers=holder.buffers,
        count=len(holder.buffers),
        title=f"{nbytes_text(holder.nbytes)} of the peak of {nbytes_text(peak_nbytes)} ({share:.0%}) are "
        f"{count_text(len(holder.buffers), 'array')} of {_maker(holder)}",
        reason=f"{reason} Most memory was in use {_when(trace)}.",
        remedy=remedy,
        before=before,
        after=after,
        valid_if=valid_if,
    )


def _maker(holder: Holder) -> str:
    call, pulled, _ = holder.name.partition(" › ")
    return f"the pullback of {call}" if pulled else call


def _when(trace: Trace) -> str:
    return f"at {memory(trace).peak_ns / max(trace.duration_ns, 1):.0%} of the run"
